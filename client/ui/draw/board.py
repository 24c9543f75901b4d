"""The board: the positions of hexes at each scale, and how to draw them.

A hex has straight sides and, where there is room, slopes above and below that are drawn as steps:

    ┃         ┃
    ┗━━┓   ┏━━┛
       ┗━┳━┛
         ┃
"""

import functools
import itertools
import operator
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from prompt_toolkit.utils import get_cwidth

from client.ui.at_table import HEX_POSITIONS
from client.ui.frame import Fragment, Line, people_style, plain
from client.ui.keys import PointAt
from client.ui.spots import UNMARKED, FieldSpot, HillSpot, Marks, OpenSpot, spots
from client.ui.texts.glyphs import ASCII, UNICODE, GlyphSet
from client.ui.texts.pieces import board_word, board_words, piece_sign
from engine.board import DIRECTIONS, HILLS, Hex, Tile
from engine.components import Laurel
from engine.pieces import Piece, Wolf
from engine.view import View

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

_LONGEST_HILL: Final = max(len(laurel.value) for laurel in Laurel)

NONE, FAINT, STRONG = range(3)  # how strong a line is: inside a tile and between tiles


# Unicode's box characters, in the order of the strengths of their arms: up, down, left, right.
_CHARACTERS: Final = " ╶╺╴─╼╸╾━╷┌┍┐┬┮┑┭┯╻┎┏┒┰┲┓┱┳╵└┕┘┴┶┙┵┷│├┝┤┼┾┥┽┿╽┟┢┧╁╆┪╅╈╹┖┗┚┸┺┛┹┻╿┞┡┦╀╄┩╃╇┃┠┣┨╂╊┫╉╋"
_BOXES: Final = dict(zip(itertools.product((NONE, FAINT, STRONG), repeat=4), _CHARACTERS, strict=True))
_DOTTED: Final[dict[tuple[int, ...], str]] = {
    (FAINT, FAINT, NONE, NONE): "┊",
    (NONE, NONE, FAINT, FAINT): "┈",
}


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
    for (x0, y0), (x1, y1) in itertools.pairwise(corners):
        yield from ((x, y0) for x in range(min(x0, x1), max(x0, x1) + 1))
        yield from ((x0, y) for y in range(min(y0, y1), max(y0, y1) + 1))


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
    arms: defaultdict[Point, list[int]] = defaultdict(lambda: [NONE] * 4)  # up, down, left, right
    for cell in HEX_POSITIONS:
        for (dq, dr), corners in _sides(scale, cell):
            strength = _strength(laid, cell, (cell[0] + dq, cell[1] + dr))
            for (x0, y0), (x1, y1) in itertools.pairwise(corners):
                for x in range(min(x0, x1), max(x0, x1)):
                    arms[x, y0][3] = arms[x + 1, y0][2] = strength
                for y in range(min(y0, y1), max(y0, y1)):
                    arms[x0, y][1] = arms[x0, y + 1][0] = strength
    drawn: dict[Point, tuple[str, bool]] = {}
    for (x, y), strengths in arms.items():
        if any(here := tuple(strengths)):
            character = _in_ascii(here, x) if ascii_only else _DOTTED.get(here) or _BOXES[here]
            drawn[x, y] = character, STRONG in here
    return drawn


def _in_ascii(arms: tuple[int, ...], column: int) -> str:
    """Return the ASCII character for a line; faint ones are dotted."""
    strong = STRONG in arms
    if arms[0] == arms[1] == NONE:
        return "-" if strong else "." if column % 2 else " "
    if arms[2] == arms[3] == NONE:
        return "|" if strong else ":"
    return "+" if strong else "."


def board_text(view: View, *, marks: Marks = UNMARKED, ascii_only: bool = False, scale: Scale = SMALL) -> str:
    """Return the board as plain text, without trailing spaces."""
    drawn = drawn_board(view, marks, ASCII if ascii_only else UNICODE, scale)
    return "\n".join(plain(content).rstrip() for content in drawn)


def drawn_board(view: View, marks: Marks, glyphs: GlyphSet, scale: Scale) -> list[Line]:
    return _Drawing(view, marks, glyphs, scale).lines()


@functools.lru_cache(maxsize=32)
def _canvas(
    tiles: tuple[Tile | None, ...], scale: Scale, *, ascii_only: bool
) -> tuple[tuple[Fragment, ...], ...]:
    """Return the cells of the empty board: the lines, and the tiles' backgrounds."""
    laid = frozenset(position for position, tile in enumerate(tiles) if tile is not None)
    lines, covered = borders(scale, laid, ascii_only=ascii_only), grounds(scale)
    points = {
        (column + x, top + y): PointAt(cell)
        for cell in HEX_POSITIONS
        for column, top in [scale.body_of(cell)]
        for x in range(scale.across - 1)
        for y in range(scale.body)
    }

    def cell(x: int, y: int) -> Fragment:
        character, strong = lines.get((x, y), (" ", False))
        tile = tiles[covered[x, y]] if (x, y) in covered else None
        if tile is not None:
            return f"class:tile-{tile.lower()} class:inner", character, points.get((x, y))
        style = "" if character == " " else "class:strong" if strong else "class:faint"
        return style, character, points.get((x, y))

    return tuple(tuple(cell(x, y) for x in range(scale.width)) for y in range(scale.height))


class _Drawing:
    def __init__(self, view: View, marks: Marks, glyphs: GlyphSet, scale: Scale) -> None:
        self._spots, self._glyphs, self._scale = spots(view, marks), glyphs, scale
        hills = (self._spots[hill] for hill in HILLS)
        tiles = tuple(hill.tile if isinstance(hill, HillSpot) else None for hill in hills)
        longest = max(get_cwidth(word) for word in board_words())
        self._in_words = scale.body > 1 and longest < scale.across
        self._rows = [list(row) for row in _canvas(tiles, scale, ascii_only=glyphs.ascii)]

    def lines(self) -> list[Line]:
        for cell, spot in self._spots.items():
            match spot:
                case FieldSpot():
                    self._draw_field(cell, spot)
                case HillSpot():
                    self._draw_hill(cell, spot)
                case OpenSpot(middle=True):
                    text, style = (f"[{spot.position}]", "mine") if spot.free else (str(spot.position), "off")
                    self._put_centred(cell, 0, text, f"class:{style}")
        for cell, spot in self._spots.items():
            if spot.pointed_at:
                self._draw_cursor(cell)
        return [
            tuple(
                (style, "".join(map(operator.itemgetter(1), run)), action)
                for (style, action), run in itertools.groupby(row, key=operator.itemgetter(0, 2))
            )
            for row in self._rows
        ]

    def _put(self, point: Point, text: str, style: str) -> None:
        """Write `text`, on the tile's background unless `style` has its own."""
        row = self._rows[point[1]]
        for at, character in enumerate(text, start=point[0]):
            before, _character, action = row[at]
            ground = before.partition(" ")[0]
            under = f"{ground} " if ground.startswith("class:tile-") else ""
            row[at] = f"{under}{style}", character, action

    def _put_centred(self, cell: Hex, row: int, text: str, style: str) -> None:
        """Write `text` in the middle of the hex, `row` lines below the first one of its body."""
        column, line = self._scale.body_of(cell)
        room = self._scale.across - 1
        self._put((column + (room - len(text) + 1) // 2, line + row), text, style)

    def _draw_field(self, cell: Hex, spot: FieldSpot) -> None:
        piece = spot.piece
        style = "class:open" if piece is None else people_style(piece.people)
        if spot.on_trial:
            style = "class:ghost"
        elif piece is not None and spot.recent:
            style += " class:last-piece"
        text = str(spot.name) if piece is None else piece_sign(piece)
        left, left_style = self._sign_of(spot)
        spring = self._glyphs.spring if spot.spring else ""
        if self._scale.slope == 0:
            self._draw_tight(cell, (left, left_style), (text, style), spot.note, spring)
            return
        self._put_centred(cell, -1, left, left_style)
        if piece is not None and self._in_words:
            self._draw_in_words(cell, spot, piece, style)
        else:
            self._put_centred(cell, 0, f" {text} " if piece is not None else text, style)
        foot = self._scale.body
        if spot.note:
            self._put_centred(cell, foot, spot.note, "class:note")
        else:
            self._put_centred(cell, foot, spring * 2, "class:spring")
        if piece is not None and self._scale.body > 1 and not self._in_words:
            self._put_centred(cell, 1, str(spot.name), "class:inner")

    def _draw_in_words(self, cell: Hex, spot: FieldSpot, piece: Piece | Wolf, style: str) -> None:
        """Draw what a piece is in a word, and below it whose it is, and the field's name."""
        word = board_word(piece)
        self._put_centred(cell, 0, f" {word} " if get_cwidth(word) < self._scale.across - 2 else word, style)
        named = f"{piece.people} {spot.name}"
        self._put_centred(cell, 1, named, "class:inner")
        column, line = self._scale.body_of(cell)
        self._put((column + (self._scale.across - len(named)) // 2, line + 1), piece.people, style)

    def _draw_tight(
        self, cell: Hex, left: tuple[str, str], middle: tuple[str, str], note: str, spring: str
    ) -> None:
        """Draw a field on one line of five cells: a sign, three for the name or the piece, the spring."""
        x, y = self._scale.body_of(cell)
        self._put((x + 1, y), f"{middle[0]:<3}", middle[1])
        self._put((x, y), left[0], left[1])
        if note:
            self._put((x + 5 - len(note), y), note, "class:note")
        else:
            self._put((x + 4, y), spring, "class:spring")

    def _sign_of(self, spot: FieldSpot) -> tuple[str, str]:
        """Return the sign that matters most: there is room for one."""
        if spot.captive:
            return self._glyphs.captive, "class:note"
        if spot.recent:
            return self._glyphs.last, "class:last"
        return (self._glyphs.arrow, "class:arrow") if spot.arrow else ("", "")

    def _draw_hill(self, cell: Hex, hill: HillSpot) -> None:
        if hill.winner is not None:
            text = f"({hill.tile}:{hill.winner})"
        elif hill.laurel is not None:
            text = f"({hill.tile}={hill.worth})"
        else:
            text = f"({hill.tile}=?)" if hill.on_trial else f"( {hill.tile} )"
        self._put_centred(cell, 0, text, "class:ghost" if hill.on_trial else "class:hill")
        if hill.laurel is not None and self._scale.across > _LONGEST_HILL + 2:
            self._put_centred(cell, 1, hill.laurel.value, "class:inner")

    def _draw_cursor(self, cell: Hex) -> None:
        """Draw the cursor by its shape, the lines around its hex and its colours: each alone is enough."""
        left, right = self._glyphs.cursor
        column, line = self._scale.body_of(cell)
        for x, y in {point for _, corners in _sides(self._scale, cell) for point in _path(corners)}:
            self._rows[y][x] = "class:cursor-edge", self._rows[y][x][1], None
        for row in self._rows[line : line + self._scale.body]:
            row[column - 1] = "class:cursor-edge", left, None
            row[column + self._scale.across - 1] = "class:cursor-edge", right, None
            for x in range(column, column + self._scale.across - 1):
                style, character, action = row[x]
                if "class:people" in style:  # a piece keeps its people's colours
                    row[x] = f"{style} class:cursor-piece", character, action
                elif "class:note" not in style:  # a note stands out already
                    row[x] = f"{style} class:cursor", character, action
