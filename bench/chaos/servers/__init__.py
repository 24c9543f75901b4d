"""What people play on: one server, or several nodes with a database, and what happens to them."""
