"""What a table's journal holds: facts, appended and never changed; a table is the fold of its entries."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from engine.events import Event, GameStarted, LayTile, Place, Placed, SeenEvent, TileLaid, WolfPlaced, stops
from engine.pieces import People, Seat
from protocol.absence import WAIT, Absence
from protocol.admin import EveningPlan
from protocol.codec import BadMessage
from protocol.events import event_map, event_of, move_message
from protocol.messages import (
    NEW,
    NEWCOMER,
    Asked,
    EventMap,
    Hex32,
    Lay,
    PlacePiece,
    PlannedMove,
    PlanPlayed,
    Stage,
    Standing,
    StartGame,
    Substitute,
    TakesPart,
)
from protocol.settings import Setting

Move: TypeAlias = StartGame | Lay | PlacePiece

# The version of the journal, in a file or in a database. It is raised with whatever an entry can hold that
# the version before could not, and when the tables of either change: older programs refuse the journal then.
JOURNAL_VERSION: Final = 6


class Entry(Struct, frozen=True, tag_field="t"):
    """A fact about a table or an evening; the journal keeps it as one line of JSON."""


class Opened(Entry, frozen=True, tag="opened"):
    """The table was opened with these options; `origin` is a pseudonym of the address it was opened from."""

    players: int
    random_layout: bool
    starting: int | None
    absence: Absence = WAIT
    origin: str = ""


class SeatsFollow(Entry, frozen=True, tag="seats-follow"):
    """Until the game begins, the table gets a seat for each newcomer and loses it when they leave."""


class OfEvening(Entry, frozen=True, tag="of-evening"):
    """The table was opened for an evening, which decides what its host would."""


class OfStudy(Entry, frozen=True, tag="of-study"):
    """The table continues a finished game from one of its moments, and does not count in any totals."""


class Taken(Entry, frozen=True, tag="taken", omit_defaults=True):
    """A player took a seat; only the token's hash is kept.

    A `vacant` seat of a running game has the name of the player who was removed, and no token.
    """

    seat: int
    name: str
    token_hash: str
    program: bool = False
    standing: Standing = NEWCOMER
    vacant: bool = False


class Kept(Entry, frozen=True, tag="kept", omit_defaults=True):
    """A seat is kept for a player of the game before, who takes it with the token from there."""

    seat: int
    name: str
    token_hash: str
    program: bool = False
    standing: Standing = NEWCOMER


class BotSeated(Entry, frozen=True, tag="bot-seated", omit_defaults=True):
    """A bot of the server took a seat; no token holds it."""

    seat: int
    level: str
    name: str
    standing: Standing = NEWCOMER


class Freed(Entry, frozen=True, tag="freed"):
    """A player or a bot left a seat of a table that has not begun."""

    seat: int


class Played(Entry, frozen=True, tag="played", omit_defaults=True):
    """A seat's move was accepted: all that happened, with the secret kinds; `thought` is its time in ms.

    `seed`, secret until the game is over, is what its draws come from, with the shares in the first event.
    A `planned` move has no id: nobody asked for it just then.
    """

    seat: int
    move: Move
    events: list[EventMap]
    thought: int = 0
    seed: Hex32 | None = None
    planned: bool = False


class PlanMade(Entry, frozen=True, tag="planned", omit_defaults=True):
    """The seat's player has planned these placements, or dropped all plans; they are secret.

    A single one without condition is a piece and a field. A player who is seated once more keeps what was
    `played` from a plan.
    """

    seat: int
    piece: str | None = None
    field: str | None = None
    plans: tuple[PlannedMove, ...] = ()
    played: PlanPlayed | None = None


class StoodIn(Entry, frozen=True, tag="stood-in", omit_defaults=True):
    """The stand-in moved for a seat: as for `Played`, and why."""

    seat: int
    by: Substitute
    events: list[EventMap]
    thought: int = 0


class Voted(Entry, frozen=True, tag="voted"):
    """Seat `by` agreed, or no longer agrees, that a bot plays for a seat."""

    seat: int
    by: int
    agree: bool


class GivenToBot(Entry, frozen=True, tag="held"):
    """A bot plays for the seat until its player returns."""

    seat: int


class Returned(Entry, frozen=True, tag="returned"):
    """The seat's player is back: no bot plays for it, and votes on that are void."""

    seat: int


class TokenRevoked(Entry, frozen=True, tag="token-revoked"):
    """The seat was taken from its player: no token holds it, and a bot plays for it to the end."""

    seat: int


class Hosted(Entry, frozen=True, tag="hosted"):
    """The player of the seat is the host."""

    seat: int


class SaidReady(Entry, frozen=True, tag="ready"):
    """The seat's player is ready for the game, or no longer."""

    seat: int
    on: bool


class PeopleChosen(Entry, frozen=True, tag="people"):
    """The seat's player chose a people, or None to play one that is left."""

    seat: int
    people: People | None


class NoticesTo(Entry, frozen=True, tag="notices-to"):
    """The seat's player is notified at this confirmed address, in this language; empty: nowhere any more."""

    seat: int
    address: str
    language: str

    def __repr__(self) -> str:
        return f"NoticesTo(seat={self.seat}, ...)"  # the address is the player's secret


class Noticed(Entry, frozen=True, tag="noticed", omit_defaults=True):
    """The seat's player has been notified of this turn, and perhaps that its time is `short`.

    They also know that the game has continued after this many `pauses`.
    """

    seat: int
    events: int
    short: bool
    pauses: int = 0


class Changed(Entry, frozen=True, tag="changed"):
    """The host changed a setting."""

    setting: Setting


class Clocked(Entry, frozen=True, tag="clocked", omit_defaults=True):
    """How long the seats have thought in this game, and of that in the turn that is under way, in ms.

    `reserve` is how much of the reserves of a long clock they had used before this turn.
    """

    used: list[int]
    turn: int
    reserve: list[int] = []


class Wished(Entry, frozen=True, tag="wished"):
    """An open request of a player to the others, with the answers so far; None closes it."""

    asked: Asked | None


class TookBack(Entry, frozen=True, tag="took-back"):
    """A seat's last placement was taken back, with all that followed it."""

    seat: int
    events: list[EventMap]


# At hand, because each move asks: to Python 3.11 a union is made anew each time.
MADE: Final = Played, StoodIn
MOVE_ENTRIES: Final = Played, StoodIn, TookBack


class Paused(Entry, frozen=True, tag="paused", omit_defaults=True):
    """The game was paused for the player of the seat; `until` a moment, if all have agreed on one."""

    seat: int
    until: int | None = None


class Unpaused(Entry, frozen=True, tag="unpaused"):
    """The pause is over."""


class OnHoliday(Entry, frozen=True, tag="holiday"):
    """The seat's player began a holiday at this moment, in seconds since 1970, or ended it."""

    seat: int
    at: int
    on: bool


class EndedByHost(Entry, frozen=True, tag="ended"):
    """The host ended the game without a result."""


class Continued(Entry, frozen=True, tag="continued"):
    """The players of this finished game play again at the table `code`."""

    code: str


class Answered(Entry, frozen=True, tag="answered"):
    """Requests of the seat's player that were carried out: ids, and digests of their contents.

    Stored together with the request's own entries, so that it is not carried out again if its answer is lost.
    The entries of moves have their ids themselves.
    """

    seat: int
    requests: list[tuple[int, int]]


class Forgotten(Entry, frozen=True, tag="forgotten"):
    """The table is closed for good."""


class EveningBegun(Entry, frozen=True, tag="evening", omit_defaults=True):
    """An evening was opened; `seed`, if the draws of a round are the same everywhere, is that of round 1."""

    plan: EveningPlan
    seed: Hex32 | None = None
    opened: int = 0  # in seconds since 1970


class PersonEntered(Entry, frozen=True, tag="person", omit_defaults=True):
    """Somebody signed up for the evening, or changed how they take part.

    `origin` is a pseudonym of the address they signed up from; the host may have `removed` them. Without a
    `name`, they are forgotten: they had not played, and somebody else needed the place or the name.
    """

    person: int
    name: str
    token_hash: str
    takes_part: TakesPart
    origin: str = ""
    removed: bool = False


class Countdown(Entry, frozen=True, tag="countdown", omit_defaults=True):
    """The countdown to the next round began at this time, in seconds since 1970; None: it was stopped.

    Without rounds, the person who has waited longest for a table came at this time.
    """

    at: int | None = None


class RoundDrawn(Entry, frozen=True, tag="drawn", omit_defaults=True):
    """Tables of the evening were opened: their codes, with who sits there; `seed` is for the next round."""

    tables: list[tuple[str, list[int]]]
    seed: Hex32 | None = None
    at: int = 0  # in seconds since 1970; 0 if it was stored without


class TableResult(Entry, frozen=True, tag="result"):
    """A table of the evening is over: people, their points and items; no people if it has no result."""

    code: str
    scores: list[tuple[int, int, int]]


class EveningClosed(Entry, frozen=True, tag="closed"):
    """No more tables are drawn in the evening."""


EveningEntry: TypeAlias = EveningBegun | PersonEntered | Countdown | RoundDrawn | TableResult | EveningClosed

# From all entries of a table to the numbers of those that still count.
LiveEntries: TypeAlias = Callable[[Sequence[Entry]], list[int]]

_DECODER: Final[msgspec.json.Decoder[Entry]] = msgspec.json.Decoder(reduce(or_, Entry.__subclasses__()))


def entry_text(entry: Entry) -> str:
    """Return the entry as one line of JSON."""
    return msgspec.json.encode(entry).decode()


def entry_of(text: str) -> Entry:
    """Return the entry in a line of JSON; raises msgspec.DecodeError if it is not one."""
    return _DECODER.decode(text)


def events_of(entries: Iterable[Entry]) -> Iterator[Event]:
    """Yield the events of a game, hidden kinds included; raises BadMessage if an entry has other events."""
    for entry in entries:
        if isinstance(entry, MOVE_ENTRIES):
            yield from whole_events(entry.events)


def played_so_far(events: Sequence[SeenEvent], host: int) -> Iterator[Played]:
    """Yield the entries of a game until now, none of which anybody asked for here; `events` are lasting.

    Nobody can prove draws that have yet to come.
    """
    begun = [replace(event, draws=None) if isinstance(event, GameStarted) else event for event in events]
    for start, end in pairwise((0, *stops(begun))):
        happened = begun[start:end]
        match happened[0]:
            case TileLaid(seat, _, position, orientation):
                move: Move = move_message(NEW, LayTile(seat, position, orientation))
            case Placed(seat, piece, field):
                move = move_message(NEW, Place(seat, piece, field))
            case _:
                seat, move = Seat(host), StartGame(NEW)
        yield Played(seat, move, list(map(event_map, happened)), planned=True)


def whole_events(contents: Iterable[EventMap]) -> list[Event]:
    """Return the events in these maps; raises BadMessage if there are others, or redacted ones."""
    return [_whole(event_of(content)) for content in contents]


def _whole(event: SeenEvent) -> Event:
    if isinstance(event, WolfPlaced):
        raise BadMessage("a journal holds whole events, not redacted ones")
    return event


class Contents(Struct, frozen=True):
    """The contents of a table's entries about its game: the players' names by seat, empty for free seats."""

    stage: Stage
    names: tuple[str, ...]
    moves: int


def contents(entries: Iterable[Entry]) -> Contents:
    """Return what the entries say, without replaying the game: there may be thousands of tables."""
    names: dict[int, str] = {}
    least = 0  # seats
    kinds: list[Any] = []
    moves = 0
    for entry in entries:
        match entry:
            case Opened(players):
                least, names = players, dict.fromkeys(range(players), "")
            case Taken(seat, name) | Kept(seat, name) | BotSeated(seat, _, name):
                names[seat] = name
            case Freed(seat):
                names[seat] = ""
            case Played() | StoodIn() | TookBack():
                for event in entry.events:
                    kinds.append(kind := event.get("t"))
                    moves += kind in {"laid", "placed"}
                    moves -= len(event.get("fields", ())) if kind == "taken-back" else 0
            case EndedByHost():
                kinds.append("ended")
    seats = max(
        least, *(seat + 1 for seat, name in names.items() if name), 0
    )  # others went with their people
    return Contents(_stage(kinds), tuple(names.get(seat, "") for seat in range(seats)), moves)


def _stage(kinds: list[Any]) -> Stage:
    if not kinds:
        return "gathering"
    return "over" if "ended" in kinds else "playing"
