"""Searches in processes of their own, so that the connections and screens of this one never wait for them."""

import asyncio
import random
from typing import Final

from anyio import BrokenWorkerProcess, CapacityLimiter, to_process

from client.bots.search.brain import SearchBrain, chosen, seed_from
from client.bots.search.tree import Visits
from client.language import _
from engine.events import Command
from engine.legal import Legal, LegalPlaces
from engine.view import View

# A process that is killed, for lack of memory say, is replaced; so is one that is late, as all are when this
# program is stopped for a while by Ctrl-Z.
_ATTEMPTS: Final = 3
_LOST: Final = (
    BrokenWorkerProcess,
    ProcessLookupError,
    TimeoutError,
)  # the second if it ended while it started
_SPARE_SECONDS: Final = 30.0  # to start a process, and to notice that the time is up, on a busy machine


class SearchFailed(Exception):
    """The processes ended or did not answer, again and again."""


async def searched(
    brain: SearchBrain, view: View, legal: Legal, rng: random.Random, cores: int = 1
) -> Command:
    """Return the command of the brain, found with a search on each of so many cores.

    On one core it is the same command as without a process. The processes stay for the next search, and end
    with the event loop; those of a cancelled search end at once. Raises SearchFailed.
    """
    if not isinstance(legal, LegalPlaces):
        return brain(view, legal, rng)
    seeds = [seed_from(rng) for _ in range(cores)]
    limiter = CapacityLimiter(cores)
    failed: Exception | None = None
    try:
        async with asyncio.TaskGroup() as tasks:
            searches = [tasks.create_task(_visits(brain, view, seed, limiter)) for seed in seeds]
    except* _LOST as group:
        failed = group.exceptions[0]  # one is enough to report
    if failed is not None:
        text = _("a process of the search ended or did not answer, {n} times in a row")
        raise SearchFailed(text.format(n=_ATTEMPTS)) from failed
    return chosen(legal, [search.result() for search in searches], rng)


async def _visits(brain: SearchBrain, view: View, seed: int, limiter: CapacityLimiter) -> Visits:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            async with asyncio.timeout(brain.seconds + _SPARE_SECONDS):
                await _ready_process(limiter)
                return await to_process.run_sync(brain.visits, view, seed, cancellable=True, limiter=limiter)
        except _LOST:
            if attempt == _ATTEMPTS:
                raise
    raise AssertionError("the last attempt returns or raises")


async def _ready_process(limiter: CapacityLimiter) -> None:
    """Wait until there is a process, even if cancelled: anyio loses sight of one that is just starting."""
    starting = asyncio.ensure_future(to_process.run_sync(_nothing, limiter=limiter))
    try:
        await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.wait([starting])
        raise


def _nothing() -> None:
    """Show that the process answers."""
