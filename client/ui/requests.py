"""The player's requests on screen, other than messages to the server and the game's own commands."""

from typing import TypeAlias

from msgspec import Struct

from engine.events import Command
from engine.pieces import People, Seat
from protocol.absence import WAIT, Absence
from protocol.messages import ClientMessage


class Open(Struct, frozen=True):
    """Open a table for `players`; `starting` is the seat that starts, None for a draw."""

    players: int
    random_layout: bool = False
    starting: Seat | None = None
    absence: Absence = WAIT
    private: bool = False
    hints: bool = False
    people: People | None = None


class Join(Struct, frozen=True):
    table: str


class Watch(Struct, frozen=True):
    table: str


class WatchNext(Struct, frozen=True):
    """Leave this table, and watch the one where its players play again."""

    table: str


class Hint(Struct, frozen=True):
    """Suggest a move."""


class Review(Struct, frozen=True):
    """Look through the finished game; have it analysed, too, if that is wanted."""

    analysed: bool = False


class Analyse(Struct, frozen=True):
    """Begin to analyse the game that is looked through."""


class StopAnalysis(Struct, frozen=True):
    """End the analysis, and keep what there is of it."""


class SaveRecord(Struct, frozen=True):
    """Write the finished game's record to a file."""


class SavePicture(Struct, frozen=True):
    """Write a picture of the finished game's board to a file."""


class Rename(Struct, frozen=True):
    """Take another name; `then` is the request that was refused under the old one."""

    name: str
    then: "Open | Join | Watch | None" = None


class GoHome(Struct, frozen=True):
    """Leave the server for the start screen."""


class Quit(Struct, frozen=True):
    """Leave the program."""


class Learn(Struct, frozen=True):
    """Take the lessons."""


class Continue(Struct, frozen=True):
    """Continue the game against bots that was left last."""


class PlayBots(Struct, frozen=True):
    """Play against bots of this brain, in this process."""

    players: int
    brain: str
    random_layout: bool
    people: People | None = None


class Host(Struct, frozen=True):
    """Serve in this process, for others on the network."""


class Search(Struct, frozen=True):
    """Look for servers on the network."""


class GoTo(Struct, frozen=True):
    """Join the server at this address; with `table`, sit down at that table, or watch it."""

    url: str
    table: str | None = None
    watch: bool = False


class LookBack(Struct, frozen=True):
    """Show the list of finished games."""


class ShowGame(Struct, frozen=True):
    """Replay the finished game in this file; have it analysed, too, if that is wanted."""

    file: str
    analysed: bool = False


class SaveGame(Struct, frozen=True):
    """Copy the record of the finished game in this file, or draw a picture of it."""

    file: str
    picture: bool


class RemoveGame(Struct, frozen=True):
    file: str


class TurnPage(Struct, frozen=True):
    """Turn this many pages of the lessons, backwards if negative."""

    pages: int


class Misread(Struct, frozen=True):
    """The line typed asks for nothing, for the reason in the text.

    It can be mended if it was `mistyped`, and not just in the wrong place.
    """

    text: str
    mistyped: bool = True


Request: TypeAlias = (
    Command
    | ClientMessage
    | Open
    | Join
    | Watch
    | WatchNext
    | Hint
    | Review
    | Analyse
    | StopAnalysis
    | SaveRecord
    | SavePicture
    | Rename
    | TurnPage
    | Learn
    | PlayBots
    | Continue
    | Host
    | Search
    | GoTo
    | LookBack
    | ShowGame
    | SaveGame
    | RemoveGame
    | GoHome
    | Quit
)
