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
from client.reasons import aim_of, reason_for
from client.records import Better, Suggestion
from engine.events import Place
from engine.legal import Legal, LegalPlaces
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
            return Suggestion(move, reason_for(move, view, legal), other, better, aim_of(move, view))
    command = await asyncio.to_thread(greedy, view, legal, rng)
    return Suggestion(command, reason_for(command, view, legal), aim=aim_of(command, view))


async def compare(view: View, move: Place, other: Place) -> Better | None:
    """Return how much better a move is than another, None if they are equal, as the event loop goes on."""
    limiter = CapacityLimiter(1)
    on_average = partial(compare_moves, surely=False)  # a problem has a best move for sure
    return await in_process(on_average, view, move, other, SIMULATIONS, "problem", limiter=limiter)
