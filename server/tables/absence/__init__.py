"""Absent and slow players: the policies, the deadlines, and the bot that plays instead."""
