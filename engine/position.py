"""A game's placing phase for searching: the lean twin of `engine.game`, without events.

Neither a wolf nor, with two players, a piece's people changes what may be placed or what it scores, so pieces
differ by kind alone.
"""

import functools
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self, TypeAlias

from engine.board import FIELDS
from engine.components import DEALS
from engine.pieces import Kind, Piece, Seat
from engine.terrain import (
    EMPTY,
    Occupant,
    PackedScore,
    Scores,
    Terrain,
    occupant,
    occupants_of,
    terrain_of,
    unpacked,
)
from engine.view import Phase, View

NextDraws: TypeAlias = tuple[tuple[Occupant, "NextDraws"], ...]

_DRAWS: Final = 6  # one, two or three kinds all divide it
_BITS: Final = 30  # the largest integers that Python handles fast; no choice is biased by more than 2**-20
_ROUNDS: Final = {seats: tuple(range(seats)) * (len(FIELDS) // seats + 1) for seats in DEALS}


@dataclass(frozen=True, slots=True, eq=False)
class Hand:
    """The pieces that a seat has yet to place; equal hands of a seat are the same object.

    `after` maps the kinds that may be placed to the hands they leave (R4.3). `draws` is the same for
    playouts: six equally likely pieces, each with the draws that follow.
    """

    counts: tuple[int, int, int]  # merchants, farmers, soldiers
    # All hands to come, too many to print.
    after: Mapping[Kind, "Hand"] = field(repr=False)
    draws: NextDraws = field(repr=False)


def hand_of(seat: int, pieces: Mapping[Piece, int], soldierless_at: int) -> Hand:
    """Return the seat's hand of these pieces."""
    counts = Counter[Kind]()
    for piece, count in pieces.items():
        counts[piece.kind] += count
    return hand_of_kinds(
        seat, counts[Kind.MERCHANT], counts[Kind.FARMER], counts[Kind.SOLDIER], soldierless_at
    )


@functools.cache
def hand_of_kinds(seat: int, merchants: int, farmers: int, soldiers: int, soldierless_at: int) -> Hand:
    """Return the seat's hand with these counts of each kind."""
    after = {}
    if soldiers == 0 or merchants + farmers > soldierless_at:  # else a soldier is due (R4.3)
        if merchants:
            after[Kind.MERCHANT] = hand_of_kinds(seat, merchants - 1, farmers, soldiers, soldierless_at)
        if farmers:
            after[Kind.FARMER] = hand_of_kinds(seat, merchants, farmers - 1, soldiers, soldierless_at)
    if soldiers:
        after[Kind.SOLDIER] = hand_of_kinds(seat, merchants, farmers, soldiers - 1, soldierless_at)
    draws = tuple((occupant(seat, kind), hand.draws) for kind, hand in after.items())
    return Hand((merchants, farmers, soldiers), after, draws * (_DRAWS // max(1, len(draws))))


class Position:
    """A moment of the placing phase, all hands known.

    Fields are numbers, 0 to 41 in the order of `FIELDS`; `free` holds the empty ones, in order.
    """

    __slots__ = ("board", "free", "hands", "left", "terrain", "turn")

    def __init__(self, terrain: Terrain, turn: int, board: list[Occupant], hands: list[Hand]) -> None:
        self.terrain = terrain
        self.turn = turn
        self.board = board
        self.hands = hands
        self.free = [number for number, found in enumerate(board) if found == EMPTY]
        self.left = sum(sum(hand.counts) for hand in hands)

    @classmethod
    def of(cls, view: View) -> Self:
        """Return the position of a game in the placing phase.

        Raises ValueError in another phase, or if the view does not know all hands and all pieces.
        """
        if view.phase is not Phase.PLACING or view.turn is None:
            raise ValueError("a position is a moment at which pieces are placed")
        known = {field: piece for field, piece in view.placed.items() if isinstance(piece, Piece)}
        if len(view.hands) < view.seats or len(known) < len(view.placed):
            raise ValueError("a position needs to know all hands and all pieces")
        deadline = view.start.soldierless_at
        hands = [hand_of(seat, view.hands[Seat(seat)], deadline) for seat in range(view.seats)]
        terrain = terrain_of(view.tiles, view.laurels)
        return cls(terrain, view.turn, occupants_of(known, view.owners), hands)

    def copy(self) -> "Position":
        twin = Position.__new__(Position)
        twin.terrain = self.terrain
        twin.turn = self.turn
        twin.board = self.board.copy()
        twin.hands = self.hands.copy()
        twin.free = self.free.copy()
        twin.left = self.left
        return twin

    @property
    def over(self) -> bool:
        return self.left == 0

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Return the kinds that the seat whose turn it is may place, on any `free` field (R4.1, R4.3)."""
        return tuple(self.hands[self.turn].after)

    def play(self, kind: Kind, on: int) -> None:
        """Place a piece of the seat on turn.

        Raises KeyError for a kind that may not be placed, ValueError for a field that is not free.
        """
        hand = self.hands[self.turn].after[kind]
        self.free.remove(on)
        self.board[on] = occupant(self.turn, kind)
        self.hands[self.turn] = hand
        self.turn = (self.turn + 1) % len(self.hands)
        self.left -= 1

    def scores(self) -> Scores:
        """Return the result if the game ended with the board as it is (R5 to R7)."""
        return unpacked(self.terrain.packed_scores(self.board.copy(), len(self.hands)))


def playout(position: Position, rng: random.Random) -> list[PackedScore]:
    """Play random legal moves to the end and return the seats' scores, packed: `unpacked` reads them.

    A move is equally likely to be any pair of a legal kind and a free field. `position` does not change.
    """
    return position.terrain.packed_scores(fill_board(position, rng), len(position.hands))


def fill_board(position: Position, rng: random.Random) -> list[Occupant]:
    """Return the board after random legal moves to the end, before scoring."""
    bits = rng.getrandbits
    board = position.board.copy()
    free = position.free.copy()
    hands = [hand.draws for hand in position.hands]
    count = len(free)
    for seat in _ROUNDS[len(hands)][position.turn : position.turn + position.left]:
        chance = bits(_BITS)  # one number decides both: its remainder the field, its quotient the kind
        index = chance % count
        board[free[index]], hands[seat] = hands[seat][chance // count % _DRAWS]
        count -= 1
        free[index] = free[count]
    return board
