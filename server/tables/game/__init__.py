"""A table's game: its start, its moves and its pauses."""
