"""Pages for browsers: how to join, the list of tables, and a table as spectators see it."""
