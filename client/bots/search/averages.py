"""What seats got on average when a kind of piece stood on a field at the end, and playout moves by that.

This is the move-average sampling technique, MAST (Finnsson and Björnsson, "Simulation-Based Approach to
General Game Playing", AAAI 2008). Instead of by Gibbs sampling, a playout's field is picked as the best of a
few random ones, from tables that are made anew now and then: this takes no arithmetic in the playout.
"""

import functools
from collections.abc import Callable
from operator import itemgetter
from typing import Final

from engine.board import FIELDS
from engine.terrain import EMPTY, FARMER, Occupant

_PICKS: Final = 256  # a random byte picks

_OF: Final = 4  # a pick is the best of so many random fields; 8 plays worse
_VISIT: Final = (
    2.0**20
)  # an entry holds visits * _VISIT + the sum of utilities, so that one addition counts both
_KINDS: Final = 3


class Averages:
    """Averages by occupant and field, over the simulations so far; `fields` are those that can differ."""

    def __init__(self, seats: int, free: list[int], fields: list[int]) -> None:
        self._occupants = [kind * FARMER + seat for kind in range(_KINDS) for seat in range(seats)]
        self._fields = fields
        self._sums = [[0.0] * len(FIELDS) for _ in range(EMPTY + 1)]
        self.means = [[0.5] * len(FIELDS) for _ in range(EMPTY)]
        self.ranked = [free] * EMPTY  # the free fields, those with the greatest averages first
        self.picks = [tuple(free[pick % len(free)] for pick in range(_PICKS))] * EMPTY
        self._picked: Callable[[list[int]], tuple[int, ...]] = itemgetter(*_ranks(len(free)))

    def add(self, board: list[Occupant], utilities: list[float]) -> None:
        """Count the end of a simulation."""
        sums = self._sums
        added = [_VISIT + utility for utility in utilities] + [0.0] * (FARMER - len(utilities))
        added *= _KINDS
        added.append(0.0)  # an empty field
        for field in self._fields:
            found = board[field]
            sums[found][field] += added[found]

    def refresh(self) -> None:
        """Work out the averages, the ranks and the picks anew."""
        for occupant in self._occupants:
            means, sums = self.means[occupant], self._sums[occupant]
            for field in self._fields:
                if entry := sums[field]:
                    visits = entry // _VISIT
                    means[field] = (entry - visits * _VISIT + 0.5) / (visits + 1.0)
            ranked = sorted(self.ranked[occupant], key=means.__getitem__, reverse=True)
            self.ranked[occupant] = ranked
            self.picks[occupant] = self._picked(ranked)


@functools.cache
def _ranks(count: int) -> tuple[int, ...]:
    """Return ranks of which a random one is distributed like the least of `_OF` random ones below `count`."""
    quantiles = ((pick + 0.5) / _PICKS for pick in range(_PICKS))
    return tuple(int(count * (1.0 - quantile ** (1.0 / _OF))) for quantile in quantiles)
