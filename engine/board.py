"""The board's geometry in axial coordinates: hexes, tiles, fields and what is adjacent (R2)."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NewType

from engine.components import SPRINGS

Hex = tuple[int, int]  # axial (q, r), pointy-top, r growing downward (R2.1)
Tile = NewType("Tile", str)  # a letter, A to G
Field = NewType("Field", str)  # tile letter and number: C4 (R2.4)

DIRECTIONS: Final = ((1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1))  # clockwise from east (R2.1)
TILES: Final = tuple(Tile(letter) for letter in SPRINGS)
FIELDS: Final = tuple(Field(f"{tile}{number}") for tile in TILES for number in range(1, 7))
_FIELDS_OF: Final = {tile: tuple(field for field in FIELDS if field[0] == tile) for tile in TILES}
_WITH_SPRING: Final = frozenset(field for field in FIELDS if int(field[1]) in SPRINGS[field[0]])
CENTRE: Final = 0
OUTER_POSITIONS: Final = range(1, 7)
ORIENTATIONS: Final = range(6)


def rotated(cell: Hex, turns: int) -> Hex:
    """Return `cell` turned clockwise about the origin by `turns` times 60 degrees (R2.1)."""
    q, r = cell
    for _ in range(turns % 6):
        q, r = -r, q + r
    return q, r


def neighbours(cell: Hex) -> tuple[Hex, ...]:
    """Return the six hexes around `cell`, clockwise from east (R2.1)."""
    q, r = cell
    return tuple((q + dq, r + dr) for dq, dr in DIRECTIONS)


HILLS: Final = ((0, 0), *(rotated((2, 1), turns) for turns in range(6)))  # by tile position (R2.2)
_AROUND_HILL: Final = tuple(neighbours(hill) for hill in HILLS)
_FIELD_HEXES: Final = frozenset(cell for around in _AROUND_HILL for cell in around)
# Every layout has its fields on the same 42 hexes, so which of them are adjacent is worked out once.
_AROUND: Final = {
    cell: tuple(beside for beside in neighbours(cell) if beside in _FIELD_HEXES) for cell in _FIELD_HEXES
}


def bordering(position: int) -> tuple[int, ...]:
    """Return the outer positions that border the outer `position` (R2.2)."""
    return (position - 2) % 6 + 1, position % 6 + 1


def field_hex(position: int, orientation: int, number: int) -> Hex:
    """Return the hex of field `number` (1 to 6) of a tile laid at `position` (R2.3)."""
    return _AROUND_HILL[position][(orientation + number - 1) % 6]


def tile_of(field: Field) -> Tile:
    return Tile(field[0])


def fields_of(tile: Tile) -> tuple[Field, ...]:
    """Return the six fields around the tile's hill, clockwise from the arrow (R2.3)."""
    return _FIELDS_OF[tile]


def has_spring(field: Field) -> bool:
    return field in _WITH_SPRING


@dataclass(frozen=True, slots=True)
class LaidTile:
    """A tile and its orientation, 0 to 5 (R2.3)."""

    tile: Tile
    orientation: int


class Layout:
    """Where the laid tiles put their hills and fields, and which fields are adjacent.

    `tiles` maps positions (0 to 6) to laid tiles; it may hold fewer than seven during set-up.
    """

    def __init__(self, tiles: Sequence[LaidTile | None]) -> None:
        self.tiles = tuple(tiles)
        self.hills: dict[Tile, Hex] = {}
        self.fields: dict[Hex, Field] = {}
        for position, laid in enumerate(self.tiles):
            if laid is not None:
                self.hills[laid.tile] = HILLS[position]
                for number, field in enumerate(fields_of(laid.tile), start=1):
                    self.fields[field_hex(position, laid.orientation, number)] = field
        self.hexes: dict[Field, Hex] = {field: cell for cell, field in self.fields.items()}
        fields = self.fields
        self._adjacent = {
            field: tuple([fields[beside] for beside in _AROUND[cell] if beside in fields])
            for cell, field in fields.items()
        }

    def adjacent(self, field: Field) -> tuple[Field, ...]:
        """Return the fields that share a side with `field`, clockwise from east (R2.5)."""
        return self._adjacent[field]


@functools.lru_cache(maxsize=256)
def layout_of(tiles: tuple[LaidTile | None, ...]) -> Layout:
    """Return the layout of `tiles`; callers share it."""
    return Layout(tiles)
