"""Whole pages: each function returns the lines of one."""
