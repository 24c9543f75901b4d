"""Guests who play over ssh, with nothing installed."""
