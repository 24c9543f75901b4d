"""The pages: each is a value with its own data."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from msgspec import Struct

from client.finding.found import NOTHING, Found, FoundServer, Listed, SeatAnswer
from client.player.calling import Calling
from client.player.preferences import WaysIn
from client.player.seats import KeptSeat
from client.records.analysis import Analysis
from client.records.past_games import PastGame
from client.records.recording import Recording
from engine.board import HILLS, Field, Hex, neighbours
from engine.events import Influence
from engine.pieces import Piece
from engine.view import Eyes
from protocol.messages import TableSummary

_AS_USUAL: Final = Calling()


class StartLine(enum.Enum):
    """What can be chosen on the start screen, besides the servers joined before."""

    CONTINUE = enum.auto()
    LEARN = enum.auto()
    PLAY = enum.auto()
    HOST = enum.auto()
    JOIN = enum.auto()
    HISTORY = enum.auto()


class LeftGame(Struct, frozen=True):
    """A game against bots that can be continued: for how many players, and when it was left."""

    players: int
    when: str


@dataclass(frozen=True, slots=True)
class Start:
    """The start screen: the levels of bots, one of them chosen, and the servers joined before.

    With `human_pace` bots take their time for a move. `left` is the game that can be continued, `calling`
    how the player is called, `ways_in` how others reach a game that is hosted. `chosen` is the line that the
    player is on.
    """

    levels: tuple[str, ...]
    level: int = 0
    human_pace: bool = False
    servers: tuple[str, ...] = ()
    left: LeftGame | None = None
    calling: Calling = _AS_USUAL
    ways_in: WaysIn = WaysIn.NONE
    chosen: StartLine | str = StartLine.LEARN

    @property
    def lines(self) -> tuple[StartLine | str, ...]:
        """Return what can be chosen, from the top."""
        every = tuple(line for line in StartLine if line is not StartLine.CONTINUE or self.left is not None)
        return (*every, *self.servers)


Spot: TypeAlias = tuple[str, str]  # the URL of a server that was found, and one of its tables or none


@dataclass(frozen=True, slots=True)
class Search:
    """The servers found on the network, and their open tables; `chosen` is None at the line for an address.

    What is found first is chosen, unless the player has `moved`; `waited` if nothing was found for long.
    Before all that come the tables where the player's `seats` are kept, with the `answers` of their servers.
    """

    found: Found = NOTHING
    chosen: Spot | None = None
    moved: bool = False
    waited: bool = False
    seats: tuple[KeptSeat, ...] = ()
    answers: Mapping[KeptSeat, SeatAnswer] = field(default_factory=dict)

    @property
    def lines(self) -> tuple[Spot | None, ...]:
        """Return what can be chosen, from the top."""
        kept = ((seat.server, seat.table) for seat in self.seats)
        found = (spot for server in self.found.servers for spot in spots(server))
        return (*dict.fromkeys((*kept, *found)), None)


@dataclass(frozen=True, slots=True)
class History:
    """The list of finished games, the latest first; `chosen` is the line that the player is on.

    `removing` if that game is to be removed as soon as the player asks again.
    """

    games: tuple[PastGame, ...]
    chosen: int = 0
    removing: bool = False


@dataclass(frozen=True, slots=True)
class Lobby:
    """The list of tables; `kept_seats` are those where a seat is kept, `chosen` the line the player is on."""

    tables: tuple[TableSummary, ...] = ()
    kept_seats: frozenset[str] = frozenset()
    chosen: int = 0


class Gathering(Struct, frozen=True):
    """A table whose game has not begun."""


class Ended(Struct, frozen=True):
    """A game that its host has ended without a result."""


@dataclass(frozen=True, slots=True)
class Playing:
    """A running game, with what the player points at and has chosen for the next move.

    `hovered` is the hex that the mouse is over, `last` the field of the last piece placed. `piece` is the one
    picked from the hand, `position` and `orientation` are how the drawn tile would be laid.
    """

    cursor: Hex = neighbours(HILLS[0])[0]  # a field: a hill holds no pieces
    hovered: Hex | None = None
    last: Field | None = None
    piece: Piece | None = None
    position: int | None = None
    orientation: int = 0


@dataclass(frozen=True, slots=True)
class Scoring:
    """The walk through the scoring, at one of its steps before the last."""

    step: int = 0


class Result(Struct, frozen=True):
    """The points and the winners: the last step of the walk through the scoring."""


TablePage: TypeAlias = Playing | Scoring | Result


@dataclass(frozen=True, slots=True)
class Replay:
    """A record at one of its stops, as `eyes` see it; `table` is the part of the page about the game.

    It `can_analyse` if this program analyses games; `analysis` is what there is of that, and it is `judging`
    as long as there is more to come.
    """

    recording: Recording
    stop: int
    eyes: Eyes
    table: TablePage
    can_analyse: bool = False
    analysis: Analysis | None = None
    judging: bool = False

    @property
    def wants_analysis(self) -> bool:
        """Return whether there is something left to analyse, and nothing at work on it."""
        started = self.judging or (self.analysis is not None and self.analysis.complete)
        return self.can_analyse and not started


@dataclass(frozen=True, slots=True)
class Lesson:
    """The lesson of this number, with its game; `done` when the pupil has done what it asks.

    `walk` is the first and the last step of the scoring that it goes through, if it does. `influence` is that
    of a piece just placed: the board shows what each field gives it. With `points` the only thing to do is to
    move the cursor; `last` if a game follows. In a small window `top` is the first line shown of the text;
    `last_top`, after the last of them, stands for the board.
    """

    number: int
    table: TablePage
    done: bool = False
    walk: tuple[int, int] | None = None
    influence: Influence | None = None
    points: bool = False
    last: bool = False
    top: int = 0
    last_top: int = 0

    @property
    def reads(self) -> bool:
        """Return whether the text is shown in place of the board."""
        return self.top < self.last_top


Page: TypeAlias = Start | Search | History | Lobby | Gathering | TablePage | Ended | Replay | Lesson


def spots(server: FoundServer) -> tuple[Spot, ...]:
    """Return what can be chosen of a server: itself, and its open tables."""
    tables = server.answer.tables if isinstance(server.answer, Listed) else ()
    return ((server.url, ""), *((server.url, table.table) for table in tables))
