"""How strong bots are and how fast they think, and the environment in which bots learn."""
