"""Commands and events: what a player asks for, and what happened, as facts.

A game is its events. Those marked *secret* reach other seats in another form: see `engine.redaction`.
"""

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar, dataclass_transform

from engine.board import Field, LaidTile, Tile
from engine.components import Laurel
from engine.draws import Bytes32, Draws
from engine.pieces import Kind, People, Piece, Seat

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def fact(kind: type[T]) -> type[T]:
    """Make a dataclass that nobody changes: mypy sees to that, as Python itself takes long to make one."""
    return dataclass(slots=True, unsafe_hash=True)(kind)


# -- commands -------------------------------------------------------------------------------------


class LayTile(NamedTuple):
    """Lay the tile just drawn at an outer position, 1 to 6, turned 0 to 5 (R3.3)."""

    seat: Seat
    position: int
    orientation: int


class Place(NamedTuple):
    """Place a piece from the hand on an empty field (R4.1)."""

    seat: Seat
    piece: Piece
    field: Field


Command: TypeAlias = LayTile | Place

# -- set-up ---------------------------------------------------------------------------------------


@fact
class GameStarted:
    """Who plays which peoples, who starts, and what each hand starts with (R3.1, R3.5).

    `peoples` and `hands` are by seat; a seat's first people is its own, and only with two players is there a
    second. No soldier may be left in a hand of `soldierless_at` or fewer pieces (R4.3). `draws` is where
    chance comes from, if that can be checked when the game is over.
    """

    starting: Seat
    peoples: tuple[tuple[People, ...], ...]
    hands: tuple[dict[Piece, int], ...]
    soldierless_at: int
    draws: Draws | None = None


@fact
class CentreTurned:
    """The first tile was turned up in the centre, with orientation 0 (R3.2)."""

    tile: Tile


@fact
class TileDrawn:
    """The seat to move drew a tile for all to see (R3.3)."""

    seat: Seat
    tile: Tile


@fact
class TileLaid:
    """The drawn tile was laid (R3.3)."""

    seat: Seat
    tile: Tile
    position: int
    orientation: int


@fact
class LayoutDrawn:
    """All seven tiles were laid at random, in position order: the table option for quick games."""

    tiles: tuple[LaidTile, ...]


@fact
class LaurelsDealt:
    """Every hill has its laurel; the centre's is Palatinus (R3.2, R3.4)."""

    laurels: dict[Tile, Laurel]


# -- play -----------------------------------------------------------------------------------------


@fact
class Placed:
    """A piece was placed (R4.1). Secret if it has a wolf: other seats get `WolfPlaced`."""

    seat: Seat
    piece: Piece
    field: Field


@fact
class WolfPlaced:
    """What other seats see when a wolf piece is placed: no kind (R4.2)."""

    seat: Seat
    people: People
    field: Field


# -- scoring --------------------------------------------------------------------------------------


@fact
class WolvesRevealed:
    """All wolf pieces were turned up (R5)."""

    pieces: dict[Field, Piece]


@fact
class SoldierFled:
    """The soldier on `field` found as many merchants as farmers beside it and left the game (R5.2)."""

    hill: Tile
    field: Field
    seat: Seat
    merchants: tuple[Field, ...]
    farmers: tuple[Field, ...]


@fact
class Captured:
    """The soldier on `field` captured the larger group beside it (R5.3).

    `taken` left the board for the soldier's owner; `shared` went to another captor, and the owner
    took a 1-point disc for each (R5.5, R9.9).
    """

    hill: Tile
    field: Field
    seat: Seat
    merchants: tuple[Field, ...]
    farmers: tuple[Field, ...]
    taken: tuple[Field, ...]
    shared: tuple[Field, ...]


class Why(enum.StrEnum):
    """What earns influence (R6.2, R6.3)."""

    MERCHANT = "merchant"
    FARMER = "farmer"
    SOLDIER = "soldier"
    EMPTY = "empty"
    SPRING = "spring"
    OWN_SPRING = "own-spring"


class Term(NamedTuple):
    """One amount of influence and the field it came from; a tuple, because a scoring has many."""

    why: Why
    field: Field
    amount: int


class Influence(NamedTuple):
    """What one piece on the hill gives its owner, term by term (R6.1 to R6.3)."""

    field: Field
    seat: Seat
    kind: Kind
    terms: tuple[Term, ...]

    @property
    def amount(self) -> int:
        return sum([term.amount for term in self.terms])


@fact
class HillScored:
    """The control of a hill was settled (R6.5).

    `influence` holds totals by seat. A single leader takes the laurel; of several, each takes a 2-point disc.
    With several or none, the laurel is discarded.
    """

    hill: Tile
    laurel: Laurel
    pieces: tuple[Influence, ...]
    influence: tuple[int, ...]
    leaders: tuple[Seat, ...]


@fact
class Tally:
    """A seat's sources of points (R7.1) and its count of items (R7.2)."""

    captives: int
    ones: int
    twos: int
    laurels: tuple[Laurel, ...]
    points: int
    items: int


class DecidedBy(enum.StrEnum):
    """What decided the game (R7.2, R7.3)."""

    POINTS = "points"
    ITEMS = "items"
    NOTHING = "nothing"


@fact
class GameEnded:
    """The result, by seat; several winners share the victory (R7).

    `seed` is the one that the game's `draws` were committed to.
    """

    tallies: tuple[Tally, ...]
    winners: tuple[Seat, ...]
    decided_by: DecidedBy
    seed: Bytes32 | None = None


@fact
class TakenBack:
    """The seat's last placement was taken back, with all that followed it.

    The pieces on `fields`, the latest first, are in their owners' hands again, and it is the seat's turn.
    """

    seat: Seat
    fields: tuple[Field, ...]


ScoringEvent: TypeAlias = WolvesRevealed | SoldierFled | Captured | HillScored | GameEnded
PublicEvent: TypeAlias = (
    GameStarted | CentreTurned | TileDrawn | TileLaid | LayoutDrawn | LaurelsDealt | TakenBack | ScoringEvent
)
Event: TypeAlias = PublicEvent | Placed
SeenEvent: TypeAlias = Event | WolfPlaced


E = TypeVar("E", bound=SeenEvent)


def lasting(events: Iterable[E]) -> list[E]:
    """Return the events without moves that were taken back, which are always the latest."""
    found: list[E] = []
    for event in events:
        if isinstance(event, TakenBack):
            del found[-len(event.fields) :]
        else:
            found.append(event)
    return found


def stops(events: Sequence[SeenEvent]) -> tuple[int, ...]:
    """Return after how many of these events, which are lasting, so many moves have been made; at last, all.

    A move is a tile laid or a piece placed. In a finished game, the scoring follows the last one.
    """
    moves = TileLaid | Placed | WolfPlaced | WolvesRevealed
    return (*(at for at, event in enumerate(events) if isinstance(event, moves)), len(events))
