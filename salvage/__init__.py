"""Salvage: a malformed journal is read page by page, and written again. No server imports this."""
