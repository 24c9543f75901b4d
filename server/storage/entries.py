"""What a table's journal holds: facts, appended and never changed; a table is the fold of its entries."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
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
    Stage,
    Standing,
    StartGame,
    Substitute,
    TakesPart,
)
from protocol.settings import Setting

Move: TypeAlias = StartGame | Lay | PlacePiece


class Opened(Struct, frozen=True, tag_field="t", tag="opened"):
    """The table was opened with these options; `origin` is a pseudonym of the address it was opened from."""

    players: int
    random_layout: bool
    starting: int | None
    absence: Absence = WAIT
    origin: str = ""


class OfEvening(Struct, frozen=True, tag_field="t", tag="of-evening"):
    """The table was opened for an evening, which decides what its host would."""


class OfStudy(Struct, frozen=True, tag_field="t", tag="of-study"):
    """The table was opened to go on from a moment of a finished game, and counts for nothing."""


class Taken(Struct, frozen=True, tag_field="t", tag="taken", omit_defaults=True):
    """A player took a seat; only the token's hash is kept.

    A `vacant` seat of a running game has the name of the player who was removed, and no token.
    """

    seat: int
    name: str
    token_hash: str
    program: bool = False
    standing: Standing = NEWCOMER
    vacant: bool = False


class Kept(Struct, frozen=True, tag_field="t", tag="kept", omit_defaults=True):
    """A seat is kept for a player of the game before, who takes it with the token from there."""

    seat: int
    name: str
    token_hash: str
    program: bool = False
    standing: Standing = NEWCOMER


class BotSeated(Struct, frozen=True, tag_field="t", tag="bot-seated", omit_defaults=True):
    """A bot of the server took a seat; no token holds it."""

    seat: int
    level: str
    name: str
    standing: Standing = NEWCOMER


class Freed(Struct, frozen=True, tag_field="t", tag="freed"):
    """A player or a bot left a seat of a table that has not begun."""

    seat: int


class Played(Struct, frozen=True, tag_field="t", tag="played", omit_defaults=True):
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


class PlanMade(Struct, frozen=True, tag_field="t", tag="planned", omit_defaults=True):
    """The seat's player plans to place this when its turn comes, or nothing any more; nobody else knows."""

    seat: int
    piece: str | None = None
    field: str | None = None


class StoodIn(Struct, frozen=True, tag_field="t", tag="stood-in", omit_defaults=True):
    """The stand-in moved for a seat: as for `Played`, and why."""

    seat: int
    by: Substitute
    events: list[EventMap]
    thought: int = 0


class Voted(Struct, frozen=True, tag_field="t", tag="voted"):
    """Seat `by` agreed, or no longer agrees, that a bot plays for a seat."""

    seat: int
    by: int
    agree: bool


class GivenToBot(Struct, frozen=True, tag_field="t", tag="held"):
    """A bot plays for the seat until its player returns."""

    seat: int


class Returned(Struct, frozen=True, tag_field="t", tag="returned"):
    """The seat's player is back: no bot plays for it, and votes on that are void."""

    seat: int


class TokenRevoked(Struct, frozen=True, tag_field="t", tag="token-revoked"):
    """The seat was taken from its player: no token holds it, and a bot plays for it to the end."""

    seat: int


class Hosted(Struct, frozen=True, tag_field="t", tag="hosted"):
    """The player of the seat is the host."""

    seat: int


class SaidReady(Struct, frozen=True, tag_field="t", tag="ready"):
    """The seat's player is ready for the game, or no longer."""

    seat: int
    on: bool


class PeopleChosen(Struct, frozen=True, tag_field="t", tag="people"):
    """The seat's player chose a people, or None to play one that is left."""

    seat: int
    people: People | None


class NoticesTo(Struct, frozen=True, tag_field="t", tag="notices-to"):
    """The seat's player is called at this confirmed address, in this language; empty: nowhere any more."""

    seat: int
    address: str
    language: str

    def __repr__(self) -> str:
        return f"NoticesTo(seat={self.seat}, ...)"  # the address is the player's secret


class Noticed(Struct, frozen=True, tag_field="t", tag="noticed", omit_defaults=True):
    """The seat's player knows of the turn after so many events, or also that its time is `short`.

    They also know that the game goes on after so many `pauses`.
    """

    seat: int
    events: int
    short: bool
    pauses: int = 0


class Changed(Struct, frozen=True, tag_field="t", tag="changed"):
    """The host changed a setting."""

    setting: Setting


class Clocked(Struct, frozen=True, tag_field="t", tag="clocked", omit_defaults=True):
    """How long the seats have thought in this game, and of that in the turn that is under way, in ms.

    `reserve` is how much of the reserves of a long clock they had used before this turn.
    """

    used: list[int]
    turn: int
    reserve: list[int] = []


class Wished(Struct, frozen=True, tag_field="t", tag="wished"):
    """What a player asks the others for, and their answers so far; None if nobody asks for anything."""

    asked: Asked | None


class TookBack(Struct, frozen=True, tag_field="t", tag="took-back"):
    """A seat's last placement was taken back, with all that followed it."""

    seat: int
    events: list[EventMap]


class Paused(Struct, frozen=True, tag_field="t", tag="paused", omit_defaults=True):
    """The game was paused for the player of the seat; `until` a moment, if all have agreed on one."""

    seat: int
    until: int | None = None


class Unpaused(Struct, frozen=True, tag_field="t", tag="unpaused"):
    """The pause is over."""


class OnHoliday(Struct, frozen=True, tag_field="t", tag="holiday"):
    """The seat's player began a holiday at this moment, in seconds since 1970, or ended it."""

    seat: int
    at: int
    on: bool


class EndedByHost(Struct, frozen=True, tag_field="t", tag="ended"):
    """The host ended the game without a result."""


class Continued(Struct, frozen=True, tag_field="t", tag="continued"):
    """The players of this finished game play again at the table `code`."""

    code: str


class Forgotten(Struct, frozen=True, tag_field="t", tag="forgotten"):
    """The table is closed for good."""


EVENING: Final = "EVENING"  # where an evening's entries are kept; no table has a code with vowels


class EveningBegun(Struct, frozen=True, tag_field="t", tag="evening", omit_defaults=True):
    """An evening was opened; `seed`, if the draws of a round are the same everywhere, is that of round 1."""

    plan: EveningPlan
    seed: Hex32 | None = None
    opened: int = 0  # in seconds since 1970


class PersonEntered(Struct, frozen=True, tag_field="t", tag="person"):
    """Somebody signed up for the evening, or said how they take part from now on."""

    person: int
    name: str
    token_hash: str
    takes_part: TakesPart


class RoundDrawn(Struct, frozen=True, tag_field="t", tag="drawn", omit_defaults=True):
    """Tables of the evening were opened: their codes, with who sits there; `seed` is for the next round."""

    tables: list[tuple[str, list[int]]]
    seed: Hex32 | None = None


class TableResult(Struct, frozen=True, tag_field="t", tag="result"):
    """A table of the evening is over: people, their points and items; nobody, if it has no result."""

    code: str
    scores: list[tuple[int, int, int]]


class EveningClosed(Struct, frozen=True, tag_field="t", tag="closed"):
    """No more tables are drawn in the evening."""


EveningEntry: TypeAlias = EveningBegun | PersonEntered | RoundDrawn | TableResult | EveningClosed

Entry: TypeAlias = (
    EveningEntry
    | Opened
    | OfEvening
    | OfStudy
    | Taken
    | Kept
    | BotSeated
    | Freed
    | Played
    | StoodIn
    | PlanMade
    | Voted
    | GivenToBot
    | Returned
    | TokenRevoked
    | Hosted
    | SaidReady
    | PeopleChosen
    | NoticesTo
    | Noticed
    | Changed
    | Clocked
    | Wished
    | TookBack
    | Paused
    | Unpaused
    | OnHoliday
    | EndedByHost
    | Continued
    | Forgotten
)

# From all entries of a table to the numbers of those that still count.
LiveEntries: TypeAlias = Callable[[Sequence[Entry]], list[int]]

_DECODER: Final[msgspec.json.Decoder[Entry]] = msgspec.json.Decoder(Entry)


def entry_text(entry: Entry) -> str:
    """Return the entry as one line of JSON."""
    return msgspec.json.encode(entry).decode()


def entry_of(text: str) -> Entry:
    """Return the entry in a line of JSON; raises msgspec.DecodeError if it is not one."""
    return _DECODER.decode(text)


def events_in(entry: Played | StoodIn | TookBack) -> list[Event]:
    """Return what happened in a move; raises BadMessage if the entry has other events."""
    return whole_events(entry.events)


def events_of(entries: Iterable[Entry]) -> Iterator[Event]:
    """Yield the events of a game, hidden kinds included; raises BadMessage if an entry has other events."""
    for entry in entries:
        if isinstance(entry, Played | StoodIn | TookBack):
            yield from events_in(entry)


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
    """What a table's entries say of its game: the players' names by seat, empty ones for free seats."""

    stage: Stage
    names: tuple[str, ...]
    moves: int


def contents(entries: Iterable[Entry]) -> Contents:
    """Return what the entries say, without replaying the game: there may be thousands of tables."""
    names: dict[int, str] = {}
    kinds: list[Any] = []
    moves = 0
    for entry in entries:
        match entry:
            case Opened(players):
                names = dict.fromkeys(range(players), "")
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
    return Contents(_stage(kinds), tuple(names.values()), moves)


def _stage(kinds: list[Any]) -> Stage:
    if not kinds:
        return "gathering"
    return "over" if "ended" in kinds else "playing"
