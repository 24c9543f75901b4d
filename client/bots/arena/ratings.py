"""Ratings of brains: how strong each is on one scale, from who finished before whom.

The model is Plackett and Luce's, updated game by game (Weng and Lin, "A Bayesian Approximation Method for
Online Ranking", JMLR 12, 2011). A brain does not change, so unlike a person's its rating only gets surer.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from openskill.models import PlackettLuce, PlackettLuceRating

from client.bots.arena.outcomes import GameOutcome

_Z: Final = 1.96  # of a 95% interval


@dataclass(frozen=True, slots=True)
class Rating:
    """How strong a brain is: 25 is the mean of all at the start; `reach` is that of a 95% interval."""

    mean: float
    deviation: float

    @property
    def reach(self) -> float:
        return _Z * self.deviation


def rated(entrants: int, outcomes: Iterable[GameOutcome]) -> list[Rating]:
    """Return the rating of each brain after the games, in the order of the outcomes."""
    model = PlackettLuce(tau=0.0)
    ratings = [model.rating() for _ in range(entrants)]
    for outcome in outcomes:
        before = [ratings[seat.entrant] for seat in outcome.seats]
        # Points decide, then items: one number, because there are never a hundred items.
        scores = [100.0 * seat.points + seat.items for seat in outcome.seats]
        after = model.rate([[rating] for rating in before], scores=scores)
        changes: dict[int, tuple[float, float]] = {}
        for seat, (own,), old in zip(outcome.seats, after, before, strict=True):
            more, surer = changes.get(seat.entrant, (0.0, 1.0))
            # A brain with several seats learns from each of them.
            changes[seat.entrant] = (more + own.mu - old.mu, surer * own.sigma / old.sigma)
        for entrant, (more, surer) in changes.items():
            old = ratings[entrant]
            ratings[entrant] = model.rating(mu=old.mu + more, sigma=old.sigma * surer)
    return [_rating(rating) for rating in ratings]


def _rating(rating: PlackettLuceRating) -> Rating:
    return Rating(rating.mu, rating.sigma)
