"""Servers that are broken on purpose, to prove that chaos notices.

`mistakes` holds them, each with the promise of docs/reliability.md that it breaks.
"""
