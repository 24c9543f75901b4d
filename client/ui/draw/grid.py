"""Where the board's 49 hexes are on the screen, and the lines between them (R2).

A hex has straight sides and, where there is room, slopes above and below that are drawn as steps:

    ┃         ┃
    ┗━━┓   ┏━━┛
       ┗━┳━┛
         ┃
"""

import functools
import itertools
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from client.ui.at_table import HEX_POSITIONS
from engine.board import DIRECTIONS, Hex

_ROWS: Final = 9
_COLUMNS: Final = 8  # a row has up to eight hexes, counting the offset of half a hex
_TOP: Final = -min(r for _, r in HEX_POSITIONS)
_LEFT: Final = -min(2 * q + r for q, r in HEX_POSITIONS)

Point: TypeAlias = tuple[int, int]  # column, line


@dataclass(frozen=True, slots=True)
class Scale:
    """How large a hex is drawn: cells from side to side, lines of slope, lines between straight sides."""

    across: int
    slope: int
    body: int

    @property
    def pitch(self) -> int:
        return self.slope + self.body + 1

    @property
    def width(self) -> int:
        return _COLUMNS * self.across + 1

    @property
    def height(self) -> int:
        return _ROWS * self.pitch + self.slope + 1

    @property
    def step(self) -> int:
        """Return the position of the step in half a slope."""
        return (self.across // 2 + 1) // 2

    def corner(self, cell: Hex) -> Point:
        """Return the left upper corner of the box around `cell`."""
        q, r = cell
        return (2 * q + r + _LEFT) * (self.across // 2), (r + _TOP) * self.pitch

    def body_of(self, cell: Hex) -> Point:
        """Return the left end of the first line between the hex's straight sides."""
        column, line = self.corner(cell)
        return column + 1, line + self.slope + 1


SMALL: Final = Scale(across=6, slope=0, body=1)
MEDIUM: Final = Scale(across=8, slope=1, body=1)
LARGE: Final = Scale(across=10, slope=1, body=2)
HUGE: Final = Scale(across=14, slope=1, body=3)

NONE, FAINT, STRONG = range(3)  # how strong a line is: inside a tile and between tiles

Strokes: TypeAlias = dict[Point, int]  # the strength of the stroke that begins at a point


def _box_characters() -> dict[tuple[int, int, int, int], str]:
    """Return Unicode's box characters by the strengths of their arms: up, down, left, right."""
    arms = {"UP": (0,), "DOWN": (1,), "LEFT": (2,), "RIGHT": (3,), "VERTICAL": (0, 1), "HORIZONTAL": (2, 3)}
    weights = {"LIGHT": FAINT, "HEAVY": STRONG}
    found: dict[tuple[int, int, int, int], str] = {}
    for code in range(0x2500, 0x2580):
        words = unicodedata.name(chr(code)).removeprefix("BOX DRAWINGS ").split()
        if not {*words} <= {*arms, *weights, "AND"}:
            continue  # double, dashed and curved lines
        strengths = [NONE] * 4
        for part in " ".join(words).split(" AND "):
            named = [word for word in part.split() if word in weights]
            weight = weights[named[0] if named else words[0]]
            for arm in (arm for word in part.split() for arm in arms.get(word, ())):
                strengths[arm] = weight
        found[strengths[0], strengths[1], strengths[2], strengths[3]] = chr(code)
    return found


_BOXES: Final = _box_characters()
_DOTTED: Final = {(FAINT, FAINT, NONE, NONE): "┊", (NONE, NONE, FAINT, FAINT): "┈"}


def _sides(scale: Scale, cell: Hex) -> Iterator[tuple[Hex, list[Point]]]:
    """Yield each direction with the corners of the path that is drawn on that side of the hex."""
    left, top = scale.corner(cell)
    half, step, slope = scale.across // 2, scale.step, scale.slope
    middle, right = left + half, left + scale.across
    shoulder, foot = top + slope, top + scale.pitch
    bottom = foot + slope
    east, southeast, southwest, west, northwest, northeast = DIRECTIONS
    yield east, [(right, shoulder), (right, foot)]
    yield west, [(left, shoulder), (left, foot)]
    for direction, side, inward in ((northwest, left, step), (northeast, right, -step)):
        bend = side + inward
        yield direction, [(side, shoulder), (bend, shoulder), (bend, top), (middle, top)]
    for direction, side, inward in ((southwest, left, half - step), (southeast, right, step - half)):
        bend = side + inward
        yield direction, [(side, foot), (bend, foot), (bend, bottom), (middle, bottom)]


def _strength(laid: frozenset[int], cell: Hex, beside: Hex) -> int:
    here, there = HEX_POSITIONS[cell], HEX_POSITIONS.get(beside)
    if here == there:
        return FAINT if here in laid else NONE
    return STRONG if here in laid or there in laid else FAINT


def _path(corners: Iterable[Point]) -> Iterator[Point]:
    """Yield the points that lines from corner to corner touch."""
    for (x0, y0), (x1, y1) in itertools.pairwise(corners):
        yield from ((x, y0) for x in range(min(x0, x1), max(x0, x1) + 1))
        yield from ((x0, y) for y in range(min(y0, y1), max(y0, y1) + 1))


def rim(scale: Scale, cell: Hex) -> frozenset[Point]:
    """Return the points of the lines around the hex."""
    return frozenset(point for _, corners in _sides(scale, cell) for point in _path(corners))


@functools.lru_cache(maxsize=8)
def grounds(scale: Scale) -> Mapping[Point, int]:
    """Return the position of the tile that covers each point; the lines around a tile do not belong to it."""
    owners: defaultdict[Point, set[int | None]] = defaultdict(set)
    for cell, position in HEX_POSITIONS.items():
        for (dq, dr), corners in _sides(scale, cell):
            beside = HEX_POSITIONS.get((cell[0] + dq, cell[1] + dr))
            for point in _path(corners):
                owners[point].update((position, beside))
        x, y = scale.body_of(cell)
        for row in range(-scale.slope, scale.body + scale.slope):
            inward = 0 if 0 <= row < scale.body else scale.step if row < 0 else scale.across // 2 - scale.step
            for column in range(x + inward, x + scale.across - 1 - inward):
                owners[column, y + row].add(position)
    return {
        point: position
        for point, found in owners.items()
        for position in found
        if found == {position} and position is not None
    }


@functools.lru_cache(maxsize=64)
def borders(scale: Scale, laid: frozenset[int], *, ascii_only: bool) -> Mapping[Point, tuple[str, bool]]:
    """Return the characters of all lines, and whether each is strong, with tiles laid at these positions."""
    across: Strokes = {}
    down: Strokes = {}
    for cell in HEX_POSITIONS:
        for (dq, dr), corners in _sides(scale, cell):
            strength = _strength(laid, cell, (cell[0] + dq, cell[1] + dr))
            for (x0, y0), (x1, y1) in itertools.pairwise(corners):
                for x in range(min(x0, x1), max(x0, x1)):
                    across[x, y0] = strength
                for y in range(min(y0, y1), max(y0, y1)):
                    down[x0, y] = strength
    drawn: dict[Point, tuple[str, bool]] = {}
    for y in range(scale.height):
        for x in range(scale.width):
            arms = (
                down.get((x, y - 1), NONE),
                down.get((x, y), NONE),
                across.get((x - 1, y), NONE),
                across.get((x, y), NONE),
            )
            if any(arms):
                character = _typed(arms, x) if ascii_only else _DOTTED.get(arms) or _BOXES[arms]
                drawn[x, y] = character, STRONG in arms
    return drawn


def _typed(arms: tuple[int, int, int, int], column: int) -> str:
    """Return the ASCII character for a line; faint ones are dotted."""
    strong = STRONG in arms
    if arms[0] == arms[1] == NONE:
        return "-" if strong else "." if column % 2 else " "
    if arms[2] == arms[3] == NONE:
        return "|" if strong else ":"
    return "+" if strong else "."
