"""The terminal: keys and mouse in, painted screens out."""
