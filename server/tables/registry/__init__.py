"""The tables of a server by their codes, and what everybody may know of them."""
