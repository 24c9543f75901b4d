"""Frames: lines of styled text of an exact width, with the actions of clicks on them."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from prompt_toolkit.utils import get_cwidth

from client.language import labelled
from client.ui.keys import Action
from engine.pieces import People

Fragment: TypeAlias = tuple[str, str, Action | None]  # a style, a text, and what a click on it does
Line: TypeAlias = tuple[Fragment, ...]

EMPTY: Final[Line] = ()
NO_BREAK: Final = "\xa0"  # a space at which no line is broken
WIDE: Final = 1000  # columns: a line that wide is not wrapped, and what stands at its ends is far apart
_FAR_APART: Final = re.compile(" {100,}")
READ_ON: Final = "... (m)"  # for the rest of a text, where that key shows it


def line(text: str, style: str = "") -> Line:
    return ((style, text, None),)


def clickable(content: Line, action: Action, width: int = 0) -> Line:
    """Return the line with the effect of a click on it, over at least this many cells."""
    wide = fitted(content, max(width, width_of(content)))
    return tuple((style, text, action) for style, text, _ in wide)


def width_of(content: Line) -> int:
    return sum([get_cwidth(part[1]) for part in content])


def plain(content: Line) -> str:
    return "".join([part[1] for part in content])


def spoken(lines: Iterable[Line]) -> list[str]:
    """Return drawn lines as text to be read aloud, the two ends of a line joined."""
    texts = (plain(content).strip() for content in lines)
    parts = (_FAR_APART.split(text, maxsplit=1) for text in texts if text)
    return [re.sub(" +", " ", labelled(*part) if len(part) > 1 else part[0]) for part in parts]


def cut(text: str, width: int) -> str:
    """Return as much of `text` as `width` cells hold."""
    if get_cwidth(text) <= width:  # which caches what it has measured
        return text
    used = 0
    for index, character in enumerate(text):
        used += get_cwidth(character)
        if used > width:
            return text[:index]
    return text


def without(content: Line, cells: int) -> Line:
    """Return `content` without its first `cells` cells."""
    left: list[Fragment] = []
    for style, text, action in content:
        gone = cut(text, cells)
        cells -= get_cwidth(gone)
        if len(gone) < len(text):
            left.append((style, text[len(gone) :], action))
    return tuple(left)


def padded(text: str, width: int) -> str:
    """Return `text` cut or filled to `width` cells."""
    short = cut(text, width)
    return short + " " * (width - get_cwidth(short))


def columns(rows: Sequence[Sequence[str]], *, numbers: bool = False) -> list[str]:
    """Return a line for each row, with the words of each column below each other.

    With `numbers`, all but the first column end below each other.
    """
    widths = [max(map(get_cwidth, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        spaces = [" " * (width - get_cwidth(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = [cell + space for cell, space in zip(row, spaces, strict=True)]
        if numbers:
            cells[1:] = [space + cell for cell, space in zip(row[1:], spaces[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return lines


def fitted(content: Line, width: int, fill: str = "") -> Line:
    """Return `content` cut or filled to exactly `width` cells; `fill` is the style of the filling."""
    spare = width - width_of(content)
    if spare >= 0:
        return (*content, (fill, " " * spare, None)) if spare else content
    fitting: list[Fragment] = []
    room = max(width, 0)
    for style, text, action in content:
        if not room:
            break
        short = cut(text, room)
        fitting.append((style, short, action))
        room -= get_cwidth(short)
        if short != text:
            break
    if room:
        fitting.append((fill, " " * room, None))
    return tuple(fitting)


def ends(left: Line, right: Line, width: int, fill: str = "") -> Line:
    """Return one line with `left` and `right` at its ends; `left` is cut if both do not fit."""
    right = fitted(right, min(width_of(right), width))
    return fitted(left, width - width_of(right), fill) + right


def stacked(lines: Sequence[Line], width: int, height: int) -> list[Line]:
    """Return exactly `height` lines of exactly `width` cells."""
    shown = [fitted(content, width) for content in lines[: max(height, 0)]]
    return shown + [fitted(EMPTY, width)] * (height - len(shown))


def wrapped(text: str, width: int) -> list[str]:
    """Return `text` broken at spaces into lines of at most `width` cells; longer words are cut up."""
    rows: list[str] = []
    row = ""
    for word in filter(None, re.split("[ \n]", text)):  # not at no-break spaces
        longer = f"{row} {word}" if row else word
        if get_cwidth(longer) <= width:
            row = longer
            continue
        if row:
            rows.append(row)
        row = word
        while get_cwidth(row) > width > 0:
            # A wide character with room for one cell: it is taken, and cut off when the line is fitted.
            head = cut(row, width) or row[0]
            rows.append(head)
            row = row[len(head) :]
    return [*rows, row] if row else rows


def dotted(text: str, width: int, dots: str = "...") -> str:
    """Return `text` if `width` cells hold it, or else its beginning and `dots`."""
    return text if get_cwidth(text) <= width else cut(text, width - len(dots)) + dots


def first_rows(rows: list[str], height: int, width: int, dots: str = "...") -> list[str]:
    """Return as many rows of a text as there is room for, with `dots` where the rest is left out."""
    if len(rows) <= height:
        return rows
    return [*rows[: height - 1], cut(rows[height - 1], width - len(dots)) + dots] if height > 0 else []


def paragraphs(texts: Iterable[str], width: int, style: str = "") -> list[Line]:
    return [line(row, style) for text in texts for row in wrapped(text, width) or [""]]


def indented(text: str, width: int, style: str = "") -> list[Line]:
    return [line("  ") + content for content in paragraphs([text], width - 4, style)]


def people_style(people: People) -> str:
    return f"class:people-{people.value.lower()}"


def curve_style(people: People) -> str:
    """Return the style for drawing in a people's colour on the terminal's own background."""
    return f"class:curve-{people.value.lower()}"


def chips(peoples: Iterable[People]) -> Line:
    return tuple((people_style(people), f" {people} ", None) for people in peoples)


@dataclass(frozen=True, slots=True)
class Frame:
    """A complete screen; not `seen` if there is no room for the page, and the screen only says so.

    `window` is the title of the window, `last_top` how far the text on the screen can be scrolled. A click on
    any line does what `anywhere` is, if that is given.
    """

    lines: tuple[Line, ...]
    seen: bool = True
    window: str = ""
    last_top: int = 0
    anywhere: Action | None = None

    def action_at(self, column: int, line: int) -> Action | None:
        if column >= 0 and self.anywhere is None:
            for _style, text, action in self.lines[line] if 0 <= line < len(self.lines) else ():
                column -= get_cwidth(text)
                if column < 0:
                    return action
        return self.anywhere


def side_by_side(
    left: Sequence[Line], right: Sequence[Line], left_width: int, right_width: int, height: int
) -> list[Line]:
    pairs = zip(stacked(left, left_width, height), stacked(right, right_width, height), strict=True)
    return [one + other for one, other in pairs]


def in_ascii(text: str) -> str:
    """Return the text in ASCII: letters without accents, question marks for other characters."""
    return text if text.isascii() else "".join(map(_plain, text))


def _plain(character: str) -> str:
    width = get_cwidth(character)
    letter = unicodedata.normalize("NFKD", character)[:width]
    return letter if letter.isascii() and len(letter) == width else "?" * width
