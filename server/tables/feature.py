"""The seam between a table and what can be done at it: each feature is a room of its own in `rooms/`."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from engine.board import Field
from engine.events import Place
from engine.pieces import Seat
from protocol.absence import Absence
from protocol.messages import BesideMoves, ServerMessage, Stage
from protocol.settings import Setting
from server.storage.entries import Clocked, Entry, TookBack
from server.tables.clocks import Clocks


class Facts(Protocol):
    """What a feature may know of its table: nobody's hand."""

    @property
    def stage(self) -> Stage:
        """Return how far the game is."""

    @property
    def of_evening(self) -> bool:
        """Return whether an evening decides here what its host would."""

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
    def absence(self) -> Absence:
        """Return how the table treats players who are away or slow."""

    @property
    def settings(self) -> Mapping[type[Setting], Setting]:
        """Return the settings that the host has changed."""

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

    def check_turn(self, seat: Seat) -> None:
        """Raise IllegalCommand unless it is the seat's turn in the running game."""

    def check_running(self) -> None:
        """Raise Refusal before the game, IllegalCommand after it."""

    def check_place(self, place: Place) -> None:
        """Raise IllegalCommand if the player could not place this if it were their turn."""

    def owner_of(self, field: Field) -> Seat:
        """Return who has placed the piece there."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What a feature may know beside what is stored: when it is, and who is here; nobody, without a table.

    `now` is in seconds since 1970; the game has been `paused_for` so many seconds, as this server knows it.
    """

    now: int = 0
    people_here: Set[Seat] = frozenset()
    paused_for: float = 0.0
    clocks: Callable[[], Sequence[Clocked]] = list  # the entry for the clocks as they stand in a turn


class Feature:
    """Something that a table can do: it reads the facts, and owns a slice of the table's state.

    It never waits, stores, sends or sets a timer: the table does. What it decides on becomes entries; only
    their fold changes the slice, now as after a restart. What stops or starts clocks is stored behind these.
    """

    requests: ClassVar[tuple[type[BesideMoves], ...]] = ()  # of players, which it decides on
    entries: ClassVar[tuple[type[Entry], ...]] = ()  # of its own, which it decides on and folds
    folds_too: ClassVar[tuple[type[Entry], ...]] = ()  # entries that are not its own

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    # -- decide: only reads -------------------------------------------------------------------------

    def decide(self, seat: Seat, request: Any, moment: Moment) -> Sequence[Entry]:
        """Return what the request of the seat's player makes happen; raises Refusal or IllegalCommand."""
        raise NotImplementedError

    def on_move(self, seat: Seat, now: int) -> Sequence[Entry]:
        """Return what happens with a move that the seat's player makes."""
        return ()

    def follow(self, moment: Moment) -> Sequence[Entry]:
        """Return what happens now that something else has: something was stored, or somebody came or went."""
        return ()

    # -- fold: writes its own slice, and cannot fail ------------------------------------------------

    def fold(self, entry: Entry) -> bool:
        """Take in one of `entries` or `folds_too`; return whether others see a change.

        The facts are those before it.
        """
        raise NotImplementedError

    @classmethod
    def live(cls, entries: Iterable[tuple[int, Entry]]) -> Iterable[int]:
        """Return the numbers of its own entries that make the same slice as all of them.

        They are given with those that it folds, too, in order.
        """
        raise NotImplementedError

    def kept_of(self, seat: Seat) -> Sequence[Entry]:
        """Return the entries that make what the seat's player has of the slice once more."""
        return ()

    # -- derive: pure, asked after every change and after a restart ---------------------------------

    def due(self, moment: Moment) -> Mapping[Seat, float]:
        """Return in how many seconds something may fall due, by the seats that it concerns."""
        return {}

    def fall_due(self, seat: Seat, moment: Moment) -> Sequence[Entry]:
        """Return what happens at the seat now that a moment has come; nothing if it has not."""
        return ()

    @property
    def stopped(self) -> Collection[Seat]:
        """Return the seats whose clocks stand because of this feature."""
        return ()

    def excused(self, seat: Seat) -> float:
        """Return until when the player may be away without being waited for, since 1970; 0 for no moment."""
        return 0

    def planned(self, seat: Seat) -> Place | None:
        """Return what is placed for the player when their turn comes, if that is legal then."""
        return None

    # -- show ---------------------------------------------------------------------------------------

    def shown(self, moment: Moment) -> Mapping[str, Any]:
        """Return its fields of the table's state; those that the list has, too, are shown there as well."""
        return {}

    def shown_of(self, seat: Seat) -> Mapping[str, Any]:
        """Return its fields of what the table's state says of a player in a running game."""
        return {}

    def told(self, seat: Seat, *, newcomer: bool) -> Sequence[ServerMessage]:
        """Return what the seat's player alone is told of the slice; a newcomer, only what there is."""
        return ()
