"""The last placements, played exactly: every move, every reply and every world, instead of samples of them.

An ending begins when nobody has more than one piece to place. So the seat on turn has no later choice that
could depend on what it learns until then, and its best move is the one with the best mean over the worlds.
The others are taken to reply as if they knew everything.
"""

import math
import time

from client.bots.search.tree import Move
from client.bots.search.utility import utilities
from client.bots.search.worlds import World, Worlds
from engine.board import FIELDS
from engine.terrain import EMPTY, FARMER, Occupant, occupant, terrain_of
from engine.view import View


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
        totals = [0.0] * len(self._free)
        weights = 0.0
        kinds = []
        for weight, world in self._worlds.weighted():
            if time.monotonic() >= until:
                return None
            order = [(self._seat + ply) % self._seats for ply in range(self._left)]
            kinds = [next(iter(world.hands[seat].after)) for seat in order]
            occupants = [occupant(seat, kind) for seat, kind in zip(order, kinds, strict=True)]
            weights += weight
            worths = self._worths(world, occupants)
            totals = [total + weight * worth for total, worth in zip(totals, worths, strict=True)]
        return {
            Move(kinds[0], field): total / weights for field, total in zip(self._free, totals, strict=True)
        }

    def _worths(self, world: World, occupants: list[Occupant]) -> list[float]:
        """Return what each free field is worth to the seat in this world; the pieces are placed in turn."""
        board, worths = list(world.board), []
        for field in self._free:
            board[field] = occupants[0]
            worths.append(self._replied(board, occupants[1:])[self._seat])
            board[field] = EMPTY
        return worths

    def _replied(self, board: list[Occupant], pieces: list[Occupant]) -> list[float]:
        """Return what the end is worth to each seat if each of these is placed where it is best for its seat.

        Of equal fields it is the worst for the seat that asks.
        """
        if not pieces:
            return utilities(self._terrain.packed_scores(board.copy(), self._seats))
        placed, *others = pieces
        seat = placed % FARMER
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
