"""What the server shows to browsers: how to join, the list of tables, and tables as they are played."""
