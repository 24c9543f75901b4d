"""The network between clients, servers and database."""
