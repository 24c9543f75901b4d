"""The panel of a record that is being analysed: everybody's chances as curves, and the better move."""

from collections.abc import Iterable, Sequence
from typing import Final

from client.language import _
from client.records.analysis import Analysis
from client.ui.draw.panel import BLANK, Row, heading, pointer
from client.ui.frame import (
    EMPTY,
    READ_ON,
    Block,
    Line,
    begun,
    beside,
    block_of,
    chips,
    cut,
    ends,
    line,
    people_style,
    wrapped,
)
from client.ui.state import Replay
from client.ui.texts.analysis import describe_progress, explain, percent
from client.ui.texts.glyphs import GlyphSet
from engine.pieces import Seat
from engine.view import View

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


_TEXT_ROWS: Final = 8  # that higher curves leave for what is told below them
_HIGHEST: Final = 4  # lines of a curve


def chances_block(
    replay: Replay, analysis: Analysis, view: View, glyphs: GlyphSet, size: tuple[int, int]
) -> Block:
    """Return the chances at the stop that is shown, and before and after it."""
    width, height = size
    rows: list[Row] = [heading(_("CHANCES"), width, describe_progress(analysis) if replay.judging else "")]
    spare = height - 2 - _TEXT_ROWS - view.seats
    each = 1 if glyphs.ascii else max(1, min(_HIGHEST, spare // view.seats))
    here = _here(replay, analysis)
    marked = [move.number - analysis.first for move in analysis.deciding]
    cells = sampled(analysis.wanted + 1, width, marked if here is None else [*marked, here])
    judged = [moment for moment in cells if moment < len(analysis.curve)]
    at = judged.index(here) if here in judged else None
    move = analysis.move_at(replay.stop)
    for seat in map(Seat, range(view.seats)):
        moved = move is not None and move.seat == seat
        who = beside(pointer(glyphs, shown=moved), chips(view.start.peoples[seat]))
        rows.append((_player(replay, analysis, seat, who, width), None))
        style = people_style(view.start.peoples[seat][0])
        chances = [analysis.curve[moment][seat] for moment in judged]
        rows += [(content, None) for content in curve_lines(chances, at, style, glyphs, each)]
    marks = [judged.index(moment) for moment in marked if moment in judged]
    rows.append((marks_line(len(judged), at, marks), None))
    rows += _told(replay, analysis, width, height - len(rows))
    return block_of(rows, width)


def chances_line(replay: Replay, analysis: Analysis, view: View, width: int) -> Line:
    """Return everybody's chances in one line."""
    chances = analysis.at(replay.stop)
    if chances is None:
        return line(cut(f" {_outside(replay, analysis)}", width), "class:faint")
    parts = [
        beside(chips(view.start.peoples[seat][:1]), line(f" {percent(chances[seat])} "))
        for seat in map(Seat, range(view.seats))
    ]
    return beside(*parts)


def _here(replay: Replay, analysis: Analysis) -> int | None:
    moment = replay.stop - analysis.first
    return moment if 0 <= moment < len(analysis.curve) else None


def _player(replay: Replay, analysis: Analysis, seat: Seat, who: Line, width: int) -> Line:
    """Return who it is, the chance at this stop, and what the last move has changed."""
    move, chances = analysis.move_at(replay.stop), analysis.at(replay.stop)
    left = beside(who, line(f" {replay.recording.names[seat]}"))
    if chances is None:
        return ends(left, EMPTY, width)
    change = "" if move is None else f"{round(100 * (move.after[seat] - move.before[seat])):+}"
    return ends(left, line(f" {percent(chances[seat]):>4} {change:>4}", "class:mine"), width)


def _told(replay: Replay, analysis: Analysis, width: int, height: int) -> list[Row]:
    """Return in words what is known of the last move."""
    rows = [row for sentence in told_of_move(replay, analysis) for row in wrapped(sentence, width - 1)]
    return [BLANK, *((line(row), None) for row in begun(rows, height - 1, width, READ_ON))]


def told_of_move(replay: Replay, analysis: Analysis) -> list[str]:
    """Return in words what is known of the move before the stop that is shown."""
    move = analysis.move_at(replay.stop)
    if move is None:
        return [_outside(replay, analysis)]
    told = [_("This move is one of those that decided most.")] if move in analysis.deciding else []
    return [*told, *(explain(replay.recording, move) or [_("No better move was found.")])]


def _outside(replay: Replay, analysis: Analysis) -> str:
    """Return why nothing is told of the stop that is shown."""
    if analysis.at(replay.stop) is not None:
        return _("The chances before the first piece.")
    if replay.stop < analysis.first:
        return _("Chances are estimated from move {number} on.").format(number=analysis.first)
    return _("This move has not been analysed yet.") if replay.judging else _("This move was not analysed.")
