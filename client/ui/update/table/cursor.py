"""The hexes that the cursor can be on, and where it moves."""

from collections.abc import Mapping
from typing import Final

from client.ui.update.actions import Way
from engine.board import HILLS, Hex, neighbours

HEX_POSITIONS: Final[Mapping[Hex, int]] = {
    cell: position for position, hill in enumerate(HILLS) for cell in (hill, *neighbours(hill))
}


def moved(cell: Hex, way: Way) -> Hex:
    """Return the hex that `way` leads to; the same hex at the edge of the board."""
    q, r = cell
    if isinstance(way.value, tuple):
        ways: tuple[tuple[int, int], ...] = (way.value,)
    else:
        # Up and down a column of hexes the way zigzags, and at the edge takes whichever side there is.
        steps = ((1, -1), (0, -1)) if way is Way.UP else ((0, 1), (-1, 1))
        ways = steps if r % 2 == 0 else steps[::-1]
    for dq, dr in ways:
        if (q + dq, r + dr) in HEX_POSITIONS:
            return q + dq, r + dr
    return cell
