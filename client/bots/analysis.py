"""A finished game analysed in processes of its own: everybody's chances after each move, and better moves.

The chances are those of somebody who sees everything, as the record does: they come true more often than a
spectator's, and what a move did shows at once and not when the wolves are turned up. Whether another move
was better is judged by what the player to move saw.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple

from anyio import CapacityLimiter

from client.bots.processes import ATTEMPTS, ProcessesLost, in_process, tasks_failing_alike
from client.bots.search.advice import CLEARLY_BETTER, better, chances_in, shares_of_wins, unknown
from client.language import _
from client.records import (
    DECIDING,
    Analysis,
    Better,
    Captives,
    Chances,
    Contest,
    HiddenWolf,
    JudgedMove,
    LostOn,
    Recording,
    Slip,
)
from engine.events import Place, Placed
from engine.pieces import Seat
from engine.view import SPECTATOR, Phase, View, eyes_of


@dataclass(frozen=True, slots=True)
class JudgedMoment:
    """A stop of a recording with everything open; after a placement, also the stop before it.

    That is known as it was, and as the player saw it. After the last placement the chances are what the game
    came to.
    """

    stop: int
    open: View
    before: View | None = None
    own: View | None = None
    move: Place | None = None
    came_to: Chances | None = None


class Verdict(NamedTuple):
    """The chances at a moment, and of the move that led to it a better one, or the wolf that hid one."""

    chances: Chances
    better: Better | None = None
    unknown: HiddenWolf | None = None


def moments(recording: Recording, result: Chances) -> list[JudgedMoment]:
    """Return the moments to judge: from the last tile on, each one in turn up to the last piece."""
    found: list[JudgedMoment] = []
    for stop in range(recording.moves + 1):
        view = recording.view(stop, recording.all_eyes)
        if view.phase is Phase.LAYING:
            continue
        placed = recording.events[recording.counts[stop] - 1]
        if not isinstance(placed, Placed):
            found.append(JudgedMoment(stop, view))
            continue
        own = recording.view(stop - 1, eyes_of(placed.seat))
        move = Place(placed.seat, placed.piece, placed.field)
        found.append(JudgedMoment(stop, view, found[-1].open, own, move, None if view.to_place else result))
    return found


def judge_moment(moment: JudgedMoment, simulations: int, seed: int) -> Verdict:
    """Return the chances at a moment, and a better move than the one that led to it, if one was found.

    If none was, although its player lost much by it, there may be a hidden wolf that explains it.
    """
    name = f"{seed} {moment.stop}"
    chances = moment.came_to or _chances(moment.open, simulations, name)
    if moment.own is None or moment.before is None or moment.move is None:
        return Verdict(chances)
    if (found := better(moment.own, moment.move, simulations, name)) is not None:
        return Verdict(chances, found)
    before, seat = _chances(moment.before, simulations, f"{seed} {moment.stop - 1}"), moment.move.seat
    if before[seat] - chances[seat] < DECIDING:
        return Verdict(chances)
    return Verdict(chances, None, unknown(moment.own, moment.before, moment.move, simulations, name))


def _chances(view: View, simulations: int, seed: str) -> Chances:
    return chances_in(view, shares_of_wins(view, simulations, seed))


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


async def run_analysis(
    recording: Recording, effort: Effort, told: Callable[[Analysis], None], begun: Analysis | None = None
) -> Analysis:
    """Return the analysis of a finished game; `told` is called with what there is of it, again and again.

    The same effort leads to the same analysis, on any number of cores, also after what was `begun`. The
    processes end with the event loop, and those that work when it is cancelled end at once. Raises
    NothingToAnalyse or ProcessesLost.
    """
    result = recording.view(recording.end, SPECTATOR).result
    if result is None:
        raise NothingToAnalyse
    won = tuple(float(seat in result.winners) / len(result.winners) for seat in recording.seats)
    ahead = moments(recording, won)
    analysis = begun or Analysis(
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
    waiting = iter(range(analysis.judged, len(ahead)))
    limiter = CapacityLimiter(effort.cores)

    async def judge() -> None:
        nonlocal analysis
        for index in waiting:
            moment = ahead[index]
            work = partial(judge_moment, moment, effort.simulations, effort.seed)
            try:
                verdicts[index] = await in_process(work, limiter=limiter)
            except ProcessesLost as error:
                text = _("The process that was analysing move {number} ended, {n} times in a row.")
                raise ProcessesLost(text.format(number=moment.stop, n=ATTEMPTS)) from error
            before = analysis
            while (verdict := verdicts.get(analysis.judged)) is not None:
                moment = ahead[analysis.judged]
                if analysis.start is None or moment.move is None:
                    analysis = replace(analysis, start=verdict.chances)
                else:
                    then = analysis.curve[-1]
                    move = JudgedMove(moment.stop, moment.move, then, *verdict)
                    analysis = replace(analysis, moves=(*analysis.moves, move))
            if analysis is not before:
                told(analysis)

    async with tasks_failing_alike() as tasks:
        for _core in range(effort.cores):
            tasks.create_task(judge())
    return analysis


async def slips_of(recording: Recording, seat: Seat) -> tuple[Slip, ...]:
    """Return the seat's moves that were clearly not the best. Raises ProcessesLost."""
    faults = []
    limiter = CapacityLimiter(1)
    for moment in moments(recording, ()):
        own, move = moment.own, moment.move
        if own is None or move is None or move.seat != seat:
            continue
        name = f"0 {moment.stop}"
        found = await in_process(better, own, move, USUAL_SIMULATIONS, name, limiter=limiter)
        if found is not None and found.gain >= CLEARLY_BETTER:
            best, played = (f"{each.piece} {each.field}" for each in (found.move, move))
            faults.append(Slip(moment.stop - 1, best, played, round(found.gain, 3), _lost_on(found)))
    return tuple(faults)


def _lost_on(found: Better) -> LostOn:
    match found.reasons:
        case [Contest(seat=seat), *_]:
            return "hill" if seat == found.move.seat else "rival"
        case [Captives(captor=captor), *_]:
            return "captives" if captor == found.move.seat else "soldiers"
        case _:
            return "all"


class Analyses:
    """Analyses finished games beside a screen; one that was left is continued when it is asked for again."""

    def __init__(self) -> None:
        self._begun: list[tuple[Recording, Analysis]] = []

    async def __call__(self, recording: Recording, told: Callable[[Analysis], None]) -> str:
        """Analyse a finished game; return what went wrong, if anything."""
        others = [each for each in self._begun if each[0].events != recording.events]
        begun = self._begun_for(recording)

        def keep(analysis: Analysis) -> None:
            self._begun = [*others[1 - _KEPT :], (recording, analysis)]
            told(analysis)

        try:
            await run_analysis(recording, Effort(), keep, begun)
        except ProcessesLost as error:
            return str(error)
        return ""

    def knows(self, recording: Recording) -> bool:
        begun = self._begun_for(recording)
        return begun is not None and begun.complete

    def _begun_for(self, recording: Recording) -> Analysis | None:
        return next((analysis for known, analysis in self._begun if known.events == recording.events), None)


_KEPT: Final = 5  # games
