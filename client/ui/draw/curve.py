"""Everybody's chances move by move, as lines of signs: a curve for each seat."""

from collections.abc import Iterable, Sequence
from typing import Final

from client.ui.draw.lines import Line
from client.ui.texts.glyphs import GlyphSet

_EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
_DECIDING: Final = "^"
_HERE: Final = "|"


def curve_lines(
    chances: Sequence[float], here: int | None, style: str, glyphs: GlyphSet, height: int
) -> list[Line]:
    """Return one seat's chances in so many lines, a cell for each moment; `here` is the one looked at.

    In ASCII it is one line of digits: tens of per cent, rounded down, and 9 for all above 90.
    """
    if glyphs.ascii:
        return [_row([str(min(int(chance * 10), 9)) for chance in chances], here, style)]
    rows = []
    for row in reversed(range(height)):
        parts = [max(0, min(8, round(chance * 8 * height) - 8 * row)) for chance in chances]
        # The lowest line shows that there is somebody, however little the chance.
        rows.append(_row([_EIGHTHS[max(part, not row)] for part in parts], here, style))
    return rows


def marks_line(count: int, here: int | None, deciding: Iterable[int]) -> Line:
    """Return what stands below the curves: which moments decided most, and which one is looked at."""
    signs = [" "] * count
    for moment in deciding:
        signs[moment] = _DECIDING
    if here is not None and signs[here] == " ":
        signs[here] = _HERE
    return (("class:faint", "".join(signs)),)


def sampled(count: int, width: int, keep: Iterable[int]) -> list[int]:
    """Return which of `count` moments are shown in so many cells: evenly spread ones, and those to keep."""
    if count <= width:
        return list(range(count))
    kept = set(sorted(set(keep))[:width])
    cells = sorted(kept.union(round(cell * (count - 1) / max(width - 1, 1)) for cell in range(width)))
    while len(cells) > width:  # the moment that stands closest between its neighbours makes room
        inner = [at for at, moment in enumerate(cells) if moment not in kept]
        del cells[min(inner, key=lambda at: cells[min(at + 1, len(cells) - 1)] - cells[max(at - 1, 0)])]
    return cells


def _row(signs: Sequence[str], here: int | None, style: str) -> Line:
    if here is None:
        return ((style, "".join(signs)),)
    before, at, later = "".join(signs[:here]), signs[here], "".join(signs[here + 1 :])
    return ((style, before), (f"{style} reverse", at), (style, later))
