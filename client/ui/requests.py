"""The player's requests on screen, other than messages to the server and the game's own commands."""

import enum
from typing import Final, TypeAlias

from msgspec import Struct

from client.records import Recording
from engine.events import Command
from engine.pieces import People, Seat
from protocol.absence import WAIT, Absence
from protocol.messages import ClientMessage
from protocol.settings import ChosenSwitches


class Errand(enum.Enum):
    """A request without further data."""

    HINT = enum.auto()  # suggest a move
    ANALYSE = enum.auto()  # begin to analyse the game that is looked through
    STOP_ANALYSIS = enum.auto()  # end the analysis, and keep what there is of it
    SAVE_RECORD = enum.auto()  # write the finished game's record to a file
    SAVE_PICTURE = enum.auto()  # write a picture of the finished game's board to a file
    SEE_MOVES = enum.auto()  # look back at the moves of the running game
    GO_HOME = enum.auto()  # leave the page, or the server, for the page below
    QUIT = enum.auto()  # leave the program
    LEARN = enum.auto()  # take the lessons
    PLAY = enum.auto()  # play against bots, in this process
    HOST = enum.auto()  # serve in this process, for others on the network
    SEARCH = enum.auto()  # look for servers on the network
    LOOK_BACK = enum.auto()  # show the list of finished games
    SOLVE = enum.auto()  # show problems
    SEE_RIVALS = enum.auto()  # show how the player has done against whom, and what they do again and again


class _Request(Struct, frozen=True):
    """A request with its own data."""


class Open(_Request, frozen=True):
    """Open a table for `players`, or one that `grows`; `starting` is the seat that starts, None: a draw."""

    players: int
    random_layout: bool = False
    starting: Seat | None = None
    absence: Absence = WAIT
    switches: ChosenSwitches = ChosenSwitches()
    people: People | None = None
    grows: bool = False


FOR_WHOEVER_COMES: Final = Open(2, grows=True)


class Join(_Request, frozen=True):
    table: str


class WatchTable(_Request, frozen=True):
    table: str


class SitOrWatch(_Request, frozen=True):
    """Leave this table, and take a seat at one, the same or the next; if none is free, watch it."""

    table: str


class TakeSeat(_Request, frozen=True):
    """Leave this table, and go to the seat that the evening has kept at another one."""

    table: str


class Review(_Request, frozen=True):
    """Look through the finished game; have it analysed, too, if that is wanted.

    With `together`, follow who leads the others there, or lead them.
    """

    analysed: bool = False
    together: bool = False


class JoinStudy(_Request, frozen=True):
    """Leave this table, and take a seat at the study that was opened here."""


class Rename(_Request, frozen=True):
    """Take another name; `then` is the request that was refused under the old one."""

    name: str
    then: "Open | Join | WatchTable | None" = None


class GoTo(_Request, frozen=True):
    """Join the server at this address; with `table`, sit down at that table, or watch it."""

    url: str
    table: str | None = None
    watch: bool = False


class Password(_Request, frozen=True):
    """The password of the server that the player is on the way to; None to stay away."""

    text: str | None


class Consent(_Request, frozen=True):
    """Whether the server that the player is on the way to may send them to others."""

    given: bool


class HostOn(_Request, frozen=True):
    """Serve in this process again, where the server was, and sit down at this table of it."""

    server: str
    table: str


class Continue(_Request, frozen=True):
    """Continue the game against bots that is kept under this name."""

    game: str


class ReplayGame(_Request, frozen=True):
    """Replay the finished game in this file; have it analysed, too, if that is wanted."""

    file: str
    analysed: bool = False


class Challenge(_Request, frozen=True):
    """Play a new game against bots of this level."""

    level: str


class TakeBack(_Request, frozen=True):
    """Take back the last move of the player in this seat, in a game against bots."""

    seat: Seat


class PlayOn(_Request, frozen=True):
    """Play a past game on in this seat, from the moment after this move."""

    recording: Recording
    move: int
    seat: Seat


class SaveGame(_Request, frozen=True):
    """Copy the record of the finished game in this file, or draw a picture of it."""

    file: str
    picture: bool


class RemoveGame(_Request, frozen=True):
    file: str


class TurnPage(_Request, frozen=True):
    pages: int


Request: TypeAlias = Command | ClientMessage | Errand | _Request
