"""The stand-in and the server's bots: they choose moves, knowing no more than their seats do."""

import asyncio
import logging
import random
from collections.abc import Mapping

from engine.events import Command, LayTile, Place
from engine.game import Game
from engine.legal import Legal, random_command
from engine.redaction import snapshot
from engine.view import View, eyes_of
from server.config import Choose
from server.logs import about
from server.tables.absence.fair_thread import FairThread

log = logging.getLogger(__name__)


class StandIn:
    """Chooses moves for all tables: for absent players with one brain, for bots with that of their level."""

    def __init__(
        self, choose: Choose | None, brains: Mapping[str, Choose], seed: int | None, share: float
    ) -> None:
        self.levels = tuple(brains)
        self._choose = choose
        self._brains = brains
        self._rng = random.SystemRandom() if seed is None else random.Random(seed)
        self._thread: FairThread[Command] = FairThread("bots", share)
        self._complained = False

    def thinks(self, game: Game, level: str | None, origin: str) -> asyncio.Future[Command]:
        """Start thinking for the seat on turn, at a table that was opened from `origin`.

        A bot whose level is no longer there plays as the stand-in does.
        """
        legal = game.legal()
        assert legal is not None  # noqa: S101 - a stand-in is asked in a running game
        view = snapshot(game.view, eyes_of(legal.seat))
        choose = self._choose if level is None else self._brains.get(level, self._choose)
        return self._thread.do(lambda: self._chosen(choose, view, legal), origin)

    def close(self) -> None:
        """Stop thinking."""
        self._thread.close()

    def _chosen(self, choose: Choose | None, view: View, legal: Legal) -> Command:
        if choose is None:
            return random_command(legal, self._rng)
        try:
            command = choose(view, legal, self._rng)
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
