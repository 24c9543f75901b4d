"""Chaos: games on a bad network with a server that is killed, and a check of what is left."""
