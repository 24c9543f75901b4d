"""What searches make of a moment: everybody's share of the wins in their simulations."""

import random
from typing import Final, TypeAlias

from client.bots.search.tree import Search
from engine.view import View

Shares: TypeAlias = tuple[float, ...]  # by seat; they add up to 1, and none is 0 or 1

# Each search settles on few lines of play, so two that are half as long judge better than one (measured).
_SEARCHES: Final = 2


def shares_of_wins(view: View, simulations: int, seed: str) -> Shares:
    """Return everybody's share of the wins in games from `view` on, the placing phase, to the end."""
    wins = [1.0 / view.seats] * view.seats  # one more game, in which everybody is as good
    rng = random.Random(seed)
    for _ in range(_SEARCHES):
        Search(view, rng, wins).run(simulations // _SEARCHES)
    total = sum(wins)
    return tuple(each / total for each in wins)
