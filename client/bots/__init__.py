"""Bots: programs that play, and see what a person in their seat would see."""
