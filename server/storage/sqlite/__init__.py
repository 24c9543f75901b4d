"""The journal on disk: an SQLite file, its commit list, and the folder that holds them."""
