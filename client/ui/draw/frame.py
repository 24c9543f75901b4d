"""A drawn screen: lines of exactly the screen's width, and what a click on them does."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec import Struct
from prompt_toolkit.utils import get_cwidth

from client.ui.draw.lines import Line, stacked
from client.ui.update.actions import Action


class Target(Struct, frozen=True):
    """A piece of a line that can be clicked."""

    column: int
    line: int
    width: int
    action: Action

    def moved(self, columns: int, lines: int) -> "Target":
        return Target(self.column + columns, self.line + lines, self.width, self.action)


class Block(Struct, frozen=True):
    """Lines and their targets, not yet placed on the screen."""

    lines: tuple[Line, ...]
    targets: tuple[Target, ...] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """A whole screen; not `seen` if there is no room for the page, and the screen only says so.

    `window` is the title of the window, `last_top` how far the text on the screen can be scrolled.
    """

    lines: tuple[Line, ...]
    targets: tuple[Target, ...] = ()
    seen: bool = True
    window: str = ""
    last_top: int = 0

    def action_at(self, column: int, line: int) -> Action | None:
        """Return what a click does there."""
        for target in self.targets:
            if target.line == line and 0 <= column - target.column < target.width:
                return target.action
        return None


def framed(blocks: Iterable[Block], width: int, height: int, *, ascii_only: bool) -> Frame:
    """Return the screen made of `blocks` from top to bottom."""
    lines: list[Line] = []
    targets: list[Target] = []
    for block in blocks:
        targets.extend(target.moved(0, len(lines)) for target in block.targets)
        lines.extend(block.lines)
    shown = stacked(lines, width, height)
    return Frame(tuple(map(_typed, shown)) if ascii_only else tuple(shown), tuple(targets))


def side_by_side(left: Block, right: Block, left_width: int, right_width: int, height: int) -> Block:
    """Return two blocks beside each other, `height` lines high."""
    pairs = zip(
        stacked(left.lines, left_width, height), stacked(right.lines, right_width, height), strict=True
    )
    targets = (*left.targets, *(target.moved(left_width, 0) for target in right.targets))
    return Block(tuple((*one, *other) for one, other in pairs), targets)


def block_of(rows: Sequence[tuple[Line, Action | None]], width: int) -> Block:
    """Return a line for each row, clickable over the whole width if it has an action."""
    targets = (Target(0, at, width, action) for at, (_, action) in enumerate(rows) if action is not None)
    return Block(tuple(content for content, _ in rows), tuple(targets))


def _typed(content: Line) -> Line:
    """Return the line in ASCII: letters without accents, question marks for other characters."""
    return tuple((style, in_ascii(text)) for style, text in content)


def in_ascii(text: str) -> str:
    """Return the text in ASCII, as wide as before."""
    return text if text.isascii() else "".join(map(_plain, text))


def _plain(character: str) -> str:
    width = get_cwidth(character)
    letter = unicodedata.normalize("NFKD", character)[:width]
    return letter if letter.isascii() and len(letter) == width else "?" * width
