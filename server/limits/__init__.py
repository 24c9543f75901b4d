"""Limits: how often each client may do something, and whose request comes next."""
