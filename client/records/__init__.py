"""Games that are over, from their records."""
