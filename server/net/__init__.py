"""Connections: listening, who is let in, how fast each is read, and what one client may say when."""
