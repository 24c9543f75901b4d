"""Lines of styled text of an exact width: the material that screens are made of.

Widths are those of the terminal's cells, so that wide and combining characters keep columns straight.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from prompt_toolkit.utils import get_cwidth

from engine.pieces import People

Fragment: TypeAlias = tuple[str, str]  # a style and a text, as prompt_toolkit draws them
Line: TypeAlias = tuple[Fragment, ...]

EMPTY: Final[Line] = ()
READ_ON: Final = "... (m)"  # for the rest of a text, where that key shows it


def line(text: str, style: str = "") -> Line:
    return ((style, text),)


def width_of(content: Line) -> int:
    return sum(get_cwidth(text) for _, text in content)


def plain(content: Line) -> str:
    return "".join(text for _, text in content)


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
    for style, text in content:
        gone = cut(text, cells)
        cells -= get_cwidth(gone)
        if len(gone) < len(text):
            left.append((style, text[len(gone) :]))
    return tuple(left)


def padded(text: str, width: int) -> str:
    """Return `text` cut or filled to `width` cells."""
    short = cut(text, width)
    return short + " " * (width - get_cwidth(short))


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a line for each row, with the words of all but the last column below each other."""
    widths = [max(map(get_cwidth, column)) for column in zip(*rows, strict=True)][:-1]
    return ["  ".join([*map(padded, row, widths), row[-1]]) for row in rows]


def fitted(content: Line, width: int, fill: str = "") -> Line:
    """Return `content` cut or filled to exactly `width` cells; `fill` is the style of the filling."""
    spare = width - width_of(content)
    if spare >= 0:
        return (*content, (fill, " " * spare)) if spare else content
    fitting: list[Fragment] = []
    room = max(width, 0)
    for style, text in content:
        if not room:
            break
        short = cut(text, room)
        fitting.append((style, short))
        room -= get_cwidth(short)
        if short != text:
            break
    if room:
        fitting.append((fill, " " * room))
    return tuple(fitting)


def beside(*parts: Line) -> Line:
    return tuple(fragment for part in parts for fragment in part)


def ends(left: Line, right: Line, width: int, fill: str = "") -> Line:
    """Return one line with `left` and `right` at its ends; `left` is cut if both do not fit."""
    right = fitted(right, min(width_of(right), width))
    return beside(fitted(left, width - width_of(right), fill), right)


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


def begun(rows: list[str], height: int, width: int, dots: str = "...") -> list[str]:
    """Return as many rows of a text as there is room for, with `dots` where the rest is left out."""
    if len(rows) <= height:
        return rows
    return [*rows[: height - 1], cut(rows[height - 1], width - len(dots)) + dots] if height > 0 else []


def paragraphs(texts: Iterable[str], width: int, style: str = "") -> list[Line]:
    """Return each of `texts` wrapped to `width`."""
    return [line(row, style) for text in texts for row in wrapped(text, width) or [""]]


def people_style(people: People) -> str:
    return f"class:people-{people.value.lower()}"


def chips(peoples: Iterable[People]) -> Line:
    """Return the signs of peoples: each one's letter on its colour."""
    return tuple((people_style(people), f" {people} ") for people in peoples)
