"""Hints: the move that a search advises, how it compares with the next best, and what speaks for it."""

import asyncio
import contextlib
import random
from functools import partial
from typing import Final

from anyio import CapacityLimiter

from client.bots.greedy import greedy
from client.bots.processes import ProcessesLost, in_process
from client.bots.search.advice import advise, compare_moves
from client.language import _, counted
from client.records import Better, Suggestion
from engine.board import has_spring
from engine.events import Command, Place
from engine.legal import Legal, LegalPlaces
from engine.pieces import Kind, Piece
from engine.view import View

SIMULATIONS: Final = 1000
_MOST_SECONDS: Final = 30.0  # until the process is taken to be lost; a hint takes a second or two


async def suggest_move(view: View, legal: Legal) -> Suggestion:
    """Return the move that promises most, and why; the event loop goes on meanwhile."""
    rng = random.Random()
    if isinstance(legal, LegalPlaces):
        with contextlib.suppress(ProcessesLost):  # a simpler move is better than none
            seed, limiter = str(rng.getrandbits(64)), CapacityLimiter(1)
            work = partial(advise, view, legal.seat, SIMULATIONS, seed)
            move, other, better = await in_process(work, limiter=limiter, seconds=_MOST_SECONDS)
            return Suggestion(move, reason_for(move, view, legal), other, better)
    command = await asyncio.to_thread(greedy, view, legal, rng)
    return Suggestion(command, reason_for(command, view, legal))


async def compare(view: View, move: Place, other: Place) -> Better | None:
    """Return how much better a move is than another, None if they are equal, as the event loop goes on."""
    limiter = CapacityLimiter(1)
    on_average = partial(compare_moves, surely=False)  # a problem has a best move for sure
    return await in_process(on_average, view, move, other, SIMULATIONS, "problem", limiter=limiter)


def reason_for(command: Command, view: View, legal: Legal) -> str:
    """Return what speaks for a move, besides what it does at once."""
    if not isinstance(command, Place) or not isinstance(legal, LegalPlaces):
        if legal.seat == view.start.starting:
            return _("Springs lie close together there: you place first, and can take the best field.")
        return _("Springs lie apart there: whoever places first has less to gain.")
    reasons, piece = [], command.piece
    empty = sum(field not in view.placed for field in view.layout.adjacent(command.field))
    if piece.kind is Kind.MERCHANT and empty:
        form = counted(
            "{n} field beside it is empty: a piece placed there will add to it.",
            "{n} fields beside it are empty: pieces placed there will add to it.",
            empty,
        )
        reasons.append(form.format(n=empty))
    if piece.kind is Kind.SOLDIER and empty:
        form = counted(
            "{n} field beside it is empty: it may capture what is placed there.",
            "{n} fields beside it are empty: it may capture what is placed there.",
            empty,
        )
        reasons.append(form.format(n=empty))
    springs = sum(map(has_spring, (command.field, *view.layout.adjacent(command.field))))
    if piece.kind is Kind.FARMER and springs:
        form = counted(
            "{n} spring on or beside the field gives it 2, whatever is placed there.",
            "{n} springs on or beside the field give it 2 each, whatever is placed there.",
            springs,
        )
        reasons.append(form.format(n=springs))
    if piece.wolf and Piece(str(piece).removesuffix("*")) in legal.pieces:
        reasons.append(_("As a wolf it shows nobody what it is until the end."))
    return " ".join(reasons)
