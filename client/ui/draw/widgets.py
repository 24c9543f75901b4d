"""What many screens are made of: lists to choose from, texts to scroll through, settings with their keys."""

from collections.abc import Iterable, Sequence
from typing import Final

from client.ui.actions import Act, Action, ChooseLine, Way
from client.ui.frame import Block, Line, beside, line, padded, stacked, wrapped
from client.ui.texts.glyphs import GlyphSet

_LINES: Final = 4  # no more than the smallest window shows, or some would never be seen
_SETTING: Final = 10  # columns before the words of a setting


def line_chosen(action: Action, chosen: int, lines: int) -> int | None:
    """Return the line of a list that a key or a click leads to; None if it leads to no other line."""
    match action:
        case Way():
            return min(max(chosen + (1 if action is Way.DOWN else -1), 0), lines - 1)
        case ChooseLine(number) if number != chosen:
            return min(number, lines - 1)
        case _:
            return None


def lines_around(chosen: int, lines: int, room: int) -> range:
    """Return the lines of a list for which there is room, the chosen one among them."""
    room = max(room, 1)
    first = min(max(chosen - room + 1, 0), max(lines - room, 0))
    return range(first, min(first + room, lines))


def choice(text: str, glyphs: GlyphSet, width: int, *, chosen: bool, style: str = "") -> Line:
    """Return a line of a list."""
    if chosen:
        return line(padded(f"{glyphs.pointer} {text}", width), "class:chosen")
    return line(f"  {text}", style)


def scrolled(rows: Sequence[Line], top: int, width: int, height: int) -> tuple[Block, int]:
    """Return a text from line `top` on, and the last line that it can begin with."""
    last_top = max(len(rows) - height, 0)
    return Block(tuple(stacked(rows[min(top, last_top) :], width, height))), last_top


def scrolled_to(action: Action, top: int, last_top: int) -> int:
    """Return the first line of a text after a key that scrolls it."""
    if action is Act.PAGE_DOWN:
        return min(top + _LINES, last_top)
    return max(min(top, last_top) - _LINES, 0) if action is Act.PAGE_UP else top


def settings(keys_and_words: Iterable[tuple[str, str]], width: int, style: str = "") -> list[Line]:
    """Return settings with the keys that change them."""
    rows = []
    for keys, words in keys_and_words:
        first, *others = wrapped(words, width - _SETTING - 2)
        rows.append(beside(line(f"    {keys:<6}", "class:key"), line(first, style)))
        rows += [line(f"{'':{_SETTING}}{other}", style) for other in others]
    return rows
