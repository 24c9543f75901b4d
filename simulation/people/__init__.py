"""Those who use a house: players, spectators, programs, and those who run it."""
