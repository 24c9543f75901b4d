"""Which brain sits where in which game: every brain as often in every seat, with the same chance.

A round has one deal, which is what chance decides: tiles, who is dealt what, laurels. Each combination of
brains plays with this deal once in every rotation of its seats, so luck favours no brain. Which brain sits
after which differs from round to round.
"""

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

Entrant: TypeAlias = int  # a brain, by its place in the list of those that play
Seating: TypeAlias = tuple[Entrant, ...]  # the brains by seat

LEAST_ENTRANTS: Final = 2


@dataclass(frozen=True, slots=True)
class Pairing:
    """One game of the schedule: `number` counts from 1, `deal` and `rotation` from 0."""

    number: int
    deal: int
    rotation: int
    seating: Seating


@dataclass(frozen=True, slots=True)
class Schedule:
    """All games of `names`: so many rounds of games of `players`, with chance from `seed`.

    If the first brain is `alone`, it has one seat in every game, and another brain has all the others;
    otherwise every combination plays in which the seats are shared as evenly as possible. With a
    `random_layout` the tiles are laid by chance, too.
    """

    names: tuple[str, ...]
    players: int
    rounds: int
    seed: int
    alone: bool = False
    random_layout: bool = False

    @property
    def combinations(self) -> list[Seating]:
        """Return the brains of each combination, those with several seats named as often."""
        entrants = range(len(self.names))
        if self.alone:
            return [(0,) + (other,) * (self.players - 1) for other in entrants[1:]]
        each, left = divmod(self.players, len(self.names))
        evenly = tuple(entrants) * each
        return [tuple(sorted(evenly + more)) for more in itertools.combinations(entrants, left)]

    @property
    def games(self) -> int:
        """Return how many games there are in all."""
        return self.rounds * len(self.combinations) * self.players

    def pairings(self) -> Iterator[Pairing]:
        """Yield the games, round by round."""
        numbers = itertools.count(1)
        orders = [self._orders(combination) for combination in self.combinations]
        for deal in range(self.rounds):
            for circles in orders:
                circle = circles[deal % len(circles)]
                for rotation in range(self.players):
                    seating = circle[rotation:] + circle[:rotation]
                    yield Pairing(next(numbers), deal, rotation, seating)

    def chance(self, pairing: Pairing) -> random.Random:
        """Return what decides the draws of the game: the same for all games of a round."""
        return random.Random(f"{self.seed} deal {pairing.deal}")

    def chance_of(self, pairing: Pairing, seat: int) -> random.Random:
        """Return the source of chance of the brain in a seat: the same whichever brains play, and how."""
        return random.Random(f"{self.seed} deal {pairing.deal} turned {pairing.rotation} seat {seat}")

    def _orders(self, combination: Seating) -> list[Seating]:
        """Return in which orders the brains can sit around the table, in an order that `seed` decides.

        An order that looks the same when it is turned (A, B, A, B) is left out: it would play games twice.
        """
        first, *rest = combination
        orders = sorted({(first, *others) for others in itertools.permutations(rest)})
        apart: dict[frozenset[Seating], Seating] = {}
        for order in orders:
            turned = _rotations(order)
            if len(turned) == len(order):
                apart.setdefault(turned, order)
        circles = list(apart.values())
        random.Random(f"{self.seed} orders").shuffle(circles)
        return circles


def _rotations(order: Sequence[Entrant]) -> frozenset[Seating]:
    return frozenset(tuple(order[turn:]) + tuple(order[:turn]) for turn in range(len(order)))
