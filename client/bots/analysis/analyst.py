"""A game analysed in processes of its own, moment after moment."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from anyio import CapacityLimiter

from client.bots.analysis.moves import Moment, Verdict, judged, moments
from client.bots.processes import ATTEMPTS, ProcessesLost, in_process
from client.language import _
from client.records.analysis import Analysis, JudgedMove
from client.records.recording import Recording
from engine.view import SPECTATOR

SIMULATIONS: Final = range(100, 100_001)
USUAL_SIMULATIONS: Final = 1000


class NothingToAnalyse(Exception):
    """The game is not finished."""


class AnalysisFailed(Exception):
    """The processes that were to judge a move ended again and again; the text says so."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How a game is analysed: so many simulations for each judgement, on so many cores."""

    simulations: int = USUAL_SIMULATIONS
    seed: int = 0
    cores: int = 1


async def analysed(recording: Recording, effort: Effort, told: Callable[[Analysis], None]) -> Analysis:
    """Return the analysis of a finished game; `told` is called with what there is of it, again and again.

    The same effort leads to the same analysis, on any number of cores. The processes end with the event loop,
    and those that work when it is cancelled end at once. Raises NothingToAnalyse or AnalysisFailed.
    """
    result = recording.view(recording.end, SPECTATOR).result
    if result is None:
        raise NothingToAnalyse
    won = tuple(float(seat in result.winners) / len(result.winners) for seat in recording.seats)
    ahead = moments(recording, won)
    analysis = Analysis(
        names=recording.names,
        first=ahead[0].stop,
        start=None,
        moves=(),
        wanted=len(ahead) - 1,
        result=won,
        simulations=effort.simulations,
        seed=effort.seed,
    )
    told(analysis)
    verdicts: dict[int, Verdict] = {}
    waiting = iter(range(len(ahead)))
    limiter = CapacityLimiter(effort.cores)

    async def judge() -> None:
        nonlocal analysis
        for index in waiting:
            moment = ahead[index]
            try:
                verdicts[index] = await in_process(
                    judged, moment, effort.simulations, effort.seed, limiter=limiter
                )
            except ProcessesLost as error:
                text = _("The process that was analysing move {number} ended, {n} times in a row.")
                raise AnalysisFailed(text.format(number=moment.stop, n=ATTEMPTS)) from error
            before = analysis
            while (verdict := verdicts.get(analysis.judged)) is not None:
                analysis = _with(analysis, ahead[analysis.judged], verdict)
            if analysis is not before:
                told(analysis)

    try:
        async with asyncio.TaskGroup() as tasks:
            for _core in range(effort.cores):
                tasks.create_task(judge())
    except ExceptionGroup as group:
        raise group.exceptions[0] from None  # one is enough to report
    return analysis


async def analyse(recording: Recording, told: Callable[[Analysis], None]) -> str:
    """Analyse a finished game beside a screen; return what went wrong, if anything."""
    try:
        await analysed(recording, Effort(), told)
    except AnalysisFailed as error:
        return str(error)
    return ""


def _with(analysis: Analysis, moment: Moment, verdict: Verdict) -> Analysis:
    """Return the analysis with the moment that follows."""
    if analysis.start is None or moment.move is None:
        return replace(analysis, start=verdict.chances)
    before = analysis.curve[-1]
    move = JudgedMove(moment.stop, moment.move, before, verdict.chances, verdict.better)
    return replace(analysis, moves=(*analysis.moves, move))
