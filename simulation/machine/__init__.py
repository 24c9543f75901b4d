"""A computer and its network, in memory: nothing of the real ones is left to what runs here."""
