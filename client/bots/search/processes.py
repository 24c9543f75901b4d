"""Searches in processes of their own, so that the connections and screens of this one never wait for them."""

import asyncio
import random
from typing import Final

from anyio import CapacityLimiter

from client.bots.processes import ATTEMPTS, ProcessesLost, in_process
from client.bots.search.brain import SearchBrain, chosen, seed_from
from client.language import _
from engine.events import Command
from engine.legal import Legal, LegalPlaces
from engine.view import View

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
    limiter, seconds = CapacityLimiter(cores), brain.seconds + _SPARE_SECONDS
    failed: Exception | None = None
    try:
        async with asyncio.TaskGroup() as tasks:
            searches = [
                tasks.create_task(in_process(brain.visits, view, seed, limiter=limiter, seconds=seconds))
                for seed in seeds
            ]
    except* ProcessesLost as group:
        failed = group.exceptions[0]  # one is enough to report
    if failed is not None:
        text = _("a process of the search ended or did not answer, {n} times in a row")
        raise SearchFailed(text.format(n=ATTEMPTS)) from failed
    return chosen(legal, [search.result() for search in searches], rng)
