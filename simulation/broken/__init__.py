"""Servers that are broken on purpose, to prove that the simulation notices.

Each mistake breaks a promise of docs/testing.md.
"""
