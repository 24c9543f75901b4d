"""Chances, better moves and what decided a game, in words; `names` are the players' names by seat."""

from collections.abc import Sequence

from client.language import _, counted, listed
from client.records import Analysis, Better, Chances, JudgedMove, Recording
from client.ui.texts.events import describe_forecast
from engine.events import Place
from engine.forecast import forecast
from engine.view import eyes_of


def percent(chance: float) -> str:
    return f"{chance:.0%}"


def describe_chances(chances: Chances, names: Sequence[str]) -> str:
    """Return everybody's chance: `Ann 62%, Bob 38%`."""
    return ", ".join(f"{name} {percent(chance)}" for name, chance in zip(names, chances, strict=True))


def describe_move(move: JudgedMove, names: Sequence[str]) -> str:
    """Return who placed what where: `Move 7: Ann, Em* on C4.`"""
    return _("Move {number}: {name}, {piece} on {field}.").format(
        number=move.number, name=names[move.seat], piece=move.move.piece, field=move.move.field
    )


def describe_change(before: Chances, after: Chances, names: Sequence[str]) -> str:
    """Return everybody's chances before and after: `Ann 62% -> 48%, Bob 38% -> 52%`."""
    return ", ".join(
        f"{name} {percent(then)} -> {percent(now)}"
        for name, then, now in zip(names, before, after, strict=True)
    )


def describe_better(better: Better, name: str) -> str:
    """Return which move was better, and by how much, as its player saw it."""
    return _("Better, as {name} saw it: {piece} on {field} (+{gain}).").format(
        name=name, piece=better.move.piece, field=better.move.field, gain=percent(better.gain)
    )


def reasons(recording: Recording, judged: JudgedMove, move: Place) -> list[str]:
    """Return a move's benefits, as its player could see them before `judged` was played."""
    view = recording.view(judged.number - 1, eyes_of(judged.seat))
    return describe_forecast(forecast(view, judged.seat, move.piece, move.field), recording.names)


def explain(recording: Recording, move: JudgedMove) -> list[str]:
    """Return the better move and its benefits, and those of the move that was played; empty for none."""
    if move.better is None:
        return []
    return [
        " ".join(
            [
                describe_better(move.better, recording.names[move.seat]),
                *reasons(recording, move, move.better.move),
            ]
        ),
        _("The move played: {reasons}").format(reasons=" ".join(reasons(recording, move, move.move))),
    ]


def describe_deciding(analysis: Analysis) -> str:
    """Return which moves decided the game, in one sentence; empty while there are none."""
    numbers = [str(number) for number in sorted(move.number for move in analysis.deciding)]
    if not numbers:
        return ""
    form = counted("Move {numbers} decided most.", "Moves {numbers} decided most.", len(numbers))
    return form.format(numbers=listed(numbers))


def describe_progress(analysis: Analysis) -> str:
    """Return how far the analysis is."""
    return _("{judged} of {wanted} moves analysed").format(judged=len(analysis.moves), wanted=analysis.wanted)
