"""An analysis as text and as JSON. docs/record.md describes the JSON."""

import json
from collections.abc import Iterator

from client.language import _
from client.records.analysis import Analysis, Better, JudgedMove
from client.records.recording import Recording
from client.ui.draw.lines import wrapped
from client.ui.texts.analysis import (
    describe_chances,
    describe_change,
    describe_move,
    describe_progress,
    explain,
    reasons,
)
from client.ui.texts.scoring import describe_result
from engine.events import Place
from engine.view import SPECTATOR

_DIGITS = 3  # of a chance in the JSON: a search knows no more


def analysis_text(recording: Recording, analysis: Analysis, width: int) -> str:
    """Return the chances move by move, the better moves, and what decided the game, in lines so wide."""
    return "\n".join(_lines(recording, analysis, width)) + "\n"


def _lines(recording: Recording, analysis: Analysis, width: int) -> Iterator[str]:
    names = analysis.names
    result = recording.view(recording.end, SPECTATOR).result
    if result is not None:
        yield from wrapped(describe_result(result, names), width)
    yield from wrapped(
        _(
            "Chances of winning are estimated with every piece revealed; better moves, by what "
            "their player could see."
        ),
        width,
    )
    yield ""
    if analysis.start is not None:
        yield from _under(_("Before the first piece:"), describe_chances(analysis.start, names), width)
    for move in analysis.moves:
        change = describe_change(move.before, move.after, names)
        yield from _under(describe_move(move, names), change, width)
        for sentence in explain(recording, move):
            yield from _indented(sentence, width)
    yield ""
    yield from _ending(analysis, width)


def _ending(analysis: Analysis, width: int) -> Iterator[str]:
    if not analysis.complete:
        yield from wrapped(_("Stopped: {progress}.").format(progress=describe_progress(analysis)), width)
    if not analysis.deciding:
        yield from wrapped(_("No single move decided the game."), width)
        return
    yield _("The moves that decided most:")
    for move in analysis.deciding:
        change = describe_change(move.before, move.after, analysis.names)
        yield from _under(f"  {describe_move(move, analysis.names)}", change, width)


def _under(head: str, told: str, width: int) -> list[str]:
    """Return a head and what belongs to it: on one line if there is room."""
    whole = f"{head} {told}"
    return [whole] if len(whole) <= width else [*wrapped(head, width), *_indented(told, width)]


def _indented(text: str, width: int) -> list[str]:
    return [f"    {row}" for row in wrapped(text, width - 4)]


def analysis_json(recording: Recording, analysis: Analysis) -> str:
    """Return all that the analysis has found, as one JSON object."""
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
    return json.dumps(told, ensure_ascii=False, indent=2) + "\n"


def _move_json(recording: Recording, judged: JudgedMove) -> dict[str, object]:
    return {
        "move": judged.number,
        "seat": judged.seat,
        "piece": judged.move.piece,
        "field": judged.move.field,
        "before": _rounded(judged.before),
        "after": _rounded(judged.after),
        "swing": round(judged.swing, _DIGITS),
        "reasons": reasons(recording, judged, judged.move),
        "better": None if judged.better is None else _better_json(recording, judged, judged.better),
    }


def _better_json(recording: Recording, judged: JudgedMove, better: Better) -> dict[str, object]:
    move: Place = better.move
    return {
        "piece": move.piece,
        "field": move.field,
        "chance": round(better.chance, _DIGITS),
        "instead_of": round(better.instead_of, _DIGITS),
        "reasons": reasons(recording, judged, move),
    }


def _rounded(chances: tuple[float, ...]) -> list[float]:
    return [round(chance, _DIGITS) for chance in chances]
