"""Windows smaller than a whole screen: a part of the board, the hand in a line, short lists."""

from collections.abc import Sequence

from prompt_toolkit.utils import get_cwidth

from client.language import _
from client.table import TableModel
from client.ui.draw.frame import Block, Target
from client.ui.draw.grid import SMALL
from client.ui.draw.lines import (
    EMPTY,
    Line,
    beside,
    ends,
    fitted,
    line,
    paragraphs,
    people_style,
    plain,
    width_of,
    without,
)
from client.ui.draw.panel import chips
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.sentences import describe_result
from client.ui.update import selection
from client.ui.update.state import Ui
from engine.board import Hex
from engine.events import GameEnded
from engine.legal import LegalLays
from engine.pieces import Seat
from engine.view import View

LEAST_WIDTH = 20
LEAST_HEIGHT = 8


def around(board: Block, cell: Hex, width: int, height: int) -> Block:
    """Return as much of the small board as there is room for, with `cell` as near the middle as it can be."""
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
    """Return a page without its empty lines, and of what is left the part around the line that is chosen."""
    kept = [at for at, content in enumerate(page.lines) if plain(content).strip()]
    chosen = [
        row for row, at in enumerate(kept) if any("class:chosen" in style for style, _text in page.lines[at])
    ]
    first = _first_shown(chosen[0], height, max(len(kept), height)) if chosen else 0
    shown = kept[first : first + height]
    targets = [
        target.moved(0, shown.index(target.line) - target.line)
        for target in page.targets
        if target.line in shown
    ]
    lines = tuple(_dotted(page.lines[at], width) for at in shown)
    return _within(Block(lines, tuple(targets)), width)


def _dotted(content: Line, width: int) -> Line:
    """Return a line with dots at its end where it goes on."""
    if get_cwidth(plain(content).rstrip()) <= width:
        return content
    return beside(fitted(content, width - 3), line("..."))


def in_hand(ui: Ui, model: TableModel, glyphs: GlyphSet, width: int) -> Line:
    """Return what is to be laid or placed, in one line: of the hand what is chosen and what follows it."""
    if isinstance(model.legal, LegalLays) and model.view is not None:
        at = selection.selected_position(ui, model.legal)
        words = _("TILE {tile}").format(tile=model.view.drawn)
        return line(f" {words}: lay {at} {ui.orientation}", "class:mine")
    pieces = [(number, each) for number, each in enumerate(selection.hand(model), start=1) if each.count]
    chosen = selection.selected_piece(ui, model)
    first = next((at for at, (_number, each) in enumerate(pieces) if each.piece == chosen), 0)
    told = EMPTY
    for number, each in (*pieces[first:], *pieces[:first]):
        mark = glyphs.pointer if each.piece == chosen else " "
        part = beside(
            line(f"{mark}{number} ", "class:key"),
            line(str(each.piece), people_style(each.piece.people) if each.legal else "class:off"),
            line(f"{glyphs.times}{each.count} "),
        )
        if width_of(told) + width_of(part) > width:
            break
        told = beside(told, part)
    return told


def short_result(view: View, ended: GameEnded, names: Sequence[str], width: int) -> Block:
    """Return who won, and everybody's points."""
    order = sorted(map(Seat, range(view.seats)), key=lambda seat: -ended.tallies[seat].points)
    rows = [
        ends(
            beside(chips(view.start.peoples[seat]), line(f" {names[seat]}")),
            line(f" {ended.tallies[seat].points:>2} "),
            width,
        )
        for seat in order
    ]
    return Block((*paragraphs([describe_result(ended, names)], width, "class:heading"), *rows))
