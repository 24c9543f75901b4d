"""The board as styled text: tiles, fields, hills and pieces, and what is marked on them."""

import functools
import itertools
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from client.ui.at_table import HEX_POSITIONS
from client.ui.draw.grid import SMALL, Point, Scale, borders, grounds, rim
from client.ui.frame import Fragment, Line, people_style, plain
from client.ui.texts.glyphs import ASCII, UNICODE, GlyphSet
from engine.board import HILLS, Field, Hex, LaidTile, Layout, Tile, has_spring, layout_of
from engine.components import LAUREL_WORTH
from engine.pieces import Piece, Wolf
from engine.view import View

NOBODY: Final = "-"  # stands for the holder of a hill that nobody took
NO_FIELDS: Final[frozenset[Field]] = frozenset()


@dataclass(frozen=True, slots=True)
class Marks:
    """What a drawing points at.

    `preview` is a tile that is not laid yet, and its position; `choices` the positions open to it. `notes`
    are short words on fields, `captives` fields whose pieces are being taken.
    """

    cursor: Hex | None = None
    last: Field | None = None
    preview: tuple[int, LaidTile] | None = None
    choices: tuple[int, ...] = ()
    captives: frozenset[Field] = NO_FIELDS
    notes: Mapping[Field, str] = field(default_factory=dict)
    won: Mapping[Tile, str] = field(default_factory=dict)


UNMARKED: Final = Marks()


def board_text(view: View, *, marks: Marks = UNMARKED, ascii_only: bool = False, scale: Scale = SMALL) -> str:
    """Return the board as plain text, without trailing spaces."""
    drawn = drawn_board(view, marks, ASCII if ascii_only else UNICODE, scale)
    return "\n".join(plain(content).rstrip() for content in drawn)


def drawn_board(view: View, marks: Marks, glyphs: GlyphSet, scale: Scale) -> list[Line]:
    """Return the lines of the board, all of the scale's width."""
    return _Drawing(view, marks, glyphs, scale).lines()


def notation(piece: Piece | Wolf) -> str:
    """Return the piece as the board shows it; of others' wolves the kind is unknown (R4.2)."""
    return f"{piece.people}?*" if isinstance(piece, Wolf) else str(piece)


@functools.lru_cache(maxsize=32)
def _canvas(
    tiles: tuple[LaidTile | None, ...], scale: Scale, *, ascii_only: bool
) -> tuple[tuple[Fragment, ...], ...]:
    """Return the cells of the empty board: the lines, and the tiles' backgrounds."""
    laid = frozenset(position for position, tile in enumerate(tiles) if tile is not None)
    lines, covered = borders(scale, laid, ascii_only=ascii_only), grounds(scale)

    def cell(x: int, y: int) -> Fragment:
        character, strong = lines.get((x, y), (" ", False))
        tile = tiles[covered[x, y]] if (x, y) in covered else None
        if tile is not None:
            return f"{_ground_style(tile.tile)} class:inner", character
        return ("" if character == " " else "class:strong" if strong else "class:faint"), character

    return tuple(tuple(cell(x, y) for x in range(scale.width)) for y in range(scale.height))


def _ground_style(tile: Tile) -> str:
    return f"class:tile-{tile.lower()}"


class _Drawing:
    """A board being drawn, cell by cell."""

    def __init__(self, view: View, marks: Marks, glyphs: GlyphSet, scale: Scale) -> None:
        self._view, self._marks, self._glyphs, self._scale = view, marks, glyphs, scale
        self._tiles = list(view.tiles)
        if marks.preview is not None:
            position, laid = marks.preview
            self._tiles[position] = laid
        tiles = tuple(self._tiles)
        self._layout: Layout = layout_of(tiles)
        self._board = view.board
        self._rows = [list(row) for row in _canvas(tiles, scale, ascii_only=glyphs.ascii)]

    def lines(self) -> list[Line]:
        for cell, position in HEX_POSITIONS.items():
            if cell in self._layout.fields:
                self._draw_field(cell, self._layout.fields[cell])
            elif cell == HILLS[position]:
                self._draw_hill(cell, position)
        if self._marks.cursor is not None:
            self._draw_cursor(self._marks.cursor)
        return [
            tuple(
                (style, "".join(character for _, character in run))
                for style, run in itertools.groupby(row, key=operator.itemgetter(0))
            )
            for row in self._rows
        ]

    def _put(self, point: Point, text: str, style: str) -> None:
        """Write `text`, on the tile's background unless `style` has its own."""
        row = self._rows[point[1]]
        for at, character in enumerate(text, start=point[0]):
            ground = row[at][0].partition(" ")[0]
            under = f"{ground} " if ground.startswith("class:tile-") else ""
            row[at] = (f"{under}{style}", character)

    def _centred(self, cell: Hex, row: int, text: str, style: str) -> None:
        """Write `text` in the middle of the hex, `row` lines below the first one of its body."""
        column, line = self._scale.body_of(cell)
        room = self._scale.across - 1
        self._put((column + (room - len(text) + 1) // 2, line + row), text, style)

    def _draw_field(self, cell: Hex, name: Field) -> None:
        piece = self._board.get(name)
        style = self._field_style(cell, piece)
        text = str(name) if piece is None else notation(piece)
        note = self._marks.notes.get(name, "")
        left, left_style = self._sign_of(name)
        spring = self._glyphs.spring if has_spring(name) else ""
        if self._scale.slope == 0:
            self._draw_tight(cell, (left, left_style), (text, style), note, spring)
            return
        self._centred(cell, -1, left, left_style)
        self._centred(cell, 0, f" {text} " if piece is not None else text, style)
        foot = self._scale.body
        if note:
            self._centred(cell, foot, note, "class:note")
        else:
            self._centred(cell, foot, spring * 2, "class:spring")
        if piece is not None and self._scale.body > 1:
            self._centred(cell, 1, str(name), "class:inner")

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

    def _field_style(self, cell: Hex, piece: Piece | Wolf | None) -> str:
        if self._marks.preview is not None and HEX_POSITIONS[cell] == self._marks.preview[0]:
            return "class:ghost"
        if piece is None:
            return "class:open"
        last = " class:last-piece" if self._layout.fields[cell] == self._marks.last else ""
        return people_style(piece.people) + last

    def _sign_of(self, name: Field) -> tuple[str, str]:
        if name in self._marks.captives:
            return self._glyphs.captive, "class:note"
        if name == self._marks.last:
            return self._glyphs.last, "class:last"
        if name.endswith("1"):
            return self._glyphs.arrow, "class:arrow"
        return "", ""

    def _draw_hill(self, cell: Hex, position: int) -> None:
        tile = self._tiles[position]
        if tile is None:
            open_now = position in self._marks.choices
            text = f"[{position}]" if open_now else str(position)
            self._centred(cell, 0, text, "class:mine" if open_now else "class:off")
            return
        laurel = self._view.laurels.get(tile.tile)
        on_trial = self._marks.preview is not None and position == self._marks.preview[0]
        if tile.tile in self._marks.won:
            text = f"({tile.tile}:{self._marks.won[tile.tile]})"
        elif laurel is not None:
            text = f"({tile.tile}={LAUREL_WORTH[laurel]})"
        else:
            text = f"({tile.tile}=?)" if on_trial else f"( {tile.tile} )"
        self._centred(cell, 0, text, "class:ghost" if on_trial else "class:hill")

    def _draw_cursor(self, cell: Hex) -> None:
        """Draw the cursor by its shape, the lines around its hex and its colours: each alone is enough."""
        left, right = self._glyphs.cursor
        column, line = self._scale.body_of(cell)
        for x, y in rim(self._scale, cell):
            self._rows[y][x] = ("class:cursor-edge", self._rows[y][x][1])
        for row in self._rows[line : line + self._scale.body]:
            row[column - 1] = ("class:cursor-edge", left)
            row[column + self._scale.across - 1] = ("class:cursor-edge", right)
            for x in range(column, column + self._scale.across - 1):
                style, character = row[x]
                if "class:people" in style:  # a piece keeps its people's colours
                    row[x] = (f"{style} class:cursor-piece", character)
                elif "class:note" not in style:  # a note stands out already
                    row[x] = (f"{style} class:cursor", character)
