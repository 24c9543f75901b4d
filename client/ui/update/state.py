"""The UI state: one value that holds all that the screen shows beside the table itself."""

import enum
from dataclasses import dataclass
from typing import Final

from msgspec import Struct

from client.recording import Recording
from client.table import TableModel
from client.ui.texts.rules import RULES
from client.ui.update.entry import Entry
from client.ui.update.scoring_steps import last_step
from engine.board import HILLS, Field, Hex, neighbours
from engine.events import Influence, LayTile, Place
from engine.legal import LegalLays
from engine.pieces import Piece
from engine.view import Eyes, Phase, View
from protocol.absence import WAIT, Absence
from protocol.messages import TableLine

LOG_KEPT: Final = 500


class Where(enum.Enum):
    """What is on the screen, and so which keys are at work."""

    START = enum.auto()
    LOBBY = enum.auto()
    ROOM = enum.auto()
    LAYING = enum.auto()
    PLAYING = enum.auto()
    SCORING = enum.auto()
    RESULT = enum.auto()
    REPLAY = enum.auto()
    LESSON = enum.auto()
    READING = enum.auto()
    QUITTING = enum.auto()
    TYPING = enum.auto()


class Overlay(enum.Enum):
    """What lies over the table."""

    HELP = enum.auto()
    RULES = enum.auto()
    COUNTS = enum.auto()
    QUIT = enum.auto()


class Notice(Struct, frozen=True):
    """One sentence that the player should read now."""

    text: str
    refusal: bool = False


class Outage(Struct, frozen=True):
    """Why there is no connection, and when the next attempt is due; None if there is none to come."""

    reason: str
    until: float | None


@dataclass(frozen=True, slots=True)
class Hosting:
    """What this program has to do with the server.

    `private` if nobody else plays there, so that there is no lobby to go back to; `bots` if it seats bots
    there; `home` if there is a start screen to go back to; `addresses` are those under which others join.
    """

    private: bool = False
    bots: bool = False
    home: bool = False
    addresses: tuple[str, ...] = ()


class BrainLine(Struct, frozen=True):
    """A brain of bots as the start screen offers it."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class Start:
    """The start screen: the servers joined before, and the brains to play against, one of them chosen."""

    brains: tuple[BrainLine, ...]
    brain: int = 0
    servers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Replay:
    """Where a record is being looked at: its stop, and whose eyes see it."""

    recording: Recording
    stop: int
    eyes: Eyes


@dataclass(frozen=True, slots=True)
class Lesson:
    """The page of the lessons that is open; `done` when its pupil has done what it asks.

    `walk` are the first and the last step of the scoring that it goes through, if it does. `shown` is a
    piece just placed: the board tells what it would draw from its neighbours. `points` if there is nothing
    to do but to move the cursor, `last` on the page after which a game is played.
    """

    page: int
    done: bool = False
    walk: tuple[int, int] | None = None
    shown: Influence | None = None
    points: bool = False
    last: bool = False


@dataclass(frozen=True, slots=True)
class Ui:
    """The UI state; changed only by `client.ui.update` and `client.ui.news`, which return another.

    `kept_seats` are the tables where a seat is kept, `chosen` is the lobby's line, `hovered` the hex that the
    mouse is over, `piece` the one picked from the hand, `position` and `orientation` how the drawn tile would
    be laid.
    `busy` tells that a request waits for its answer, `sent` is the line that asked for it, `scroll` how many
    lines of the log lie below what is shown, `step` where the scoring walk-through is, `rest` how many ticks
    it stays there before it goes on by itself, if it does. With `confirms` a move is asked about once more:
    `asked` is the one that waits for the answer. `start` is set at the start screen, `replay` where a record
    is on the screen instead of a server's table, `lesson` where a page of the lessons is.
    `now` is the time, on a clock that only its differences are known of; at `told_at` the table was last
    told about, and at `clock_at` the clock of who is on turn.
    """

    name: str
    address: str = ""
    hosting: Hosting = Hosting()
    tables: tuple[TableLine, ...] = ()
    kept_seats: frozenset[str] = frozenset()
    chosen: int = 0
    players: int = 3
    random_layout: bool = False
    absence: Absence = WAIT
    cursor: Hex = neighbours(HILLS[0])[0]  # a field, for nothing is placed on a hill
    hovered: Hex | None = None
    piece: Piece | None = None
    position: int | None = None
    orientation: int = 0
    entry: Entry | None = None
    sent: Entry | None = None
    typed: tuple[str, ...] = ()
    notice: Notice | None = None
    lost: Outage | None = None
    log: tuple[str, ...] = ()
    last: Field | None = None
    overlay: Overlay | None = None
    page: int = 0
    scroll: int = 0
    step: int = 0
    rest: int | None = None
    confirms: bool = False
    asked: LayTile | Place | None = None
    busy: bool = False
    replay: Replay | None = None
    lesson: Lesson | None = None
    start: Start | None = None
    now: float = 0.0
    told_at: float = 0.0
    clock_at: float = 0.0


def where(ui: Ui, model: TableModel) -> Where:
    """Return what is on the screen."""
    if ui.entry is not None:
        return Where.TYPING
    if ui.overlay is not None:
        return Where.QUITTING if ui.overlay is Overlay.QUIT else Where.READING
    if ui.replay is not None:
        return Where.REPLAY
    if ui.lesson is not None and (ui.lesson.done or model.view is None or model.view.phase is Phase.OVER):
        return Where.LESSON
    if ui.start is not None:
        return Where.START
    if model.table is None:
        return Where.LOBBY
    if model.view is None:
        return Where.ROOM
    if model.view.phase is Phase.OVER:
        return Where.RESULT if at_result(ui, model.view) else Where.SCORING
    return Where.LAYING if isinstance(model.legal, LegalLays) else Where.PLAYING


def at_result(ui: Ui, view: View) -> bool:
    """Tell whether the walk through the scoring has come to its end."""
    return view.phase is Phase.OVER and ui.step >= last_step(view)


def page_count(overlay: Overlay | None) -> int:
    """Return how many pages there are to read."""
    if overlay is Overlay.COUNTS:
        return 1
    return len(RULES) if overlay is Overlay.RULES else 3
