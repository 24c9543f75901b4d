"""The commands of the command line; `palatinus.py` puts them together."""
