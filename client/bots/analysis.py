"""A finished game analysed in processes of its own: everybody's chances after each move, and better moves.

A search takes everybody for as good as itself, and its simulations follow few lines of play. So the shares
are drawn apart, or towards each other, by a stretch of their logits (Guo et al., "On Calibration of Modern
Neural Networks", ICML 2017), which was fitted on games between bots: `python -m bench.bots.calibration --fit`
does that, and without the option it shows how right the chances are.

The chances are those of somebody who sees everything, as the record does: they come true more often than a
spectator's, and what a move did shows at once and not when the wolves are turned up. Whether another move
was better is judged by what the player on turn saw.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from anyio import CapacityLimiter

from client.bots.processes import ATTEMPTS, ProcessesLost, in_process
from client.bots.search.brain import SearchBrain
from client.bots.search.tree import Search
from client.language import _
from client.records import Analysis, Better, Chances, JudgedMove, Recording
from engine.events import Place, Placed
from engine.legal import LegalPlaces
from engine.redaction import snapshot
from engine.view import SPECTATOR, Phase, View, eyes_of, free_fields

Shares: TypeAlias = tuple[float, ...]  # by seat; they add up to 1, and none is 0 or 1

# Each search settles on few lines of play, so two that are half as long judge better than one (measured).
_SEARCHES: Final = 2


def shares_of_wins(view: View, simulations: int, seed: str) -> Shares:
    """Return everybody's share of the wins in games from `view` on, the placing phase, to the end."""
    wins = [1.0 / view.seats] * view.seats  # one more game, in which everybody is as good
    rng = random.Random(seed)
    for _search in range(_SEARCHES):
        Search(view, rng, wins).run(simulations // _SEARCHES)
    total = sum(wins)
    return tuple(each / total for each in wins)


# The stretch before the first piece is placed, and what it gains until the last one is.
FITTED: Final = (1.25, -0.45)


def chances_of(shares: Shares, placed: float, fitted: tuple[float, float] = FITTED) -> Shares:
    """Return the chances of winning, when this part of all pieces, from 0 to 1, is placed."""
    start, gain = fitted
    stretched = [share ** (start + gain * placed) for share in shares]
    total = sum(stretched)
    return tuple(each / total for each in stretched)


def part_placed(to_place: int, dealt: int) -> float:
    return 1.0 - to_place / dealt


_WORTH_SAYING: Final = 0.05  # a move that improves the player's chance by less is as good as the one played
_NO_HURRY: Final = float("inf")  # seconds: the simulations alone decide how long a search takes


@dataclass(frozen=True, slots=True)
class Moment:
    """A stop of a recording with everything open; after a placement, also what its player saw before it.

    After the last placement the chances are what the game came to.
    """

    stop: int
    open: View
    own: View | None = None
    move: Place | None = None
    came_to: Chances | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The chances at a moment, and a better move than the one that led to it, if one was found."""

    chances: Chances
    better: Better | None


def moments(recording: Recording, result: Chances) -> list[Moment]:
    """Return the moments to judge: from the last tile on, each one in turn up to the last piece."""
    found: list[Moment] = []
    for stop in range(recording.moves + 1):
        view = recording.view(stop, recording.all_eyes)
        if view.phase is Phase.LAYING:
            continue
        placed = recording.events[recording.counts[stop] - 1]
        if not isinstance(placed, Placed):
            found.append(Moment(stop, view))
            continue
        own = recording.view(stop - 1, eyes_of(placed.seat))
        move = Place(placed.seat, placed.piece, placed.field)
        found.append(Moment(stop, view, own, move, None if view.to_place else result))
    return found


def judged(moment: Moment, simulations: int, seed: int) -> Verdict:
    """Return the verdict on a moment; every search in it makes so many simulations."""
    name = f"{seed} {moment.stop}"
    chances = moment.came_to or chances_in(moment.open, simulations, f"{name} chances")
    if moment.own is None or moment.move is None:
        return Verdict(chances, None)
    return Verdict(chances, _better(moment.own, moment.move, simulations, name))


def chances_in(view: View, simulations: int, seed: str) -> Chances:
    dealt = sum(sum(hand.values()) for hand in view.start.hands)
    return chances_of(shares_of_wins(view, simulations, seed), part_placed(view.to_place, dealt))


def _better(own: View, move: Place, simulations: int, name: str) -> Better | None:
    best = _searched(own, move, simulations, f"{name} best")
    if (best.piece.kind, best.field) == (move.piece.kind, move.field):
        return None
    # The same seed for both, so that chance helps neither.
    chance, instead_of = (
        chances_in(after(own, each), simulations, f"{name} after")[move.seat] for each in (best, move)
    )
    return Better(best, chance, instead_of) if chance - instead_of >= _WORTH_SAYING else None


def _searched(own: View, move: Place, simulations: int, seed: str) -> Place:
    rng = random.Random(seed)
    brain = SearchBrain(simulations, _NO_HURRY)
    legal = LegalPlaces(move.seat, tuple(own.hands[move.seat]), free_fields(own))
    best = brain.chosen(own, legal, [brain.visits(own, rng.getrandbits(64))], rng)
    if best.piece.kind is move.piece.kind:  # so that people and wolf do not differ without need
        return Place(move.seat, move.piece, best.field)
    return best


def after(own: View, move: Place) -> View:
    there = snapshot(own, own.eyes)
    there.fold(Placed(move.seat, move.piece, move.field))
    return there


SIMULATIONS: Final = range(100, 100_001)
USUAL_SIMULATIONS: Final = 1000


class NothingToAnalyse(Exception):
    """The game is not finished."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How a game is analysed: so many simulations for each judgement, on so many cores."""

    simulations: int = USUAL_SIMULATIONS
    seed: int = 0
    cores: int = 1


async def analysed(recording: Recording, effort: Effort, told: Callable[[Analysis], None]) -> Analysis:
    """Return the analysis of a finished game; `told` is called with what there is of it, again and again.

    The same effort leads to the same analysis, on any number of cores. The processes end with the event loop,
    and those that work when it is cancelled end at once. Raises NothingToAnalyse or ProcessesLost.
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
                raise ProcessesLost(text.format(number=moment.stop, n=ATTEMPTS)) from error
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
    except ProcessesLost as error:
        return str(error)
    return ""


def _with(analysis: Analysis, moment: Moment, verdict: Verdict) -> Analysis:
    if analysis.start is None or moment.move is None:
        return replace(analysis, start=verdict.chances)
    before = analysis.curve[-1]
    move = JudgedMove(moment.stop, moment.move, before, verdict.chances, verdict.better)
    return replace(analysis, moves=(*analysis.moves, move))
