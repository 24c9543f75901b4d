"""The seam between a table and what can be done at it: each feature is a room of its own in `rooms/`."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from engine.board import Field
from engine.events import Place
from engine.pieces import Seat
from protocol.absence import Absence
from protocol.messages import BesideMoves, ServerMessage, Stage
from protocol.settings import Setting
from server.storage.entries import Entry


class Facts(Protocol):
    """What a feature may know of its table: nobody's hand."""

    @property
    def stage(self) -> Stage:
        """Return how far the game is."""

    @property
    def programs(self) -> set[Seat]:
        """Return the seats that programs hold, not people."""

    @property
    def absence(self) -> Absence:
        """Return how the table treats players who are away or slow."""

    @property
    def settings(self) -> Mapping[type[Setting], Setting]:
        """Return the settings that the host has changed."""

    def check_running(self) -> None:
        """Raise Refusal before the game, IllegalCommand after it."""

    def check_place(self, place: Place) -> None:
        """Raise IllegalCommand if the player could not place this if it were their turn."""

    def owner_of(self, field: Field) -> Seat:
        """Return who has placed the piece there."""


class Feature:
    """Something that a table can do: it reads the facts, and owns a slice of the table's state.

    It never waits, stores, sends or sets a timer: the table does. What it decides on becomes entries; only
    their fold changes the slice, now as after a restart. `now` is in seconds since 1970.
    """

    requests: ClassVar[tuple[type[BesideMoves], ...]] = ()  # of players, which it decides on
    entries: ClassVar[tuple[type[Entry], ...]] = ()  # of its own, which it decides on and folds
    folds_too: ClassVar[tuple[type[Entry], ...]] = ()  # entries that are not its own
    secret: ClassVar[tuple[type[Entry], ...]] = ()  # of these, what others are not told
    moves_clocks: ClassVar[bool] = False  # its entries stop and start clocks, and so are stored with these

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    # -- decide: only reads -------------------------------------------------------------------------

    def decide(self, seat: Seat, request: Any, now: int) -> Sequence[Entry]:
        """Return what the request of the seat's player makes happen; raises Refusal or IllegalCommand."""
        raise NotImplementedError

    def on_move(self, seat: Seat, now: int) -> Sequence[Entry]:
        """Return what happens with a move that the seat's player makes."""
        return ()

    # -- fold: writes its own slice, and cannot fail ------------------------------------------------

    def fold(self, entry: Entry) -> None:
        """Take in one of `entries` or `folds_too`; the facts are those before it."""
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

    def due(self) -> Mapping[Seat, float]:
        """Return the moments at which something may fall due, by the seats that it concerns."""
        return {}

    def fall_due(self, seat: Seat, now: int) -> Sequence[Entry]:
        """Return what happens at the seat now that a moment has come; nothing if it has not."""
        return ()

    @property
    def stopped(self) -> Collection[Seat]:
        """Return the seats whose clocks stand because of this feature."""
        return ()

    def excused(self, seat: Seat) -> float:
        """Return until which moment the player may be away without being waited for; 0 for no such moment."""
        return 0

    def planned(self, seat: Seat) -> Place | None:
        """Return what is placed for the player when their turn comes, if that is legal then."""
        return None

    # -- show ---------------------------------------------------------------------------------------

    def shown(self) -> Mapping[str, Any]:
        """Return its fields of the table's state, and of the table's entry in the list."""
        return {}

    def shown_of(self, seat: Seat) -> Mapping[str, Any]:
        """Return its fields of what the table's state says of a player in a running game."""
        return {}

    def told(self, seat: Seat, *, newcomer: bool) -> Sequence[ServerMessage]:
        """Return what the seat's player alone is told of the slice; a newcomer, only what there is."""
        return ()
