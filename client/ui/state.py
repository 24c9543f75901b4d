"""The UI state: the page on the screen, what lies over it, and what belongs to every page."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Self, TypeAlias, assert_never

from msgspec import Struct

from client.finding.found import NOTHING, Found, FoundServer, Listed, SeatAnswer
from client.player.calling import Calling
from client.player.preferences import WaysIn
from client.player.seats import KeptSeat
from client.records.analysis import Analysis
from client.records.recording import PastGame, Recording
from client.tables.table import TableModel
from client.ui.requests import Join, Open, Quit, Watch
from client.ui.talk import Talk
from client.ui.texts.rules import RULES
from engine.board import HILLS, Field, Hex, neighbours
from engine.events import Influence, LayTile, Place
from engine.pieces import Piece
from engine.view import Eyes, Phase
from protocol.messages import Leave, PersonOnline, TableSummary


class Asked(enum.Enum):
    """What the line asks for."""

    NAME = enum.auto()
    TITLE = enum.auto()
    ADDRESS = enum.auto()


@dataclass(frozen=True, slots=True)
class Entry:
    """A line being typed: a command, or with `chat` a message to the table, with `lobby` one to the lobby, or
    the answer to what a page `asks`. `at` is the cursor, `back` counts the steps back in the history.
    """

    chat: bool = False
    lobby: bool = False
    asks: Asked | None = None
    text: str = ""
    at: int = 0
    back: int = 0

    @property
    def command(self) -> bool:
        return not self.chat and self.asks is None

    def insert(self, text: str) -> Self:
        return replace(self, text=self.text[: self.at] + text + self.text[self.at :], at=self.at + len(text))

    def erase(self) -> Self:
        if not self.at:
            return self
        return replace(self, text=self.text[: self.at - 1] + self.text[self.at :], at=self.at - 1)

    def delete(self) -> Self:
        return replace(self, text=self.text[: self.at] + self.text[self.at + 1 :])

    def moved(self, by: int) -> Self:
        return replace(self, at=min(max(self.at + by, 0), len(self.text)))

    def to_end(self) -> Self:
        return replace(self, at=len(self.text))

    def to_start(self) -> Self:
        return replace(self, at=0)

    def cleared(self) -> Self:
        return replace(self, text="", at=0)

    def filled(self, text: str) -> Self:
        return replace(self, text=text, at=len(text))

    def recalled(self, typed: tuple[str, ...], by: int) -> Self:
        """Return the line typed `by` lines further back, an empty one after the last."""
        back = min(max(self.back + by, 0), len(typed))
        return replace(self, back=back).filled(typed[-back] if back else "")


_HELP_PAGES: Final = 4


class Topic(enum.Enum):
    """What there is to read."""

    HELP = enum.auto()
    RULES = enum.auto()
    COUNTS = enum.auto()
    WHOLE = enum.auto()


@dataclass(frozen=True, slots=True)
class Reading:
    """A text that is open over the page, at its page of this number.

    In a window too small for a page, `top` is the first line shown, and `last_top` what it can be at most.
    `told` is the notice that there was no room for.
    """

    topic: Topic
    number: int = 0
    top: int = 0
    last_top: int = 0
    told: str = ""

    @property
    def pages(self) -> int:
        """Return how many pages the text has."""
        match self.topic:
            case Topic.HELP:
                return _HELP_PAGES
            case Topic.RULES:
                return len(RULES)
            case Topic.COUNTS | Topic.WHOLE:
                return 1
            case _:
                assert_never(self.topic)


class Quitting(Struct, frozen=True):
    """The question whether to quit a running game, or to leave a table before its game."""

    request: Quit | Leave = Quit()


@dataclass(frozen=True, slots=True)
class Announcements:
    """What the people who run the server have to say, oldest first, until the player closes it."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TalkPage:
    """All that was said at the table, from line `top` on; without one, as far as the latest.

    `last_top` is the last line that it can begin with.
    """

    top: int | None = None
    last_top: int = 0


class MenuPage(enum.Enum):
    """What the menu of a table is about."""

    MAIN = enum.auto()
    STARTING = enum.auto()
    ABSENCE = enum.auto()
    SEAT = enum.auto()
    PEOPLE = enum.auto()
    BOT = enum.auto()
    SWAP = enum.auto()
    REMOVE = enum.auto()
    HAND_OVER = enum.auto()
    SUBSTITUTE = enum.auto()
    SPECTATORS = enum.auto()
    MUTE = enum.auto()
    END = enum.auto()


@dataclass(frozen=True, slots=True)
class TableMenu:
    """The menu of a table at one of its pages; `chosen` is the line that the player is on."""

    page: MenuPage = MenuPage.MAIN
    chosen: int = 0


Overlay: TypeAlias = Reading | Quitting | Announcements | TableMenu | TalkPage


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


LOG_KEPT: Final = 500
ANNOUNCEMENTS_KEPT: Final = 3  # as many of the longest fit on the smallest screen
_AT_FIRST: Final = Lobby()
_NEW_TABLE: Final = Open(3)
_SILENCE: Final = Talk()


class Notice(Struct, frozen=True):
    """One sentence that the player should read now."""

    text: str
    refusal: bool = False


class Outage(Struct, frozen=True):
    """Why there is no connection, and when the next attempt is due; None if there is none to come."""

    reason: str
    until: float | None


@dataclass(frozen=True, slots=True)
class Company:
    """Who is online, as far as the list has room, and how many more are.

    `fault` tells why the player cannot be listed under this name.
    """

    people: tuple[PersonOnline, ...] = ()
    more: int = 0
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Hosting:
    """What this program can do at its server.

    `private` if nobody else plays there, so that there is no lobby to go back to; `levels` are those of the
    bots that the server seats, the best last; `hints` if it can suggest moves; `looks_back` if it shows
    finished games, `lists_games` if the lobby leads to a list of these, `analyses` if it judges them,
    `saves` if it writes them to files, too; `lobby` if people can talk in the server's lobby; `home` if there
    is a start screen to go back to; `addresses` are those that others join with, `other_ways` what they type
    or open instead, or `way_in` is the command that they type, and `found_as` is the name under which they
    find the server, empty if they do not.
    """

    private: bool = False
    levels: tuple[str, ...] = ()
    hints: bool = False
    looks_back: bool = False
    lists_games: bool = False
    analyses: bool = False
    lobby: bool = False
    home: bool = False
    addresses: tuple[str, ...] = ()
    found_as: str = ""
    saves: bool = False
    way_in: str = ""
    other_ways: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ui:
    """The UI state: a value; whatever happens makes another one of it.

    `talk` is that of the table, or of the lobby in the lobby; `lobby_talk` is what was said in the lobby
    before the player went to a table. `company` is who is online, None as long as that is not known.

    `new_table` is how the player would open a table. `entry` is the line being typed, `sent` the one whose
    request waits for its answer, `retry` what is asked again under the name being typed, `typed` are those
    before. `busy` if a request waits for its answer, `ponders` while a hint is worked out. `scroll` is how
    many lines of the log are below those shown. With `confirms` moves have to be confirmed: `asked` is the
    one that waits for that. `ticks_left` is how long a walk that goes on by itself stays at its step, `speed`
    how fast it goes, from 0. `now` is the time of a monotonic clock; `told_at` is when the last state of the
    table came, `clock_at` when the clock of the seat on turn did, `stops_at` when the server is going to
    stop, if it is.
    """

    name: str
    address: str = ""
    hosting: Hosting = Hosting()
    page: Page = _AT_FIRST
    overlay: Overlay | None = None
    new_table: Open = _NEW_TABLE
    entry: Entry | None = None
    sent: Entry | None = None
    retry: Open | Join | Watch | None = None
    typed: tuple[str, ...] = ()
    notice: Notice | None = None
    lost: Outage | None = None
    log: tuple[str, ...] = ()
    scroll: int = 0
    talk: Talk = _SILENCE
    lobby_talk: Talk = _SILENCE
    company: Company | None = None
    confirms: bool = False
    asked: LayTile | Place | None = None
    busy: bool = False
    ponders: bool = False
    ticks_left: int | None = None
    speed: int = 0
    now: float = 0.0
    told_at: float = 0.0
    clock_at: float = 0.0
    stops_at: float | None = None


def closed_for_good(ui: Ui) -> bool:
    """Return whether the connection to the server is not coming back."""
    return ui.lost is not None and ui.lost.until is None


def in_lobby(ui: Ui) -> bool:
    """Return whether the player is in a server's lobby."""
    return isinstance(ui.page, Lobby)


def hints_allowed(ui: Ui, model: TableModel) -> bool:
    """Return whether the player may have moves suggested: by this program, and at this table."""
    return ui.hosting.hints and model.state is not None and model.state.hints


def followed(ui: Ui, model: TableModel) -> Ui:
    """Return `ui` on the page that fits the server's table; choices made on another page are forgotten."""
    page = ui.page
    if isinstance(page, Start | Search | History | Replay | Lesson):  # which do not depend on a server
        return ui
    if ui.talk.table != model.table:
        overlay = None if isinstance(ui.overlay, TalkPage) else ui.overlay
        lobby_talk = ui.talk if ui.talk.table is None else ui.lobby_talk
        talk = lobby_talk if model.table is None else Talk(model.table)
        ui = replace(ui, talk=talk, lobby_talk=lobby_talk, overlay=overlay)
    here: Page
    if model.table is None:
        here = page if isinstance(page, Lobby) else Lobby()
    elif model.view is None:
        here = page if isinstance(page, Gathering) else Gathering()
    elif model.state is not None and model.state.ended:
        here = page if isinstance(page, Ended) else Ended()
    elif model.view.phase is Phase.OVER:
        here = page if isinstance(page, Scoring | Result) else Scoring()
    else:
        here = page if isinstance(page, Playing) else Playing()
    if here is page:
        return ui
    return replace(ui, page=here, overlay=None if isinstance(ui.overlay, Quitting) else ui.overlay)


def table_page(ui: Ui) -> TablePage | None:
    """Return the page of the game that is shown: the server's, a record's or a lesson's."""
    match ui.page:
        case Replay(table=table) | Lesson(table=table):
            return table
        case Playing() | Scoring() | Result():
            return ui.page
        case Start() | Search() | History() | Lobby() | Gathering() | Ended():
            return None
        case _:
            assert_never(ui.page)


def with_table_page(ui: Ui, table: TablePage) -> Ui:
    """Return `ui` with this page of its game."""
    if isinstance(ui.page, Replay | Lesson):
        return replace(ui, page=replace(ui.page, table=table))
    return replace(ui, page=table)


def record_of(ui: Ui) -> Replay | None:
    """Return the record on the screen, if there is one: it has typed commands of its own."""
    return ui.page if isinstance(ui.page, Replay) else None
