"""Shares of wins, and the 95% intervals that they lie in."""

import math
from dataclasses import dataclass
from typing import Final

Z: Final = 1.96  # of a 95% interval


def wilson(share: float, games: int) -> tuple[float, float]:
    """Return the 95% interval of a share of wins among `games` (Wilson, 1927)."""
    middle = share + Z**2 / (2 * games)
    reach = Z * math.sqrt(share * (1 - share) / games + Z**2 / (4 * games**2))
    whole = 1 + Z**2 / games
    # Of no wins and of all of them the ends are 0 and 1, but for rounding.
    return max((middle - reach) / whole, 0.0), min((middle + reach) / whole, 1.0)


@dataclass(slots=True)
class WinShare:
    """How many games were won among how many; a part of a victory counts as that part.

    Games that end before the scoring have no points: `scored` counts the others.
    """

    games: int = 0
    wins: float = 0.0
    points: int = 0
    scored: int = 0

    def add(self, won: float, points: int | None = None) -> None:
        self.games += 1
        self.wins += won
        if points is not None:
            self.points += points
            self.scored += 1

    @property
    def share(self) -> float:
        return self.wins / self.games

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.share, self.games)

    @property
    def mean_points(self) -> float:
        return self.points / self.scored if self.scored else 0.0
