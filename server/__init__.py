"""Tables, seats, sessions and storage: the authoritative server."""
