"""The load: what connections send to a server, how its process is watched, and the floor beside it."""
