"""What bots have reached in many games, with intervals for how sure that is."""

import math
from dataclasses import dataclass, field
from typing import Final, TypedDict

from client.language import _, counted
from engine.events import GameEnded

_Z: Final = 1.96  # of a 95% interval


def wilson(share: float, games: int) -> tuple[float, float]:
    """Return the 95% interval of a share of wins among `games` (Wilson, 1927)."""
    middle = share + _Z**2 / (2 * games)
    reach = _Z * math.sqrt(share * (1 - share) / games + _Z**2 / (4 * games**2))
    whole = 1 + _Z**2 / games
    # Of no wins and of all of them the ends are 0 and 1, but for rounding.
    return max((middle - reach) / whole, 0.0), min((middle + reach) / whole, 1.0)


class Total(TypedDict):
    """What a player has reached: the share of the wins, its 95% interval, and points a game."""

    name: str
    share: float
    interval: tuple[float, float]
    points: float


@dataclass(slots=True)
class WinShares:
    """Everybody's wins and points by name; a shared victory is divided among the winners."""

    games: int = 0
    wins: dict[str, float] = field(default_factory=dict)
    points: dict[str, int] = field(default_factory=dict)

    def add(self, names: list[str], result: GameEnded) -> None:
        """Count a game."""
        self.games += 1
        for seat, (name, tally) in enumerate(zip(names, result.tallies, strict=True)):
            won = 1 / len(result.winners) if seat in result.winners else 0.0
            self.wins[name] = self.wins.get(name, 0.0) + won
            self.points[name] = self.points.get(name, 0) + tally.points

    def totals(self) -> list[Total]:
        """Return what each player has reached, the best first."""
        best_first = sorted(self.wins, key=lambda each: (-self.wins[each], -self.points[each]))
        return [self._total(name) for name in best_first]

    def lines(self) -> list[str]:
        """Return a heading and a line for each player, the best first."""
        heading = counted(
            "{n} game (in brackets: 95 per cent intervals):",
            "{n} games (in brackets: 95 per cent intervals):",
            self.games,
        )
        form = _("{name}: {share} of the wins ({low} to {high}), {points} points a game")
        lines = [heading.format(n=self.games)]
        for total in self.totals():
            percents = (f"{each:.1%}" for each in (total["share"], *total["interval"]))
            words = dict(zip(("share", "low", "high"), percents, strict=True))
            lines.append(form.format(name=total["name"], points=f"{total['points']:.1f}", **words))
        return lines

    def _total(self, name: str) -> Total:
        share = self.wins[name] / self.games
        interval = wilson(share, self.games)
        return Total(name=name, share=share, interval=interval, points=self.points[name] / self.games)
