"""Players of a game by letters, who look in for a moment and are away for hours or days."""

import asyncio
from dataclasses import dataclass, field
from typing import Final

from client.tables.table import Closed, TableClosed
from protocol.absence import letter_seconds
from simulation.people.players import End, Player
from simulation.people.visitors import is_over, next_update

_HOUR: Final = 3600.0
_USUAL: Final = 4 * _HOUR  # from one visit to the next, on average
_MOVES_LATER: Final = 0.2  # of the visits on one's turn
_FORGETS: Final = 0.06  # the game for longer than a clock allows
_TICK: Final = 5.0
_TICKS: Final = 3  # of a visit without news


@dataclass(slots=True, kw_only=True)
class Correspondent(Player):
    """Makes its moves on short visits; `moved` tells when, by the numbers of the events before them."""

    moved: dict[int, float] = field(default_factory=dict)

    async def _played_here(self) -> End | None:
        connection, model = self.connection, self.connection.model
        for _ in range(_TICKS):
            if is_over(connection):
                return End.OVER
            if isinstance(await next_update(connection, _TICK), Closed | TableClosed) or model.table is None:
                return None
            if self._may_start(connection):
                await self._start()
            if model.legal is not None and model.view is not None:
                before = model.seq
                moved = self.rng.random() >= _MOVES_LATER and await self._moved(connection)
                if moved and self.moves[-1].outcome == "done":
                    self.moved[before] = asyncio.get_running_loop().time()
                break
        if is_over(connection):
            return End.OVER
        started = model.view is not None
        self.counts["visits"] += started
        await self._open.aclose()
        hours = self.rng.expovariate(1 / _USUAL)
        if started and self.rng.random() < _FORGETS:
            hours += 1.5 * letter_seconds(self.absence)
        await asyncio.sleep(hours if started else self.rng.uniform(0, _HOUR))
        return None
