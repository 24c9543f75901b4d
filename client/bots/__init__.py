"""Bots: programs that play, and see what a person in their seat would see."""

from typing import Any


def brain_of(level: str) -> Any:
    """Return the brain of a level; only now are brains imported."""
    from client.bots.brains import brain_named  # noqa: PLC0415 - a server starts without them

    return brain_named(level).choose
