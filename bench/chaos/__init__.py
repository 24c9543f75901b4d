"""Chaos: games on a bad network and a server that is killed; then what is left is checked."""
