"""The seam between a table and what can be done at it: each feature is a room of its own in `rooms/`."""

import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from engine.board import Field
from engine.events import Place
from engine.pieces import Seat
from protocol.absence import Absence
from protocol.messages import BesideMoves, Condition, Seating, ServerMessage, SpectatorSummary, Stage
from protocol.settings import Setting, Switches
from server.config import Limits, NoticeOf
from server.limits.networks import Networks
from server.storage.entries import Clocked, Entry, NoticesTo, Opened, TookBack
from server.tables.clocks import Clocks


class Facts(Protocol):
    """The facts of a table that a feature may read; no hand is among them."""

    @property
    def stage(self) -> Stage:
        """Return how far the game is."""

    @property
    def opened(self) -> Opened:
        """Return with which options the table was opened."""

    @property
    def seats_follow(self) -> bool:
        """Return whether the table grows: everybody who comes before the game gets a seat."""

    @property
    def of_evening(self) -> bool:
        """Return whether the table belongs to an evening, which then decides instead of its host."""

    @property
    def host(self) -> Seat | None:
        """Return the host's seat."""

    @property
    def people(self) -> set[Seat]:
        """Return the seats that people hold, including those kept for them."""

    @property
    def programs(self) -> set[Seat]:
        """Return the seats that programs hold, not people."""

    @property
    def bots(self) -> set[Seat]:
        """Return the seats that bots of the server hold."""

    @property
    def bot_seats(self) -> frozenset[Seat]:
        """Return the seats that the stand-in plays for absent players, or for players who were absent."""

    @property
    def taken(self) -> Collection[Seat]:
        """Return the seats whose players have come and have not been removed."""

    @property
    def names(self) -> list[str]:
        """Return the players' names by seat, empty ones for free seats."""

    @property
    def switches(self) -> Switches:
        """Return the settings that are on or off."""

    @property
    def absence(self) -> Absence:
        """Return how the table treats players who are away or slow."""

    @property
    def settings(self) -> Mapping[type[Setting], Setting]:
        """Return the settings that the host has changed."""

    @property
    def turn(self) -> Seat | None:
        """Return the seat to move, None before and after the game."""

    @property
    def first(self) -> Seat | None:
        """Return the seat that has the first turn, None before the game."""

    @property
    def event_count(self) -> int:
        """Return how many events the game has had so far."""

    @property
    def stopped(self) -> Collection[Seat]:
        """Return the seats whose clocks are stopped during the game."""

    @property
    def kept_seats(self) -> Sequence[Entry]:
        """Return the entries that keep at another table the seats of those who have not been removed."""

    def holder(self, seat: Seat) -> str:
        """Return the hash of the token that holds the seat, "" without one."""

    @property
    def clocks(self) -> Clocks:
        """Return how much time the players have used."""

    @property
    def paused(self) -> Seat | None:
        """Return the seat for whose player the game is paused."""

    @property
    def paused_until(self) -> int | None:
        """Return the moment at which the pause ends, if the players have agreed on one."""

    @property
    def taken_back(self) -> int:
        """Return how often a placement was taken back in the running game."""

    def take_back(self, seat: Seat) -> TookBack:
        """Return the entry that takes the seat's last placement back; raises IllegalCommand."""

    def rearranged(self, order: Sequence[Seat]) -> Sequence["Happening"]:
        """Return the entries that give each seat to the player of the seat in `order`."""

    @property
    def unready(self) -> Sequence[Entry]:
        """Return the entries that reset who is ready, because the coming game has changed."""

    def check_seat(self, seat: int) -> None:
        """Raise Refusal if the table has no such seat."""

    def played_until(self, step: int) -> Sequence[Entry]:
        """Return the moves of the finished game up to this step; raises Refusal at a step without a turn."""

    def check_turn(self, seat: Seat) -> None:
        """Raise IllegalCommand unless it is the seat's turn in the running game."""

    def check_gathering(self) -> None:
        """Raise Refusal unless the game has yet to begin."""

    def check_running(self) -> None:
        """Raise Refusal before the game, IllegalCommand after it."""

    def check_finished(self) -> None:
        """Raise Refusal unless the game has been played to its end: looking back would reveal its pieces."""

    def check_place(self, place: Place) -> None:
        """Raise IllegalCommand if the player could not place this if it were their turn."""

    def owner_of(self, field: Field) -> Seat | None:
        """Return the seat that placed the piece on the field, None without one."""


class Fleeting:
    """Something that happens at a table and is not stored: a restart forgets it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Aloud(Fleeting):
    """A message to everybody at the table, or only to its spectators."""

    message: ServerMessage
    to_players: bool


@dataclass(frozen=True, slots=True)
class Overheard(Fleeting):
    """What somebody has said, for the lobby if it hears what is said at the table."""

    text: str


@dataclass(frozen=True, slots=True)
class Came(Fleeting):
    """A player has come to the seat: a new one, or the same one `again`."""

    seat: Seat
    again: bool


@dataclass(frozen=True, slots=True)
class Went(Fleeting):
    """The player of the seat is no longer here."""

    seat: Seat


@dataclass(frozen=True, slots=True)
class Deserted(Fleeting):
    """Nobody is here."""


@dataclass(frozen=True, slots=True)
class PlayerRemoved(Fleeting):
    """The player who held the seat has to go, and cannot come straight back; a new one may have it."""

    seat: Seat
    name: str
    holder: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class SpectatorRemoved(Fleeting):
    """The spectator of this number has to go, and cannot come straight back."""

    number: int


@dataclass(frozen=True, slots=True)
class GoesOn(Fleeting):
    """The seat's player moves to the table that is `known`, otherwise to a new one with these entries.

    `link` makes the entry of this table that is stored with it, from the new code.
    """

    seat: Seat
    known: str | None
    opened: Opened
    entries: Sequence[Entry]
    link: Callable[[str], Entry]


@dataclass(frozen=True, slots=True)
class Opening(Fleeting):
    """Who asks for it has another table opened, with these entries; `then` this happens, from its code."""

    opened: Opened
    entries: Sequence[Entry]
    then: Callable[[str], Fleeting]


@dataclass(frozen=True, slots=True)
class PostOpened(Fleeting):
    """Letters can be sent from here."""


@dataclass(frozen=True, slots=True)
class Letter(Fleeting):
    """A notification for a seat's holder; `number` tells those of a kind apart, `asker` has caused it."""

    seat: Seat
    holder: str = field(repr=False)
    to: NoticesTo
    kind: NoticeOf
    number: int = 0
    digits: str = field(default="", repr=False)
    seconds: int | None = None
    attempt: int = 1
    asker: Networks | None = None


@dataclass(frozen=True, slots=True)
class Delivered(Fleeting):
    """A letter has arrived at this time of the table's clock, or has not because of a `fault`."""

    letter: Letter
    fault: str | None
    at: float


@dataclass(frozen=True, slots=True)
class Shortened(Fleeting):
    """Obsolete entries are dropped immediately, because they hold something that must not be kept."""


Happening: TypeAlias = Entry | Fleeting
# Why a reader is told something: has just come, asks for all once more, or something may have changed.
Occasion: TypeAlias = Literal["came", "asks", "changed"]


class Access(NamedTuple):
    """Who may make a request, and when.

    Requests without `at_evening` are refused at an evening's tables, where the evening decides.
    """

    of_host: bool = False
    of_spectators: bool = False  # too
    before_game: bool = False
    at_evening: bool = True
    is_remark: bool = False  # as often as remarks


_LIMITS: Final = Limits()


class PlannedPlace(NamedTuple):
    """A placement that a player has planned, and whether what it depends on `holds` now."""

    place: Place
    condition: Condition | None
    holds: bool


class Moment(Struct, frozen=True, eq=False):
    """Facts that are not stored: the time, and who is here (nobody, without a table).

    `now` is in seconds since 1970, `time` by the table's clock; the game has been `paused_for` so many
    seconds, as this server knows it. A player who is away may be `removable_in` so many seconds.
    """

    now: int = 0
    seated: Set[Seat] = frozenset()  # whose players are here
    people_here: Callable[[], Set[Seat]] = frozenset
    spectators: Collection[SpectatorSummary] = ()
    # The seats of absent people for whom the table waits only so long, with the seconds that are left.
    absent: Mapping[Seat, int] = {}
    paused_for: float = 0.0
    clocks: Callable[[], Sequence[Clocked]] = list  # the entry for the clocks as they stand in a turn
    time: float = 0.0
    time_left: Callable[[], int | None] = lambda: None  # of the turn, in ms; None without a clock
    limits: Limits = _LIMITS
    removable_in: Callable[[Seat], int] = lambda _: 0


@dataclass(slots=True, eq=False, repr=False)
class Feature:
    """Something that a table can do: it reads the facts, and owns a slice of the table's state.

    It never waits, stores, sends or sets a timer: the table does. What it decides on becomes entries; only
    their fold changes the slice, now as after a restart. What a restart forgets has names with an underscore.
    What stops or starts clocks is stored behind these.
    """

    requests: ClassVar[tuple[tuple[type[BesideMoves | Seating], Access], ...]] = ()  # which it decides on
    own: ClassVar[tuple[type[Happening], ...]] = ()  # which it decides on and folds
    folds_too: ClassVar[tuple[type[Happening], ...]] = ()  # what is not its own
    holds_table: ClassVar[bool] = False  # it is not archived before what is due has been done

    facts: Facts

    def __post_init__(self) -> None:
        self.facts = weakref.proxy(self.facts)  # they hold the room, and both would wait for a collection

    # -- decide: only reads -------------------------------------------------------------------------

    def decide(self, by: Any, request: Any, moment: Moment) -> Sequence[Happening]:
        """Return what the request makes happen; raises Refusal or IllegalCommand.

        It is made `by` the player of a seat, or by a SpectatorSummary if these may make it.
        """
        raise NotImplementedError

    def on_move(self, seat: Seat, now: int) -> Sequence[Entry]:
        """Return the entries stored with a move of the seat's player."""
        return ()

    def follow(self, moment: Moment) -> Sequence[Happening]:
        """Return what happens now that something else has: something was stored, or somebody came or went."""
        return ()

    # -- fold: writes its own slice, and cannot fail ------------------------------------------------

    def fold(self, entry: Happening) -> bool:
        """Take in one of `own` or `folds_too`; return whether others see a change, and so are told the state.

        The facts are those before it.
        """
        raise NotImplementedError

    @classmethod
    def live(cls, entries: Iterable[tuple[int, Entry]]) -> Iterable[int]:
        """Return the numbers of its own entries that make the same slice as all of them.

        They are given with those that it folds, too, in order.
        """
        return ()

    def kept_of(self, seat: Seat) -> Sequence[Entry]:
        """Return the entries that restore the part of the slice that belongs to the seat's player."""
        return ()

    # -- derive: pure, asked after every change and after a restart ---------------------------------

    @property
    def awaits(self) -> bool:
        """Return whether something may fall due, now or after moves: if not, `due` is not asked.

        No move changes this, nor which clocks are `stopped`.
        """
        return True

    def due(self, moment: Moment) -> Mapping[Seat, float]:
        """Return in how many seconds something may fall due, by the seats that it concerns or that asked."""
        return {}

    def fall_due(self, seat: Seat, moment: Moment) -> Sequence[Happening]:
        """Return the events due at the seat; it is called again later if it was too early."""
        return ()

    @property
    def stopped(self) -> Collection[Seat]:
        """Return the seats whose clocks this feature has stopped."""
        return ()

    def excused(self, seat: Seat) -> float:
        """Return until when the player may be away without being waited for, since 1970; 0 for no moment."""
        return 0

    def planned(self, seat: Seat) -> Sequence[PlannedPlace]:
        """Return the player's planned placements: the first that is possible is made in their turn."""
        return ()

    # -- show ---------------------------------------------------------------------------------------

    def shown(self, moment: Moment) -> Mapping[str, Any]:
        """Return its fields of the table's state; those that the list has, too, are shown there as well."""
        return {}

    def shown_of(self, seat: Seat, moment: Moment) -> Mapping[str, Any]:
        """Return this feature's fields of a seat's summary."""
        return {}

    def told(self, seat: Seat | None, why: Occasion) -> Sequence[ServerMessage]:
        """Return the messages about the slice that only this seat's player, or only spectators, may see.

        Newcomers get all messages. After a change, the messages before and after it are compared, and sent if
        they differ.
        """
        return ()
