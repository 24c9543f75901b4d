"""Marks at states that are rarely reached, so that the simulation can tell which ones it has reached."""

awaited: set[str] = set()  # the names of those that somebody waits for; a server of its own awaits none


def probe(name: str) -> None:
    """Mark that the server has reached the state with this name, a literal that no other place has."""
    awaited.discard(name)
