"""The terminal client: the UI state is a value; pure functions update it from keys and news, and draw it."""
