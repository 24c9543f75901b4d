"""When something happens to the servers: after so many moves, at a game's end, or at a rematch."""

import asyncio
import random
from collections import Counter
from typing import Final

from bench.chaos.servers.servers import Servers
from engine.components import DEALS
from simulation.people.plan import Disturbance, Game, Plan
from simulation.verdict import Verdict
from simulation.wiretap import Wiretap

_TILES_TO_LAY: Final = 6


class Disturber:
    """Disturbs the servers as the plan says, one thing after another."""

    def __init__(self, plan: Plan, games: list[Game], counts: Counter[str], verdict: Verdict) -> None:
        self.calm = asyncio.Event()  # nothing is being done to the servers
        self.calm.set()
        self._counts = counts
        self._verdict = verdict
        self._disturbed = asyncio.Event()
        self._kind = Disturbance.KILL
        self._rng = random.Random(plan.seed)
        moves = sum(_moves(game) for game in games)
        # A third of the kills waits for rematches, with players on the way, and a fifth for ends of games,
        # when the server writes records.
        self._kills_at_rematches = max(0, min((plan.kills - 1) // 3, sum(game.again for game in games)))
        self._kills_at_ends = max(0, min((plan.kills - 1) // 5, plan.games))
        self._ended: set[str] = set()  # games at whose end a server was killed, or might have been
        early = self._kills_at_rematches + self._kills_at_ends
        kinds = [Disturbance.KILL] * (plan.kills - 1 - early)
        kinds += [Disturbance.PAUSE] * plan.pauses + [Disturbance.FULL_DISK] * plan.full_disks
        kinds += [Disturbance.DRAIN] * plan.drains + list(plan.faults)
        # Each waits for a number of moves, and then for some pieces of data on their way.
        self._to_come = sorted((self._rng.randrange(moves), self._rng.randrange(40), kind) for kind in kinds)
        self._servers: Servers | None = None

    def carried(self, tap: Wiretap) -> None:
        """Disturb the servers if it is time; called while bytes are on their way."""
        if self._servers is None or self._disturbed.is_set():
            return
        if self._kills_at_ends and tap.ended - self._ended:
            self._ended |= tap.ended
            self._kills_at_ends -= 1
            self._begin(Disturbance.KILL, tap.server)
            return
        if not self._to_come:
            return
        moves, pieces, kind = self._to_come[0]
        if self._counts["moves"] < moves:
            return
        if pieces > 0:
            self._to_come[0] = moves, pieces - 1, kind
            return
        del self._to_come[0]
        self._begin(kind)

    def at_rematch(self) -> None:
        """Kill a server if it is time, while players are on their way to another table."""
        if self._kills_at_rematches and not self._disturbed.is_set():
            self._kills_at_rematches -= 1
            self._begin(Disturbance.KILL)

    def _begin(self, kind: Disturbance, server: str = "") -> None:
        if self._servers is None:
            return
        self._kind = kind
        self._servers.strike(kind, server)
        self.calm.clear()
        self._disturbed.set()

    async def disturb(self, servers: Servers) -> None:
        """Do what falls due, until cancelled; raises NotStarted."""
        self._servers = servers
        while True:
            await self._disturbed.wait()
            self._counts[self._kind.value] += 1
            if (wrong := await servers.carry_out(self._kind)) is not None:
                self._verdict.unfinished.append(wrong)
            self._disturbed.clear()
            self.calm.set()

    async def end(self) -> None:
        """Begin nothing more, and wait until the servers run."""
        self._to_come.clear()
        self._kills_at_rematches = self._kills_at_ends = 0
        await self.calm.wait()


def _moves(game: Game) -> int:
    deal = DEALS[game.players]
    hand = sum(deal.own.values()) + sum(deal.second.values())
    return game.players * hand + (0 if game.random_layout else _TILES_TO_LAY)
