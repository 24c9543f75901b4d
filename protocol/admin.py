"""Requests and answers on the admin socket: one line of JSON each way.

A request is an `Envelope`. The answer is a line `{"v": 1, "ok": ...}`, or `{"v": 1, "error": ...}` with a
`FailureReport`. The bytes of the file follow the answer to `backup`.
"""

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from protocol.limits import ANNOUNCEMENT_LENGTH, CODE_LENGTH, PRIVATE_CODE_LENGTH, TITLE_LENGTH
from protocol.messages import EventMap, Level, Stage, TableCode

VERSION: Final = 1
LINE_BYTES: Final = 64 * 1024  # of a request
MOST_CODES: Final = 5000  # removed by one request; more would not fit into a line
MOST_ROUNDS: Final = 20
LEAST_MINUTES, MOST_MINUTES = 5, 1440  # of a round
LONGEST_DRAIN: Final = 7 * 24 * 3600  # seconds
MOST_BANS: Final = 10_000
EVENING: Final = "evening"  # as it is stored; the codes of tables are capital letters
_STORED: Final = rf"^(?:[A-Z]{{{CODE_LENGTH},{PRIVATE_CODE_LENGTH}}}|{EVENING})\Z"

AnnouncedText: TypeAlias = Annotated[str, Meta(min_length=1, max_length=ANNOUNCEMENT_LENGTH)]
StoredName: TypeAlias = Annotated[str, Meta(pattern=_STORED)]
LogLevel: TypeAlias = Literal["info", "warning", "error"]
BanKind: TypeAlias = Literal["network", "name"]
Banned: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]


class _HostRequest(Struct, frozen=True, tag_field="do", forbid_unknown_fields=True):
    """A request from the host."""


class ShowStatus(_HostRequest, frozen=True, tag="status"):
    """Ask for the server's status; answered by StatusReport."""


class ListLiveTables(_HostRequest, frozen=True, tag="tables"):
    """Ask for the tables in memory, as everybody at them sees them; answered by a list of TableReport."""


class ListClients(_HostRequest, frozen=True, tag="who"):
    """Ask for the clients; answered by a list of ClientReport."""


class SendAnnouncement(_HostRequest, frozen=True, tag="announce"):
    """Send an announcement to everybody; answered by Told."""

    text: AnnouncedText


class CloseTables(_HostRequest, frozen=True, tag="close"):
    """Close tables for good, giving everybody there the reason; answered by nil."""

    tables: Annotated[list[StoredName], Meta(min_length=1, max_length=MOST_CODES)]
    reason: AnnouncedText | None = None


class RemovePlayer(_HostRequest, frozen=True, tag="remove"):
    """Remove the player of a seat, counted from 0; answered by nil."""

    table: TableCode
    seat: Annotated[int, Meta(ge=0, le=4)]


class RestoreTable(_HostRequest, frozen=True, tag="restore"):
    """Put a damaged table back into play at its last intact move; answered by StoredReport."""

    table: StoredName


class ListStored(_HostRequest, frozen=True, tag="stored"):
    """Ask for all tables, including archived and damaged ones; answered by a list of StoredReport."""


class ShowGame(_HostRequest, frozen=True, tag="game"):
    """Ask for a table with its complete game, including hidden pieces; answered by GameReport."""

    table: StoredName


class CopyJournal(_HostRequest, frozen=True, tag="backup"):
    """Ask for a consistent copy of the journal; answered by CopyReport, and then its bytes."""


class CopyFiles(_HostRequest, frozen=True, tag="snapshot"):
    """The journal as it is on disk, damage included; answered by SnapshotReport and bytes."""


class EveningPlan(Struct, frozen=True, omit_defaults=True):
    """How an evening is held; with no `rounds`, a table opens whenever enough people wait.

    The players of a game share its `minutes` equally; bots of the level `bots` fill up small tables.
    """

    name: Annotated[str, Meta(min_length=1, max_length=TITLE_LENGTH)]
    rounds: Annotated[int, Meta(ge=0, le=MOST_ROUNDS)] = 0
    minutes: Annotated[int, Meta(ge=LEAST_MINUTES, le=MOST_MINUTES)] = 60
    same_draws: bool = False
    bots: Level | None = None


class OpenEvening(_HostRequest, frozen=True, tag="evening-open"):
    """Open an evening; answered by nil."""

    plan: EveningPlan


class DrawRound(_HostRequest, frozen=True, tag="evening-draw"):
    """Draw the evening's next round now; answered by nil."""


class CloseEvening(_HostRequest, frozen=True, tag="evening-close"):
    """Draw no more tables in the evening; answered by nil."""


class RemovePerson(_HostRequest, frozen=True, tag="evening-remove"):
    """Remove the person of this name from the evening, who is told; answered by nil."""

    name: str


class HandOverPerson(_HostRequest, frozen=True, tag="evening-hand-over"):
    """Give the place of the person of this name to another device; answered by LinkReport."""

    name: str


class HostEvening(_HostRequest, frozen=True, tag="evening-host"):
    """Make a browser the page of the evening's host, in place of an earlier one; answered by LinkReport."""


class ShowEvening(_HostRequest, frozen=True, tag="evening"):
    """Ask for the evening; answered by Evening, as everybody sees it."""


class SetDrain(_HostRequest, frozen=True, tag="drain"):
    """Accept no new tables, and stop after this many seconds; nil cancels it. Answered by DrainReport."""

    seconds: Annotated[int, Meta(ge=1, le=LONGEST_DRAIN)] | None


class SetLogLevel(_HostRequest, frozen=True, tag="log-level"):
    """From now on, log events of this level and above; answered by nil."""

    level: LogLevel


class Ban(_HostRequest, frozen=True, tag="ban"):
    """Ban a network or a name until that is lifted; answered by BannedReport."""

    kind: BanKind
    what: Banned


class LiftBan(_HostRequest, frozen=True, tag="unban"):
    """Lift a ban; answered by nil."""

    kind: BanKind
    what: Banned


class ListBans(_HostRequest, frozen=True, tag="bans"):
    """Ask for the bans; answered by a list of BanReport."""


# Requests that several servers sharing a database can answer together.
NodeRequest: TypeAlias = (
    ShowStatus
    | ListLiveTables
    | ListClients
    | SendAnnouncement
    | SetDrain
    | SetLogLevel
    | Ban
    | LiftBan
    | ListBans
)


class AskNodes(_HostRequest, frozen=True, tag="of-nodes"):
    """Ask all servers that share the database, or the one named `node`.

    Answered by a list of NodeAnswer. A server without a database has no name.
    """

    ask: NodeRequest
    node: str | None = None


# Of these, what can be asked for at the page of the evening's host.
AtHostPage: TypeAlias = DrawRound | CloseEvening | RemovePerson | HandOverPerson | ShowEvening
OfEvening: TypeAlias = AtHostPage | OpenEvening | HostEvening

Request: TypeAlias = (
    NodeRequest
    | AskNodes
    | CloseTables
    | RemovePlayer
    | RestoreTable
    | ListStored
    | ShowGame
    | CopyJournal
    | CopyFiles
    | OfEvening
)


class Envelope(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A request; `token` is required where the socket is not a file that only its owner can open."""

    v: int
    ask: Request
    token: str | None = None


class FailureReport(Struct, frozen=True, omit_defaults=True):
    """Why a request was not carried out: a stable code, a sentence, and the facts in it by name."""

    code: str
    text: str
    about: dict[str, str] = {}


class NodeAnswer(Struct, frozen=True, omit_defaults=True):
    """A server's answer, or the reason why there is none."""

    node: str
    address: str
    ok: Any = None
    error: FailureReport | None = None


class Answered(Struct, frozen=True):
    """A line that answers a request."""

    v: int
    ok: Any = None
    error: FailureReport | None = None


class StatusReport(Struct, frozen=True, omit_defaults=True):
    """A server's status. `tables` counts by stage, sizes are in bytes, and times in seconds.

    `damaged` counts tables that were set aside; `node` is its name among those that share a database.
    """

    version: str
    pid: int
    uptime: int
    port: int
    connections: int
    players: int
    spectators: int
    tables: dict[str, int]
    archived: int
    damaged: int
    data: str | None
    journal_bytes: int | None
    log_bytes: int | None
    journal_failing: bool
    stops_in: int | None
    log_level: str
    node: str = ""


class SeatReport(Struct, frozen=True):
    """A seat, counted from 0, as everybody at its table sees it; a free one has no name."""

    seat: int
    name: str | None
    here: bool
    bot: bool


class TableReport(Struct, frozen=True, omit_defaults=True):
    """A table in memory; `left` is how many seconds ago the last of its people left, if nobody is there."""

    table: TableCode
    stage: Stage
    moves: int
    seats: list[SeatReport]
    spectators: int
    left: int | None
    node: str = ""  # where it is


class ClientReport(Struct, frozen=True, omit_defaults=True):
    """A client: its address and program, for how many seconds it has been connected, and where it is."""

    address: str
    program: str
    seconds: int
    table: TableCode | None
    seat: int | None
    name: str | None
    node: str = ""  # where it is connected


class BanReport(Struct, frozen=True, omit_defaults=True):
    """A ban of a network or a name, and since when, in seconds since 1970."""

    kind: BanKind
    what: Banned
    since: int
    node: str = ""  # where it holds


class BannedReport(Struct, frozen=True):
    """What is banned, and how many connections from there were closed."""

    what: Banned
    closed: int


class StoredReport(Struct, frozen=True):
    """A table in a few words: free seats have empty names; times are seconds since 1970 if known.

    A damaged one is intact up to its number of moves; nothing is left of a lost one.
    """

    code: str
    stage: Stage
    archived: bool
    names: tuple[str, ...]
    moves: int
    opened: int | None
    changed: int | None
    damaged: bool = False
    lost: bool = False


class GameReport(Struct, frozen=True):
    """A table and all events of its game, none if it has not begun."""

    table: StoredReport
    events: list[EventMap]


class ToldReport(Struct, frozen=True):
    """How many clients received it."""

    clients: int


class CopyReport(Struct, frozen=True):
    """How many bytes of the copy follow."""

    size: int = msgspec.field(name="bytes")


class SnapshotReport(Struct, frozen=True):
    """How many bytes of the journal follow; `listed` is the commit list of the same moment."""

    listed: bytes
    size: int = msgspec.field(name="bytes")  # as an attribute, it would hide the type from Python 3.14


class LinkReport(Struct, frozen=True):
    """A link with a secret: a browser that opens it becomes the host's page or, once, a person's device."""

    link: str


class DrainReport(Struct, frozen=True):
    """In how many seconds the server stops, nil if it runs on."""

    stops_in: int | None


def line_with(content: Any) -> bytes:
    """Return the content as one line of JSON."""
    return msgspec.json.encode(content, enc_hook=str) + b"\n"
