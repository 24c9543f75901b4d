"""The search brain: the tree's verdict as a command."""

import math
import random
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from client.bots.greedy import greedy
from client.bots.search.ending import Ending
from client.bots.search.tree import Move, Search, Visited, Visits
from engine.board import FIELDS
from engine.events import Command, Place
from engine.legal import Legal, LegalPlaces
from engine.view import View

_INFERENCE: Final = 4  # before an ending, one simulation in so many tells how likely the worlds are


@dataclass(frozen=True, slots=True)
class SearchBrain:
    """A brain that searches: for so many simulations a move, and no longer than so many seconds.

    The same view, number and `rng` lead to the same command, unless the time is up first. Tiles are laid as
    the greedy brain lays them: how a search would lay them better is an open question.
    """

    simulations: int = 20_000
    seconds: float = 5.0

    def __call__(self, view: View, legal: Legal, rng: random.Random, /) -> Command:
        """Search on this thread."""
        if not isinstance(legal, LegalPlaces):
            return greedy(view, legal, rng)
        return chosen(legal, [self.visits(view, seed_from(rng))], rng)

    def visits(self, view: View, seed: int) -> Visits:
        """Return what came of the moves: exactly in an ending with few boards, else of simulations."""
        until = time.monotonic() + self.seconds
        search = Search(view, random.Random(seed))
        ending = Ending(view, search.worlds)
        if ending.boards > self.simulations:
            return search.run(self.simulations, self.seconds)
        sampled = search.run(self.simulations // _INFERENCE, self.seconds) if search.worlds.hidden else {}
        exact = ending.values(until if sampled else math.inf)
        return sampled if exact is None else {move: Visited(1, value) for move, value in exact.items()}


def seed_from(rng: random.Random) -> int:
    """Return the seed of a search."""
    return rng.getrandbits(64)


def chosen(legal: LegalPlaces, searches: Sequence[Visits], rng: random.Random) -> Place:
    """Return the move that independent searches visited most.

    Their visits are added up: root parallelization (Chaslot, Winands and van den Herik, "Parallel Monte-Carlo
    Tree Search", 2008).
    """
    totals: defaultdict[Move, Visited] = defaultdict(lambda: Visited(0, 0.0))
    for search in searches:
        for move, (visits, utility) in search.items():
            totals[move] = Visited(totals[move].visits + visits, totals[move].utility + utility)
    best = max(totals, key=totals.__getitem__)
    pieces = [piece for piece in legal.pieces if piece.kind is best.kind]
    wolves = [piece for piece in pieces if piece.wolf]
    # A wolf scores like its open twin, but the others do not see its kind: the longer that is so, the better.
    return Place(legal.seat, rng.choice(wolves or pieces), FIELDS[best.field])
