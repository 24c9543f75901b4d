"""Connections: listening, limits, and what a client may say when."""
