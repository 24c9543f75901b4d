"""Seats: who may take one, come back to it or leave it, and under which name."""
