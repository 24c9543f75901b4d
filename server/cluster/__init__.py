"""What the servers that share a database tell each other: their tables, their people, and messages."""
