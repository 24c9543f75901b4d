"""Finished games judged: everybody's chance of winning after each move, and which moves were better."""
