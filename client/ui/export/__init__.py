"""Output to files and standard output: a moment of a game, a list of stored tables."""
