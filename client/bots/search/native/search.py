"""The compiled search: the same result as `client.bots.search.tree.Search`, sooner."""

import itertools
import math
import random
import time
from typing import Final

from client.bots.search import tuning
from client.bots.search.motives import motives
from client.bots.search.native import kernel
from client.bots.search.native.arrays import Arrays
from client.bots.search.native.building import (
    TUNING,
    before_averages,
    grown,
    new_tree,
    position_of,
    state_of,
)
from client.bots.search.tree import Move, Visited, Visits
from client.bots.search.worlds import Worlds
from engine.board import FIELDS
from engine.pieces import Kind
from engine.terrain import FARMER
from engine.view import View

_BATCHES: Final = 20  # between two looks at the clock
_KINDS: Final = tuple(Kind)


class NativeSearch:
    """A search for the seat on turn of `view`, as `client.bots.search.tree.Search`."""

    def __init__(self, view: View, rng: random.Random, wins: list[float] | None = None) -> None:
        self._rng = rng
        self._wins = wins
        self.worlds = Worlds(view, motives(view))
        self._position = position_of(view, self.worlds)
        self.simulations = 0

    def run(self, simulations: int, seconds: float = math.inf) -> Visits:
        """Run so many simulations, fewer if the time is up before, and return what came of the moves."""
        until = time.monotonic() + seconds
        position = self._position
        state = state_of(position, self.worlds, self._rng, self._wins or [0.0] * position.seats)
        most_nodes = _BATCHES * tuning.BATCH  # that a call can add
        tree = new_tree(2 * most_nodes)
        first = Arrays(before_averages(position), state, tree, TUNING)
        kernel.simulate(first, min(tuning.RANDOM, simulations // 2), 0)
        while True:
            if state.counters[kernel.NODES] + most_nodes > len(tree.visits):
                tree = grown(tree, 2 * len(tree.visits))
            kernel.simulate(Arrays(position, state, tree, TUNING), simulations, _BATCHES)
            self.simulations = int(state.counters[kernel.DONE])
            if self.simulations >= simulations or time.monotonic() >= until:
                break
        version, _, gauss = self._rng.getstate()
        self._rng.setstate((version, (*state.words.tolist(), int(state.counters[kernel.NEXT])), gauss))
        if self._wins is not None:
            self._wins[:] = state.wins.tolist()
        weights = iter(state.cumulative.tolist())
        self.worlds.cumulative = [
            list(itertools.islice(weights, len(group.ways))) for group in self.worlds.groups
        ]
        moves = tree.moves[0, : tree.lengths[0]].tolist()
        found = zip(moves, tree.counts[0].tolist(), tree.totals[0].tolist(), strict=False)
        return {_move(move): Visited(count, total) for move, count, total in found}


def _move(number: int) -> Move:
    occupant, field = divmod(number, len(FIELDS))
    return Move(_KINDS[occupant // FARMER], field)
