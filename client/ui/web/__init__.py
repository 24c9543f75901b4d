"""What a browser shows: how to join, the list of tables, and a table as spectators see it."""
