"""What a player can ask for at the screen, beside the game's own commands."""

from dataclasses import dataclass
from typing import TypeAlias

from engine.events import Command


@dataclass(frozen=True, slots=True)
class Refresh:
    """Ask for the list of tables."""


@dataclass(frozen=True, slots=True)
class Open:
    """Open a table for `players`."""

    players: int
    random_layout: bool = False


@dataclass(frozen=True, slots=True)
class Join:
    """Take a seat at a table."""

    table: str


@dataclass(frozen=True, slots=True)
class Watch:
    """Watch a table."""

    table: str


@dataclass(frozen=True, slots=True)
class Start:
    """Start the game, as host."""


@dataclass(frozen=True, slots=True)
class Say:
    """Say something to everybody at the table."""

    text: str


@dataclass(frozen=True, slots=True)
class Leave:
    """Leave the table for the lobby."""


@dataclass(frozen=True, slots=True)
class Quit:
    """Leave the program."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Turn so many pages of the lessons, back if negative."""

    pages: int


Request: TypeAlias = Command | Refresh | Open | Join | Watch | Start | Say | Leave | Turn | Quit
