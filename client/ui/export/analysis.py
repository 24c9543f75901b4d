"""The analysis of a game as text, as JSON, and as a picture of everybody's chances."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Final
from xml.etree import ElementTree as ET

from client.language import _
from client.player.terminal import Colours
from client.records import Analysis, Chances, HiddenWolf, JudgedMove, Recording
from client.ui.export.picture import (
    document,
    draw_chip,
    draw_line,
    draw_path,
    group_at,
    style_sheet,
    to_text,
    write,
)
from client.ui.frame import wrapped
from client.ui.terminal.painter import PEOPLE_COLOURS
from client.ui.texts import games
from client.ui.texts.advice import explain, judge, reasons_of
from client.ui.texts.turning import what_it_changed
from engine.pieces import People, Seat
from engine.view import SPECTATOR, View
from protocol.text import printable_json

_DIGITS = 3  # of a chance in the JSON: a search knows no more


def analysis_text(recording: Recording, analysis: Analysis, width: int) -> str:
    """Return the analysis in lines of this width: chances by move, better moves, and deciding moves."""
    return "\n".join(_lines(recording, analysis, width)) + "\n"


def _lines(recording: Recording, analysis: Analysis, width: int) -> Iterator[str]:
    names = analysis.names
    result = recording.view(recording.end, SPECTATOR).result
    if result is not None:
        yield from wrapped(games.describe_result(result, names), width)
    yield from wrapped(
        _(
            "Chances of winning are estimated with every piece revealed; better moves, by what "
            "their player could see."
        ),
        width,
    )
    yield ""
    if analysis.start is not None:
        yield from _under(_("Before the first piece:"), games.describe_chances(analysis.start, names), width)
    for move in analysis.moves:
        change = games.describe_change(move.before, move.after, names)
        yield from _under(games.describe_move(move, names), change, width)
        for sentence in explain(recording, move):
            yield from _indented(sentence, width)
    yield ""
    if not analysis.complete:
        yield from wrapped(games.describe_stopped(analysis), width)
    if analysis.deciding or analysis.complete:
        yield from wrapped(_describe_deciding(analysis), width)
    for move in analysis.deciding:
        change = games.describe_change(move.before, move.after, analysis.names)
        yield from _under(f"  {games.describe_move(move, analysis.names)}", change, width)
        for sentence in _why(recording, move):
            yield from _indented(sentence, width)


def _why(recording: Recording, move: JudgedMove) -> list[str]:
    """Return why a move decided the game, in short."""
    told = judge(recording, move)[:1]
    known = move.better is not None or move.unknown is not None
    return told if known else [*filter(None, [what_it_changed(recording, move)]), *told]


def _describe_deciding(analysis: Analysis) -> str:
    most, none = _("The moves that decided most:"), _("No single move decided the game.")
    return most if analysis.deciding else none


def _under(head: str, told: str, width: int) -> list[str]:
    """Return a head and what belongs to it: on one line if there is room."""
    whole = f"{head} {told}"
    return [whole] if len(whole) <= width else [*wrapped(head, width), *_indented(told, width)]


def _indented(text: str, width: int) -> list[str]:
    return [f"    {row}" for row in wrapped(text, width - 4)]


def analysis_json(recording: Recording, analysis: Analysis) -> str:
    told = {
        "version": 1,
        "names": analysis.names,
        "simulations": analysis.simulations,
        "seed": analysis.seed,
        "complete": analysis.complete,
        "wanted": analysis.wanted,
        "start": None if analysis.start is None else _rounded(analysis.start),
        "moves": [_move_json(recording, move) for move in analysis.moves],
        "result": _rounded(analysis.result),
        "deciding": [move.number for move in analysis.deciding],
    }
    return printable_json(json.dumps(told, ensure_ascii=False, indent=2)) + "\n"


def _move_json(recording: Recording, judged: JudgedMove) -> dict[str, object]:
    better = None
    if judged.better is not None:
        better = {
            "piece": judged.better.move.piece,
            "field": judged.better.move.field,
            "chance": round(judged.better.chance, _DIGITS),
            "instead_of": round(judged.better.instead_of, _DIGITS),
            "reasons": reasons_of(recording, judged, judged.better),
            "condition": _wolf_json(judged.better.condition),
        }
    return {
        "move": judged.number,
        "seat": judged.seat,
        "piece": judged.move.piece,
        "field": judged.move.field,
        "before": _rounded(judged.before),
        "after": _rounded(judged.after),
        "swing": round(judged.swing, _DIGITS),
        "reasons": games.reasons(recording, judged),
        "better": better,
        "unknown": _wolf_json(judged.unknown),
    }


def _wolf_json(wolf: HiddenWolf | None) -> dict[str, object] | None:
    return None if wolf is None else asdict(wolf)


def _rounded(chances: tuple[float, ...]) -> list[float]:
    return [round(chance, _DIGITS) for chance in chances]


_WIDTH: Final = 960
_LEFT, _RIGHT = 60.0, 700.0  # of the curves
_TOP, _BOTTOM = 90.0, 430.0
_NAMES: Final = 724.0
_APART: Final = 30.0  # between two names
_ROW: Final = 18.0  # of text
_ROW_LENGTH: Final = 118  # characters
_CHIPS_EVERY: Final = 8  # moments: a curve has its people's letter there
_GRID: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
_STYLE: Final = style_sheet("text", "curves")


def analysis_svg(recording: Recording, analysis: Analysis) -> str:
    """Return the curves as a self-contained SVG document; each has its people's letters and colour."""
    view = recording.view(recording.end, SPECTATOR)
    heading = _("Everybody's chances of winning")
    root = document(f"Palatinus: {heading}", _STYLE, _WIDTH)
    write(root, _LEFT, 36, 22, heading, classes="b")
    if view.result is not None:
        write(root, _LEFT, 58, 13, games.describe_result(view.result, recording.names))
    if not analysis.complete:
        write(root, _RIGHT, 58, 13, games.describe_stopped(analysis), classes="e")
    _draw_grid(root, analysis)
    peoples = [(Seat(seat), view.start.peoples[seat][0]) for seat in recording.seats]
    for draw in (_draw_curve, _draw_chips):
        for seat, people in peoples:
            draw(root, analysis, seat, people)
    _draw_names(root, analysis, view)
    return to_text(root, round(_write_text(root, recording, analysis) + 20))


def _place(analysis: Analysis, moment: int, chance: float) -> tuple[float, float]:
    across = (_RIGHT - _LEFT) * moment / max(analysis.wanted, 1)
    return _LEFT + across, _BOTTOM - (_BOTTOM - _TOP) * chance


def _draw_grid(root: ET.Element, analysis: Analysis) -> None:
    """Draw the lines that chances are read from, and one at each move that decided most."""
    for chance in _GRID:
        _x, y = _place(analysis, 0, chance)
        draw_line(root, (_LEFT, y), (_RIGHT, y), "grid")
        write(root, _LEFT - 8, y + 4, 12, games.percent(chance), classes="e faint")
    for moment in range(0, analysis.wanted + 1, _CHIPS_EVERY):
        x, _y = _place(analysis, moment, 0.0)
        write(root, x, _BOTTOM + 18, 12, str(analysis.first + moment), classes="c faint")
    write(root, (_LEFT + _RIGHT) / 2, _BOTTOM + 36, 12, _("moves"), classes="c faint")
    for move in analysis.deciding:
        x, _y = _place(analysis, move.number - analysis.first, 0.0)
        draw_line(root, (x, _TOP - 8), (x, _BOTTOM), "deciding")
        write(root, x, _TOP - 12, 12, str(move.number), classes="c b")


def _places(analysis: Analysis, seat: Seat) -> list[tuple[float, float]]:
    return [_place(analysis, moment, chances[seat]) for moment, chances in enumerate(analysis.curve)]


def _draw_curve(root: ET.Element, analysis: Analysis, seat: Seat, people: People) -> None:
    if places := _places(analysis, seat):
        shape = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        draw_path(root, shape, "edge")
        draw_path(root, shape, "curve").set("stroke", PEOPLE_COLOURS[Colours.TRUE][people].background)


def _draw_chips(root: ET.Element, analysis: Analysis, seat: Seat, people: People) -> None:
    """Draw the people's letter on the curve, for each seat at other moments, as curves meet."""
    for x, y in _places(analysis, seat)[seat + 1 :: _CHIPS_EVERY]:
        draw_chip(group_at(root, x, y), people, 8)


def _draw_names(root: ET.Element, analysis: Analysis, view: View) -> None:
    """Write the names at the heights where the curves end, but not over each other."""
    last: Chances = analysis.curve[-1] if analysis.curve else (0.0,) * view.seats
    order = sorted(range(view.seats), key=lambda seat: -last[seat])
    y = _TOP - _APART
    lowest = _BOTTOM - _APART * (len(order) - 1)
    for rank, seat in enumerate(order):
        _x, wanted = _place(analysis, 0, last[seat])
        y = min(max(wanted, y + _APART), lowest + _APART * rank)
        for at, people in enumerate(view.start.peoples[Seat(seat)]):
            draw_chip(group_at(root, _NAMES + 22 * at, y), people, 9)
        start = _NAMES + 22 * len(view.start.peoples[Seat(seat)])
        write(root, start, y + 5, 14, analysis.names[seat])
        if analysis.curve:
            write(root, _WIDTH - 16, y + 5, 14, games.percent(last[seat]), classes="e b")


def _write_text(root: ET.Element, recording: Recording, analysis: Analysis) -> float:
    """Write what the moves that decided most did, and return the lower end of the text."""
    y = _BOTTOM + 66
    if analysis.deciding or analysis.complete:
        write(root, _LEFT, y, 14, _describe_deciding(analysis), classes="b")
    for move in analysis.deciding:
        change = games.describe_change(move.before, move.after, recording.names)
        sentences = [f"{games.describe_move(move, recording.names)} {change}", *_why(recording, move)]
        y += 6
        for row in (row for sentence in sentences for row in wrapped(sentence, _ROW_LENGTH)):
            y += _ROW
            write(root, _LEFT, y, 13, row)
    return y
