"""The lobby and its tables: who sits where, the games, and what happens when players are away."""
