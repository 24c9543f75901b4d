"""The state of the screen, and what keys, clicks, typed lines and news make of it: pure functions."""
