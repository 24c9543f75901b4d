"""The games of an arena, several at a time, in processes of their own."""

import asyncio
import functools
from collections.abc import Callable, Iterator

from anyio import CapacityLimiter

from client.bots.arena.match import play
from client.bots.arena.schedule import Pairing, Schedule
from client.bots.arena.standings import GameOutcome
from client.bots.processes import ATTEMPTS, ProcessesLost, in_process
from client.language import _, spoken


class GameNotPlayed(Exception):
    """The processes that were to play a game ended again and again; the text says so."""


async def play_all(
    schedule: Schedule,
    processes: int,
    finished: Callable[[GameOutcome], None],
    lost: Callable[[int], None],
    *,
    records: bool = False,
) -> None:
    """Play all games, so many at a time; `finished` is told of each, in the order in which they end.

    A game whose process ends is played again in another, and `lost` is told its number. Raises GameFailed of
    the first brain that fails, or GameNotPlayed; then all games under way end, and so they do when this is
    cancelled.
    """
    pairings, limiter = schedule.pairings(), CapacityLimiter(processes)

    async def play_in_turn(pairings: Iterator[Pairing]) -> None:
        for pairing in pairings:
            try:
                outcome = await in_process(
                    play,
                    schedule,
                    pairing,
                    spoken(),
                    records,
                    limiter=limiter,
                    lost=functools.partial(lost, pairing.number),
                )
            except ProcessesLost as error:
                text = _("The process that played game {number} ended, {n} times in a row.")
                raise GameNotPlayed(text.format(number=pairing.number, n=ATTEMPTS)) from error
            finished(outcome)

    try:
        async with asyncio.TaskGroup() as tasks:
            for _process in range(processes):
                tasks.create_task(play_in_turn(pairings))
    except ExceptionGroup as group:
        raise group.exceptions[0] from None  # one is enough to report
