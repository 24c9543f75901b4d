"""The UI state as a whole: the page, what lies over it, and what belongs to every page."""

from dataclasses import dataclass, replace
from typing import Final, assert_never

from msgspec import Struct

from client.tables.table import TableModel
from client.ui.update.entry import Entry
from client.ui.update.requests import Join, Open, Watch
from client.ui.update.state.overlays import Overlay, Quitting, TalkPage
from client.ui.update.state.pages import (
    Ended,
    Gathering,
    History,
    Lesson,
    Lobby,
    Page,
    Playing,
    Replay,
    Result,
    Scoring,
    Search,
    Start,
    TablePage,
)
from client.ui.update.talk import Talk
from engine.events import LayTile, Place
from engine.view import Phase
from protocol.messages import PersonOnline

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
