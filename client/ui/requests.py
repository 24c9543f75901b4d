"""What a player can ask for at the screen, beside the game's own commands."""

from dataclasses import dataclass
from typing import TypeAlias

from engine.events import Command
from protocol.absence import WAIT, Absence


@dataclass(frozen=True, slots=True)
class Refresh:
    """Ask for the list of tables."""


@dataclass(frozen=True, slots=True)
class Open:
    """Open a table for `players`."""

    players: int
    random_layout: bool = False
    absence: Absence = WAIT


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
class SeatBot:
    """Let a bot take a free seat of this table."""


@dataclass(frozen=True, slots=True)
class Rematch:
    """Play again with the same players."""


@dataclass(frozen=True, slots=True)
class WatchNext:
    """Leave this table, and watch the one where its players play again."""

    table: str


@dataclass(frozen=True, slots=True)
class Vote:
    """Agree, or no longer agree, that a bot moves for a seat."""

    seat: int
    agree: bool


@dataclass(frozen=True, slots=True)
class Say:
    """Say something to everybody at the table."""

    text: str


@dataclass(frozen=True, slots=True)
class Leave:
    """Leave the table for the lobby."""


@dataclass(frozen=True, slots=True)
class GoHome:
    """Leave the server for the start screen."""


@dataclass(frozen=True, slots=True)
class Quit:
    """Leave the program."""


@dataclass(frozen=True, slots=True)
class Learn:
    """Take the lessons."""


@dataclass(frozen=True, slots=True)
class PlayBots:
    """Play against bots of this brain, in this process."""

    players: int
    brain: str
    random_layout: bool


@dataclass(frozen=True, slots=True)
class Host:
    """Serve in this process, for others on the network."""


@dataclass(frozen=True, slots=True)
class GoTo:
    """Join the server at this address."""

    url: str


@dataclass(frozen=True, slots=True)
class Turn:
    """Turn so many pages of the lessons, back if negative."""

    pages: int


Request: TypeAlias = (
    Command
    | Refresh
    | Open
    | Join
    | Watch
    | Start
    | SeatBot
    | Rematch
    | WatchNext
    | Vote
    | Say
    | Leave
    | Turn
    | Learn
    | PlayBots
    | Host
    | GoTo
    | GoHome
    | Quit
)
