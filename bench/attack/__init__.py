"""Attacks on a real server, each measured by what a bystander's game feels of it."""
