"""Absent and slow players: the policies, what falls due, and the bot that plays instead."""
