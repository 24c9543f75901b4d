"""The state of the screen, and pure functions that update it from keys, clicks, typed lines and news."""
