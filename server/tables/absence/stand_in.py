"""The stand-in: the bot that plays for absent players, knowing no more than their seats do."""

import asyncio
import logging
import random
from concurrent.futures import ThreadPoolExecutor

from engine.events import Command, LayTile, Place
from engine.game import Game
from engine.legal import Legal, random_command
from engine.redaction import snapshot
from engine.view import View, eyes_of
from server.config import Choose
from server.logs import about

log = logging.getLogger(__name__)


class StandIn:
    """One stand-in for all tables: it thinks about one move at a time, in a thread of its own."""

    def __init__(self, choose: Choose | None, seed: int | None) -> None:
        self._choose = choose
        self._rng = random.SystemRandom() if seed is None else random.Random(seed)
        # One thread: more of them would compete with the event loop for the interpreter, and gain nothing.
        self._thread = ThreadPoolExecutor(1, "stand-in")
        self._complained = False

    def thinks(self, game: Game) -> asyncio.Future[Command]:
        """Start thinking for the seat on turn."""
        legal = game.legal()
        assert legal is not None  # noqa: S101 - a stand-in is asked in a running game
        view = snapshot(game.view, eyes_of(legal.seat))
        return asyncio.get_running_loop().run_in_executor(self._thread, self._chosen, view, legal)

    def close(self) -> None:
        """Stop thinking."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _chosen(self, view: View, legal: Legal) -> Command:
        if self._choose is None:
            return random_command(legal, self._rng)
        try:
            command = self._choose(view, legal, self._rng)
        except Exception as error:  # noqa: BLE001 - whatever fails in a host's own brain, the game goes on
            # Only its type is logged: the message may reveal the seat's hand.
            self._complain(f"raised {type(error).__name__}")
        else:
            if isinstance(command, LayTile | Place) and command in list(legal.commands()):
                return command
            self._complain("chose what is not legal")
        return random_command(legal, self._rng)

    def _complain(self, what: str) -> None:
        if not self._complained:
            self._complained = True
            log.warning("the stand-in failed and moves at random", extra=about(reason=what))
