"""The terminal client: UI state is a value, updated by keys and news, and drawn by pure functions."""
