"""What a seat sees, as arrays: planes over the board, and the mask of its legal actions.

All of it is made from the seat's own view, the one that `engine.redaction` leaves, so it holds nothing that
the seat may not know.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from engine.board import HILLS, TILES, Field, LaidTile, Tile, fields_of, has_spring
from engine.components import LAUREL_WORTH, Laurel
from engine.events import Placed, SeenEvent, WolfPlaced
from engine.legal import Legal
from engine.pieces import FACES, People, Piece, Seat
from engine.redaction import redacted_legal
from engine.view import Phase, View
from environment.actions import Mask, mask_of
from environment.cells import PLACES, SIZE, fields_on, place_of
from environment.planes import KINDS, SECOND, planes_of, seen_face

Board: TypeAlias = NDArray[np.int8]

_GROUND: Final = 9  # the planes that do not depend on pieces: spring, laurel, and seven tiles


class Observation(TypedDict):
    """What PettingZoo's agents get: planes in the shape (9, 9, planes), and which actions are legal."""

    observation: Board
    action_mask: Mask


def observed(view: View, legal: Legal | None) -> Observation:
    """Return the observation of the one seat whose view this is; `legal` is what the seat to move may do.

    Raises ValueError for the view of several seats, or of none.
    """
    return Observer(view).observation(legal)


class Observer:
    """What one seat has seen of a game: its view, and the planes, which change with every piece."""

    def __init__(self, view: View) -> None:
        """Begin with the seat's view, which only `fold` may change from now on.

        Raises ValueError for the view of several seats, or of none.
        """
        if len(view.eyes) != 1:
            raise ValueError(f"One seat observes, and this is the view of {len(view.eyes)}.")
        (self._seat,) = view.eyes
        self._view = view
        self._planes = planes_of(view.seats)
        self._seating = _seating(view.start.peoples, self._seat)
        self._draw()

    def fold(self, event: SeenEvent) -> None:
        """Fold in the next event, redacted for this seat."""
        self._view.fold(event)
        if not isinstance(event, Placed | WolfPlaced):
            self._stale = True
        elif not self._stale:
            self._put(event.field, len(self._view.placed))

    def observation(self, legal: Legal | None) -> Observation:
        """Return what the seat sees now; its mask is empty while others are to move."""
        if self._stale:
            self._draw()
        board = self._board.copy()
        board[:, self._planes.first_even :] = self._even()
        return {
            "observation": board.reshape(SIZE, SIZE, -1),
            "action_mask": mask_of(self._view, redacted_legal(legal, self._view.eyes)),
        }

    def _draw(self) -> None:
        view = self._view
        self._stale = False
        self._cells = fields_on(view.tiles).cells
        self._board = np.zeros((SIZE * SIZE, len(self._planes.most)), np.int8)
        self._board[:, :_GROUND] = _ground(view.tiles, tuple(view.laurels.items()))
        self._left = list(self._seating.dealt)
        for number, field in enumerate(view.placed, start=1):
            self._put(field, number)

    def _put(self, field: Field, number: int) -> None:
        piece = self._view.placed[field]
        planes = self._board[PLACES[self._cells[field]]]
        planes[self._planes.index["placed"]] = number
        for plane in self._seating.ones[piece]:
            planes[plane] = 1
        self._left[self._seating.seen_as[piece]] -= 1

    def _even(self) -> list[int]:
        """Return the numbers of the planes that have one number everywhere."""
        view = self._view
        hand = view.hands.get(self._seat, {})
        turn = None if view.turn is None else (view.turn - self._seat) % view.seats
        return [
            view.phase is Phase.LAYING,
            *[view.drawn == tile for tile in TILES],
            *[away == turn for away in range(view.seats)],
            *[hand.get(piece, 0) for piece in self._seating.hand],
            *self._left,
        ]


@functools.lru_cache(maxsize=64)
def _ground(tiles: tuple[LaidTile | None, ...], laurels: tuple[tuple[Tile, Laurel], ...]) -> Board:
    """Return the planes of the tiles and laurels; those of a hill are on its hex and on its fields."""
    ground = np.zeros((SIZE * SIZE, _GROUND), np.int8)
    worths = {tile: LAUREL_WORTH[laurel] for tile, laurel in laurels}
    cells = fields_on(tiles).cells
    index = planes_of(2).index  # these planes are the first, and the same for any number of players
    for hill, laid in zip(HILLS, tiles, strict=True):
        if laid is None:
            continue
        fields = fields_of(laid.tile)
        places = [place_of(hill), *[PLACES[cells[field]] for field in fields]]
        ground[places, index[f"tile {laid.tile}"]] = 1
        ground[places, index["laurel"]] = worths.get(laid.tile, 0)
        springs = [PLACES[cells[field]] for field in fields if has_spring(field)]
        ground[springs, index["spring"]] = 1
    return ground


@dataclass(frozen=True, slots=True)
class _Seating:
    """What the notation of pieces means to one seat.

    By piece or hidden wolf: the planes in which it is a 1, and which of the numbers in `dealt` it is
    one of. `dealt` has what is to be placed as everybody sees it, `hand` the order of the observer's hand.
    """

    ones: Mapping[str, tuple[int, ...]]
    seen_as: Mapping[str, int]
    dealt: tuple[int, ...]
    hand: tuple[Piece, ...]


@functools.lru_cache(maxsize=256)
def _seating(peoples: tuple[tuple[People, ...], ...], observer: Seat) -> _Seating:
    players = len(peoples)
    planes = planes_of(players)
    first_left = next(plane for name, plane in planes.index.items() if name.startswith("left "))
    ones, seen_as, hand = {}, {}, []
    for away in range(players):
        for order, people in enumerate(peoples[(observer + away) % players]):
            prefix = SECOND if order else ""
            of_people = [planes.index["second people"]] if order else []
            wolf = planes.index[f"wolf of {away}"]
            for face in FACES:
                kind = planes.index[f"{KINDS[Piece(people + face).kind]} of {away}"]
                ones[people + face] = (kind, *([wolf] if face.endswith("*") else []), *of_people)
                name = f"left {prefix}{seen_face(face)} of {away}"
                if name in planes.index:  # nobody has soldiers of a second people
                    seen_as[people + face] = planes.index[name] - first_left
                if away == 0 and f"hand {prefix}{face}" in planes.index:
                    hand.append(Piece(people + face))
            ones[f"{people}*"] = (wolf, *of_people)
            seen_as[f"{people}*"] = seen_as[f"{people}m*"]
    return _Seating(ones, seen_as, tuple(planes.most.values())[first_left:], tuple(hand))
