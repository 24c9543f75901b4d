"""The last placements, played exactly: every move, every reply and every world, instead of samples of them.

An ending begins when nobody has more than one piece to place. So the seat on turn has no later choice that
could depend on what it learns until then, and its best move is the one with the best mean over the worlds.
The others are taken to reply as if they knew everything.
"""

import math
import time
from typing import Final

from client.bots.search.implementation import AnySearch
from client.bots.search.tree import Move, Visited, Visits
from client.bots.search.utility import utilities
from client.bots.search.worlds import Worlds
from engine.board import FIELDS
from engine.terrain import EMPTY, Occupant, occupant, terrain_of
from engine.view import View

_INFERENCE: Final = 4  # one simulation in so many tells how likely the worlds are


def visits_in(view: View, search: AnySearch, simulations: int, seconds: float) -> Visits:
    """Return what came of the moves: exactly in an ending with so few boards, else of so many simulations."""
    until = time.monotonic() + seconds
    ending = Ending(view, search.worlds)
    if ending.boards > simulations:
        return search.run(simulations, seconds)
    sampled = search.run(simulations // _INFERENCE, seconds) if search.worlds.hidden else {}
    exact = ending.values(until if sampled else math.inf)
    return sampled if exact is None else {move: Visited(1, value) for move, value in exact.items()}


class Ending:
    """The ending that the seat on turn of `view` sees, if it is one."""

    def __init__(self, view: View, worlds: Worlds) -> None:
        assert view.turn is not None  # noqa: S101 - in the placing phase it is somebody's turn
        self._seat = view.turn
        self._seats = view.seats
        self._left = view.to_place
        self._worlds = worlds
        self._terrain = terrain_of(view.tiles, view.laurels)
        self._free = [number for number, field in enumerate(FIELDS) if field not in view.placed]

    @property
    def boards(self) -> float:
        """Return how many final boards there are, in all worlds; infinitely many before the ending."""
        if self._left > self._seats:
            return math.inf
        return math.perm(len(self._free), self._left) * self._worlds.count

    def values(self, until: float = math.inf) -> dict[Move, float] | None:
        """Return what each move is worth to the seat; None if the time is up before."""
        totals = dict.fromkeys(self._free, 0.0)
        weights = 0.0
        kinds = []
        for weight, world in self._worlds.weighted():
            if time.monotonic() >= until:
                return None
            order = [(self._seat + ply) % self._seats for ply in range(self._left)]
            kinds = [next(iter(world.hands[seat].after)) for seat in order]
            pieces = [(seat, occupant(seat, kind)) for seat, kind in zip(order, kinds, strict=True)]
            board = list(world.board)
            weights += weight
            for field in self._free:
                board[field] = pieces[0][1]
                totals[field] += weight * self._replied(board, pieces[1:])[self._seat]
                board[field] = EMPTY
        return {Move(kinds[0], field): total / weights for field, total in totals.items()}

    def _replied(self, board: list[Occupant], pieces: list[tuple[int, Occupant]]) -> list[float]:
        """Return what the end is worth to each seat if each of these is placed where it is best for its seat.

        Of equal fields it is the worst for the seat that asks.
        """
        if not pieces:
            return utilities(self._terrain.packed_scores(board.copy(), self._seats))
        (seat, placed), *others = pieces
        best: list[float] | None = None
        for field in self._free:
            if board[field] == EMPTY:
                board[field] = placed
                worth = self._replied(board, others)
                board[field] = EMPTY
                if best is None or (worth[seat], best[self._seat]) > (best[seat], worth[self._seat]):
                    best = worth
        assert best is not None  # noqa: S101 - there are more fields than pieces
        return best
