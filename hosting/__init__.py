"""Servers in the player's own program: for games against bots, which are kept, and for the network."""
