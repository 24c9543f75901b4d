"""What the keys do: where the player is, the table of all keys, their names, and which to offer."""
