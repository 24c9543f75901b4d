"""Damaged journals: what is found in their files, what that means, and how they are made whole again."""
