"""Where board, panel and log go at each size of the window."""

from collections.abc import Callable
from typing import Final

from prompt_toolkit.utils import get_cwidth

from client.ui.actions import PointAt
from client.ui.at_table import HEX_POSITIONS
from client.ui.draw.board import HUGE, LARGE, MEDIUM, SMALL, Marks, Scale, drawn_board
from client.ui.draw.news_lines import LOG_LINES, lines_wanted, news_lines
from client.ui.frame import (
    Block,
    Line,
    Target,
    beside,
    fitted,
    line,
    plain,
    side_by_side,
    stacked,
    without,
    wrapped,
)
from client.ui.state import Ui
from client.ui.texts.glyphs import GlyphSet
from engine.board import HILLS, Hex
from engine.view import View

LEAST_WIDTH = 20
LEAST_HEIGHT = 8


def around(board: Block, cell: Hex, width: int, height: int) -> Block:
    """Return as much of the small board as there is room for, with `cell` as near the middle as possible."""
    width, height = min(width, SMALL.width), min(height, SMALL.height)
    column, row = SMALL.body_of(cell)
    left = _first_shown(column + SMALL.across // 2 - 1, width, SMALL.width)
    top = _first_shown(row, height, SMALL.height)
    lines = tuple(fitted(without(content, left), width) for content in board.lines[top : top + height])
    return _within(Block(lines, tuple(target.moved(-left, -top) for target in board.targets)), width)


def _first_shown(middle: int, room: int, whole: int) -> int:
    return min(max(middle - room // 2, 0), whole - room)


def _within(block: Block, width: int) -> Block:
    """Return the block with its targets cut to what is seen of them."""
    seen = []
    for target in block.targets:
        left, right = max(target.column, 0), min(target.column + target.width, width)
        if left < right and 0 <= target.line < len(block.lines):
            seen.append(Target(left, target.line, right - left, target.action))
    return Block(block.lines, tuple(seen))


def shortened(page: Block, width: int, height: int) -> Block:
    """Return the part of a page around the chosen line, without empty lines."""
    kept = [at for at, content in enumerate(page.lines) if plain(content).strip()]
    chosen = [
        row for row, at in enumerate(kept) if any("class:chosen" in style for style, _text in page.lines[at])
    ]
    middle = chosen[0] + len(chosen) // 2 if chosen else 0
    first = _first_shown(middle, height, max(len(kept), height))
    shown = kept[first : first + height]
    targets = [
        target.moved(0, shown.index(target.line) - target.line)
        for target in page.targets
        if target.line in shown
    ]
    lines = tuple(_dotted(page.lines[at], width) for at in shown)
    return _within(Block(lines, tuple(targets)), width)


def _dotted(content: Line, width: int) -> Line:
    """Return a line with dots at its end if it is cut."""
    if get_cwidth(plain(content).rstrip()) <= width:
        return content
    return beside(fitted(content, width - 3), line("..."))


_PANEL_WIDTH: Final = 30
_PANEL_MOST: Final = 56  # wider, numbers would stand far from the names that they belong to

PanelOf = Callable[[int, int], Block]


def table_block(
    ui: Ui,
    board: tuple[View, Marks],
    glyphs: GlyphSet,
    size: tuple[int, int],
    *,
    panel: PanelOf,
    sentence: str,
) -> Block:
    """Return board and panel, and the log below them or, where the board needs the height, in the panel.

    `panel` draws the panel in so many columns and lines.
    """
    width, height = size
    scale = next(
        scale
        for scale in (HUGE, LARGE, MEDIUM, SMALL)
        if scale is SMALL or (scale.width + 1 + _PANEL_WIDTH <= width and scale.height <= height)
    )
    margin = min(2, width - scale.width - 1 - _PANEL_WIDTH)
    left_width = margin + scale.width + 1
    panel_width = min(width - left_width, _PANEL_MOST)
    left = Block(
        tuple(beside(line(" " * margin), content) for content in drawn_board(*board, glyphs, scale)),
        tuple(target.moved(margin, 0) for target in _hexes(scale)),
    )
    below = height - scale.height
    if below >= LOG_LINES:
        right = panel(panel_width, scale.height)
        both = side_by_side(left, right, left_width, panel_width, scale.height)
        return Block((*both.lines, *news_lines(ui, width, below, sentence)), both.targets)
    wanted = max(lines_wanted(ui, panel_width, sentence), LOG_LINES)
    right = panel(panel_width, height - wanted)
    room_left = max(height - len(right.lines) - 1, wanted)
    lines = stacked(right.lines, panel_width, height - room_left)
    right = Block((*lines, *news_lines(ui, panel_width, room_left, sentence)), right.targets)
    return side_by_side(left, right, left_width, panel_width, height)


def small_table_block(
    ui: Ui,
    board: tuple[View, Marks],
    glyphs: GlyphSet,
    size: tuple[int, int],
    *,
    panel: PanelOf | None,
    hand: Line,
    below: int,
    sentence: str,
) -> Block:
    """Return the board around the cursor, the hand in one line, and `below` lines of text."""
    width, height = size
    marks = board[1]
    asks = sentence if ui.notice is None else ui.notice.text
    below = max(min(below, LOG_LINES, height - SMALL.height), min(below, len(wrapped(asks, width - 2))), 1)
    rows = height - below - bool(hand)
    left = Block(tuple(drawn_board(*board, glyphs, SMALL)), tuple(_hexes(SMALL)))
    shown = around(left, HILLS[0] if marks.cursor is None else marks.cursor, width, rows)
    told = news_lines(ui, width, below, sentence)
    board_width = min(SMALL.width, width) + 1
    if panel is not None and width - board_width >= _PANEL_WIDTH - 1:
        right = panel(min(width - board_width, _PANEL_MOST), rows)
        shown = side_by_side(shown, right, board_width, width - board_width, rows)
    lines = [*stacked(shown.lines, width, rows), *([hand] if hand else ()), *told]
    return Block(tuple(lines), shown.targets)


def _hexes(scale: Scale) -> list[Target]:
    """Return what a click on each hex means."""
    return [
        Target(column, top + row, scale.across - 1, PointAt(cell))
        for cell in HEX_POSITIONS
        for column, top in [scale.body_of(cell)]
        for row in range(scale.body)
    ]
