"""The search brain: the tree's verdict as a command, in this process or others, and endings played exactly.

An ending begins when nobody has more than one piece to place. So the seat to move has no later choice that
could depend on what it learns until then, and its best move is the one with the best mean over the worlds.
The others are taken to reply as if they knew everything.
Every move, every reply and every world is played then, instead of samples of them.
"""

import math
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from client.bots.greedy import greedy
from client.bots.search.tree import Move, Sums, TreeSearch, Visited, Visits, utilities
from client.bots.search.worlds import Beliefs, PossibleWorld, Worlds, beliefs_after, error_after_next
from engine.board import FIELDS
from engine.events import Command, Place
from engine.legal import Legal, LegalPlaces
from engine.terrain import EMPTY, FARMER, Occupant, occupant, terrain_of
from engine.view import View


class Ending:
    """The ending that the seat to move of `view` sees, if it is one."""

    def __init__(self, view: View, worlds: Worlds) -> None:
        assert view.turn is not None  # noqa: S101 - in the placing phase it is somebody's turn
        self._seat, self._seats, self._left = view.turn, view.seats, view.to_place
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
        totals = defaultdict[Move, float](float)
        weights = 0.0
        for weight, _world, found in self.outcomes():
            if time.monotonic() >= until:
                return None
            weights += weight
            for move, worth in found.items():
                totals[move] += weight * worth[self._seat]
        return {move: total / weights for move, total in totals.items()}

    def outcomes(self) -> Iterator[tuple[float, PossibleWorld, dict[Move, list[float]]]]:
        """Yield each world, after its weight, with the utilities of all seats after each move in it."""
        order = [(self._seat + ply) % self._seats for ply in range(self._left)]
        for weight, world in self._worlds.all_weighted():
            kinds = [next(iter(world.hands[seat].after)) for seat in order]
            placed, *others = [occupant(seat, kind) for seat, kind in zip(order, kinds, strict=True)]
            board = list(world.board)
            found = {}
            for field in self._free:
                board[field] = placed
                found[Move(kinds[0], field)] = self._best_reply(board, others)
                board[field] = EMPTY
            yield weight, world, found

    def _best_reply(self, board: list[Occupant], pieces: list[Occupant]) -> list[float]:
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
                worth = self._best_reply(board, others)
                board[field] = EMPTY
                if best is None or (worth[seat], best[self._seat]) > (best[seat], worth[self._seat]):
                    best = worth
        assert best is not None  # noqa: S101 - there are more fields than pieces
        return best


_TRIED: Final = 0.3  # the share of the best move's visits that a lie needs: means of fewer are too uncertain
_LAST_PLACEMENTS: Final = 3  # for these, every brain makes at least so many simulations: they are short
_LAST_SIMULATIONS: Final = 6000
_INFERENCE: Final = 4  # before an ending, one simulation in so many tells how likely the worlds are


def _at_least(simulations: int, view: View) -> int:
    return max(simulations, _LAST_SIMULATIONS if view.to_place <= _LAST_PLACEMENTS else 0)


def exact_ending(view: View, simulations: int, seed: int) -> Ending | None:
    """Return the ending with its worlds weighed by a search, if it has no more boards than simulations."""
    search = TreeSearch(view, random.Random(seed))
    ending = Ending(view, search.worlds)
    simulations = _at_least(simulations, view)
    if ending.boards > simulations:
        return None
    if search.worlds.hidden:
        search.run(simulations // _INFERENCE)
    return ending


class Searched(NamedTuple):
    """What a search came to, and what the next one of the same seat can begin with."""

    visits: Visits
    sums: Sums


@dataclass(slots=True)
class Memory:
    """What a brain keeps from one move of a game to the next."""

    sums: Sums | None = None


class Lies(NamedTuple):
    """How often, and at most at what cost in utility, a brain makes a move that misleads about its wolves."""

    share: float
    price: float


HONEST: Final = Lies(0.0, 0.0)
USUAL: Final = Lies(0.5, 0.03)  # at random, so that nobody who knows this can turn its wolves around
ALWAYS: Final = Lies(1.0, 0.05)


@dataclass(frozen=True, slots=True)
class SearchBrain:
    """A brain that searches: for so many simulations a move, and no longer than so many seconds.

    The same views, number and `rng` lead to the same commands, unless the time is up first. Tiles are laid as
    the greedy brain lays them: how a search would lay them better is an open question. With a memory it plays
    one seat in one game.
    """

    simulations: int = 20_000
    seconds: float = 5.0
    lies: Lies = HONEST
    beliefs: tuple[Beliefs, ...] = ()
    memory: Memory | None = None

    def __call__(self, view: View, legal: Legal, rng: random.Random, /) -> Command:
        if not isinstance(legal, LegalPlaces):
            return greedy(view, legal, rng)
        return self.choose_place(view, legal, [self.search(view, seed_from(rng), settled=True)], rng)

    def game_begins(self, _view: View, /) -> "SearchBrain":
        """Return the brain for one seat in one game, each of whose searches begins with the last."""
        return replace(self, memory=Memory())

    def game_over(self, view: View, /) -> "SearchBrain":
        """Return the brain for another game with the same players, who have shown their motives."""
        return replace(self, beliefs=beliefs_after(view, self.beliefs), memory=None)

    def visits(self, view: View, seed: int) -> Visits:
        """Return what came of the moves."""
        return self.search(view, seed).visits

    def search(self, view: View, seed: int, *, settled: bool = False) -> Searched:
        """Return what came of the moves: exactly in an ending with few boards, else of simulations.

        With `settled` they end when the choice cannot change any more. Visits that are added to those of
        others have to be complete.
        """
        until = time.monotonic() + self.seconds
        carried = None if self.memory is None else self.memory.sums
        search = TreeSearch(view, random.Random(seed), beliefs=self.beliefs, carried=carried)
        ending = Ending(view, search.worlds)
        simulations = _at_least(self.simulations, view)
        if ending.boards > simulations:
            return Searched(search.run(simulations, self.seconds, settled=settled), search.sums)
        sampled = search.run(simulations // _INFERENCE, self.seconds) if search.worlds.hidden else {}
        exact = ending.values(until if sampled else math.inf)
        visits = sampled if exact is None else {move: Visited(1, value) for move, value in exact.items()}
        return Searched(visits, search.sums)

    def choose_place(
        self, view: View, legal: LegalPlaces, searches: Sequence[Searched], rng: random.Random
    ) -> Place:
        """Return the move that independent searches visited most, or the lie that is nearly as good.

        Their visits are added up: root parallelization (Chaslot, Winands and van den Herik, "Parallel
        Monte-Carlo Tree Search", 2008).
        """
        totals: defaultdict[Move, Visited] = defaultdict(lambda: Visited(0, 0.0))
        if self.memory is not None:
            self.memory.sums = searches[0].sums
        for search in searches:
            for move, (visits, utility) in search.visits.items():
                totals[move] = Visited(totals[move].visits + visits, totals[move].utility + utility)
        best = max(totals, key=totals.__getitem__)
        pieces = [piece for piece in legal.pieces if piece.kind is best.kind]
        wolves = [piece for piece in pieces if piece.wolf]
        # A wolf scores like its open twin, but the others do not see its kind: the longer, the better.
        placed = Place(legal.seat, rng.choice(wolves or pieces), FIELDS[best.field])
        # In an ending nobody has a later choice that a lie could mislead.
        if self.lies.share and view.to_place > view.seats and rng.random() < self.lies.share:
            return _lie(self.lies.price, view, legal, totals, placed)
        return placed


def _lie(
    price: float, view: View, legal: LegalPlaces, totals: Mapping[Move, Visited], honest: Place
) -> Place:
    """Return what misleads the others most, of all that is nearly as good as the most visited move."""
    often, utility = max(totals.values())
    lies = [
        Place(legal.seat, piece, FIELDS[move.field])
        for move, (visits, total) in totals.items()
        if visits >= often * _TRIED and total / visits >= utility / often - price
        for piece in legal.pieces
        if piece.kind is move.kind
    ]
    error = error_after_next(view, legal.seat)
    return max([honest, *lies], key=lambda place: error(place.piece, place.field))


def seed_from(rng: random.Random) -> int:
    return rng.getrandbits(64)
