"""Hosting: the server for others, its configuration, and commands for the owner of its data folder."""
