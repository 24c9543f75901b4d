"""Finished games that players keep: their records, the list of them, and the problems that they make."""
