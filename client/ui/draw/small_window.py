"""Windows smaller than a whole screen: a part of the board, the hand in a line, short lists."""

from prompt_toolkit.utils import get_cwidth

from client.ui.draw.frame import Block, Target
from client.ui.draw.grid import SMALL
from client.ui.draw.lines import (
    Line,
    beside,
    fitted,
    line,
    plain,
    without,
)
from engine.board import Hex

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
    """Return the part of a page around what is chosen, without the empty lines."""
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
