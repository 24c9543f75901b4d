"""Servers that are broken on purpose, to prove that chaos notices.

`mistakes` holds them, each with the promise of docs/testing.md that it breaks.
"""
