"""The stand-in and the server's bots: they choose moves, knowing no more than their seats do."""

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final
from weakref import WeakKeyDictionary

from engine.events import Command, LayTile, Place
from engine.game import Game
from engine.legal import Legal, random_command
from engine.pieces import Seat
from engine.redaction import snapshot
from engine.view import View, eyes_of
from protocol.bot_names import source_of_names
from protocol.bot_pace import seconds_to_move
from server.config import Choose, Config, InProcess
from server.limits.fair_thread import FairThread
from server.limits.networks import networks_in
from server.monitoring.failures import Tasks
from server.monitoring.logs import about
from server.probes import probe
from server.thinking.messages import Question, pack_frame
from server.thinking.processes import ThinkingFailed, ThinkingProcesses

log = logging.getLogger(__name__)


_ILLEGAL: Final = "chose what is not legal"
_WHOLE_PROCESSOR: Final = 1.0
_ATTEMPTS_IN_TIME: Final = 3  # that a process may be given up and there is still time for another


class Pace:
    """Says how long a move takes, so that the time reveals neither the hand nor the thinking.

    With people a `human` bot takes its time; otherwise it takes exactly this many `seconds`.
    """

    def __init__(self, seconds: float, seed: int | None, *, human: bool) -> None:
        self._seconds = seconds
        self._human = human
        self._rng = random.SystemRandom() if seed is None else random.Random(f"{seed} pace")

    def pause(self, view: View, *, with_people: bool, late: bool = False) -> float:
        """Return how many seconds a bot's move takes; only public parts of the view may affect this.

        One that was not chosen in time comes `late`: made immediately, it would reveal when it was chosen.
        """
        if not (self._human and with_people):
            return 0.0 if late else self._seconds
        return self._seconds * seconds_to_move(view, self._rng)


class StandIn:
    """Chooses moves for all tables: for absent players with one brain, for bots with that of their level.

    Slow brains think in processes, the others in a thread, which works even when there is no process.
    """

    def __init__(self, config: Config, tasks: Tasks) -> None:
        self.levels = tuple(config.brains)
        self._choose = config.stand_in
        self._brains = {**config.former_brains, **config.brains}
        # The first one that does not take long.
        brains = self._choose, *[*config.brains.values()][::-1]
        self._simple = next((each for each in brains if each and not isinstance(each, InProcess)), None)
        self._rng = random.SystemRandom() if config.seed is None else random.Random(config.seed)
        self.naming = source_of_names(config.seed)
        self.pace = Pace(config.limits.stand_in_seconds, config.seed, human=config.human_pace)
        self._tasks = tasks
        limits = config.limits
        self._seconds = limits.bots_seconds
        self._thread: FairThread[Command] = FairThread("bots", min(limits.bots_cpu, _WHOLE_PROCESSOR))
        self._processes = ThinkingProcesses(tasks, limits.bots_cpu, limits.bots_seconds / _ATTEMPTS_IN_TIME)
        self._thoughts: set[asyncio.Task[Command]] = set()
        # What brains keep from one move to the next, by seat and level, while the server runs.
        self._kept: WeakKeyDictionary[Game, dict[tuple[Seat, str | None], bytes]] = WeakKeyDictionary()
        self._complained_of_brain = self._complained_of_process = False

    def thinks(
        self, game: Game, level: str | None, origin: str, earlier: Sequence[View] = ()
    ) -> asyncio.Future[Command]:
        """Start thinking for the seat whose turn it is, at a table opened from `origin`.

        A bot whose level no longer exists plays like the stand-in. A slow one may learn from the ends of
        `earlier` games with the same players.
        """
        legal = game.legal()
        assert legal is not None  # noqa: S101 - a stand-in is asked in a running game
        view = snapshot(game.view, eyes_of(legal.seat))
        brain = self._choose if level is None else self._brains.get(level, self._choose)
        if not isinstance(brain, InProcess):
            return self._quickly(brain, view, legal, origin)
        seen = tuple(snapshot(each, eyes_of(legal.seat)) for each in earlier)
        kept, player, seed = self._kept.setdefault(game, {}), (legal.seat, level), self._rng.getrandbits(64)
        question = Question(brain.choose, view, legal, seed, seen, kept.get(player, b""))
        keep = partial(kept.__setitem__, player)
        thought = self._tasks.start(self._elsewhere(question, origin, keep), "thinking")
        self._thoughts.add(thought)
        thought.add_done_callback(self._thoughts.discard)
        return thought

    def close(self) -> None:
        self._thread.close()
        for thought in self._thoughts:
            thought.cancel()
        self._processes.close()

    def _quickly(
        self, brain: Choose | None, view: View, legal: Legal, origin: str
    ) -> asyncio.Future[Command]:
        return self._thread.do(lambda: self._pick_command(brain, view, legal), networks_in(origin))

    async def _elsewhere(self, question: Question, origin: str, keep: Callable[[bytes], None]) -> Command:
        """Think in a process; if that fails or takes too long, with the best of the simple brains."""
        try:
            frame = pack_frame(question)
            async with asyncio.timeout(self._seconds):
                answer = await self._processes.ask(frame, networks_in(origin))
            if (command := _find_legal(answer.command, question.legal)) is not None:
                keep(answer.kept)
                return command
            self._complain_of_process(f"raised {answer.error}" if answer.error else _ILLEGAL)
        except (ThinkingFailed, TimeoutError):
            probe("a thinking process does not answer in time")
            self._complain_of_process("no answer in time")
        except Exception as error:  # noqa: BLE001 - whatever fails in a host's own brain, the game goes on
            self._complain_of_process(f"raised {type(error).__name__}")
        return await self._quickly(self._simple, question.view, question.legal, origin)

    def _pick_command(self, choose: Choose | None, view: View, legal: Legal) -> Command:
        if choose is None:
            return random_command(legal, self._rng)
        try:
            command = choose(view, legal, self._rng)
        except Exception as error:  # noqa: BLE001 - whatever fails in a host's own brain, the game goes on
            # Only its type is logged: the message may reveal the seat's hand.
            self._complain_of_brain(f"raised {type(error).__name__}")
        else:
            if (legal_one := _find_legal(command, legal)) is not None:
                return legal_one
            self._complain_of_brain(_ILLEGAL)
        return random_command(legal, self._rng)

    def _complain_of_brain(self, why: str) -> None:
        if not self._complained_of_brain:  # once is enough
            probe("a brain fails")
            self._complained_of_brain = True
            log.warning("the stand-in failed and moves at random", extra=about(reason=why))

    def _complain_of_process(self, why: str) -> None:
        if not self._complained_of_process:
            self._complained_of_process = True
            log.warning("a bot failed and a simpler one moves for it", extra=about(reason=why))


def _find_legal(command: object, legal: Legal) -> Command | None:
    """Return what a brain has chosen if it is legal; not its own object, which may only equal that."""
    legal_commands = legal.commands() if isinstance(command, LayTile | Place) else ()
    return next((each for each in legal_commands if each == command), None)
