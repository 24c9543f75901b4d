"""A sequential test, as engine testers use: is one player better than another by so many Elo, or not at all?

The test is the generalized SPRT of Van den Bergh ("Comments on Normalized Elo") and fishtest. It looks at all
games of a deal together, in which everybody plays every seat, because they have their luck in common.
"""

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from client.bots.arena.games import GameOutcome, Schedule
from client.bots.arena.standings import ahead
from client.bots.shares import Z

_ERRORS: Final = 0.05  # how often the test may be wrong, either way
_BOUND: Final = math.log((1 - _ERRORS) / _ERRORS)
_UNSEEN: Final = 0.001  # how often what could have happened counts: else a few equal deals would decide
_HALVINGS: Final = 60


@dataclass(frozen=True, slots=True)
class TestVerdict:
    """What is known of the first two players: `better` is None while it is undecided.

    The `difference` is in Elo with its 95% interval. `ratio` is the logarithm of how much more likely the
    results are with a difference of `elo` than with none; the test ends when its amount reaches `bound`.
    """

    elo: float
    deals: int
    ratio: float
    difference: float
    interval: tuple[float, float]
    bound: float = _BOUND

    @property
    def better(self) -> bool | None:
        return None if abs(self.ratio) < self.bound else self.ratio > 0


class SequentialTest:
    """Asks whether the first of two players is better than the other by `elo`, from the games so far.

    Deals count when they are complete, in the order of the schedule, up to the one that decides: how many
    games are played at the same time makes no difference.
    """

    def __init__(self, schedule: Schedule, elo: float) -> None:
        self._games, self._elo = schedule.games_per_deal, elo
        self._open: dict[int, list[float]] = {}  # by deal, how often the first player is ahead in each game
        self._scores: list[float] = []
        self.verdict: TestVerdict | None = None  # None before the first deal is complete

    def add(self, outcome: GameOutcome) -> bool:
        """Count a game; return whether the test has ended."""
        games = self._open.setdefault((outcome.number - 1) // self._games, [])
        games.append(statistics.fmean(ahead(outcome, 0, 1)))
        while not self.decided and len(self._open.get(len(self._scores), ())) == self._games:
            self._scores.append(round(statistics.fmean(self._open.pop(len(self._scores))), 9))
            self.verdict = self._judge(self._scores)
        return self.decided

    def _judge(self, scores: Sequence[float]) -> TestVerdict:
        share = statistics.fmean(scores)
        reach = Z * statistics.stdev(scores) / math.sqrt(len(scores)) if len(scores) > 1 else 1.0
        interval = _elo(share - reach), _elo(share + reach)
        # How often a player is ahead of another that is weaker by so many Elo.
        expected = 1 / (1 + 10 ** (-self._elo / 400))
        return TestVerdict(self._elo, len(scores), _ratio(scores, expected), _elo(share), interval)

    @property
    def decided(self) -> bool:
        return self.verdict is not None and self.verdict.better is not None

    @property
    def last_game(self) -> int:
        """Return the number of the last game that counts."""
        return len(self._scores) * self._games


def _elo(share: float) -> float:
    return -400 * math.log10(1 / min(max(share, 0.001), 0.999) - 1)


def _ratio(scores: Sequence[float], better: float) -> float:
    """Return the log-likelihood ratio of the mean score `better` to the mean score of equal players."""
    seen = Counter({0.0: _UNSEEN, 0.5: _UNSEEN, 1.0: _UNSEEN})
    seen.update(scores)
    total = sum(seen.values())
    shares = {score: count / total for score, count in seen.items()}
    with_it, without = _most_likely(shares, better), _most_likely(shares, 0.5)
    return len(scores) * sum(
        share * math.log(with_it[score] / without[score]) for score, share in shares.items()
    )


def _most_likely(shares: dict[float, float], mean: float) -> dict[float, float]:
    """Return the likeliest distribution of this mean: share / (1 + x * (score - mean)) with the right x."""
    low, high = -1 / (max(shares) - mean), 1 / (mean - min(shares))
    for _halving in range(_HALVINGS):
        middle = (low + high) / 2
        off = sum(share * (score - mean) / (1 + middle * (score - mean)) for score, share in shares.items())
        low, high = (middle, high) if off > 0 else (low, middle)
    return {score: share / (1 + low * (score - mean)) for score, share in shares.items()}
