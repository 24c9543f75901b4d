"""What this client knows of a table, from what the server tells."""
