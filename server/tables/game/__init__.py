"""A table's game: its start, its moves, its pauses and holidays."""
