"""Screens as styled text: pure functions of the state and of the table."""
