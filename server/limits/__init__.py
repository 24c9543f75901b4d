"""Who may do what how often, and whose turn it is."""
