"""Finished games: their records and scores, and the history of the games of this computer."""
