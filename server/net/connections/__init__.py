"""One connection, and all of them: how many, how fast, how large, and how they end."""
