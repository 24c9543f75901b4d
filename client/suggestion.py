"""A move that a program suggests to a player."""

from msgspec import Struct

from engine.events import Command


class Suggestion(Struct, frozen=True):
    """The move, and in words why; the reason is empty where what the move brings says enough."""

    command: Command
    reason: str = ""
