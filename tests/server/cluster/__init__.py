"""What the servers that share a database tell each other."""
