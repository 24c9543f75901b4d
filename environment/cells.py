"""Where the fields are: cells have numbers and places in the observation that do not depend on the tiles.

Cell 6 * p + d is beside the hill at tile position p, in direction d of the engine's list (R2.1, R2.2). Every
layout has its fields on these 42 cells, so which of them are adjacent never changes.
"""

import functools
from dataclasses import dataclass
from typing import Final

from engine.board import HILLS, ORIENTATIONS, Field, Hex, LaidTile, fields_of, neighbours

SIZE: Final = 9  # rows, and columns
CELLS: Final = tuple(cell for hill in HILLS for cell in neighbours(hill))


def place_of(cell: Hex) -> int:
    """Return where a hex is in an observation: 9 * row + column, the middle of the board in its middle."""
    q, r = cell
    return SIZE * (r + SIZE // 2) + q + SIZE // 2


PLACES: Final = tuple(place_of(cell) for cell in CELLS)


@dataclass(frozen=True, slots=True)
class Fields:
    """The field in each cell, None where no tile is, and the cell of each field."""

    by_cell: tuple[Field | None, ...]
    cells: dict[Field, int]


@functools.lru_cache(maxsize=256)
def fields_on(tiles: tuple[LaidTile | None, ...]) -> Fields:
    """Return where the fields of these tiles are; callers share it."""
    by_cell: list[Field | None] = [None] * len(CELLS)
    for position, laid in enumerate(tiles):
        if laid is not None:
            for number, field in enumerate(fields_of(laid.tile)):
                by_cell[6 * position + (laid.orientation + number) % len(ORIENTATIONS)] = field
    return Fields(tuple(by_cell), {field: cell for cell, field in enumerate(by_cell) if field})
