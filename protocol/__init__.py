"""The messages between server and clients, their limits and their codec."""
