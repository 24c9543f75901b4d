"""Guests over ssh, with real ssh clients."""
