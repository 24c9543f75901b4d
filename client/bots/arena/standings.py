"""What games of an arena come to: ratings and standings, as tables for people and as JSON.

The model is Plackett and Luce's, updated game by game (Weng and Lin, "A Bayesian Approximation Method for
Online Ranking", JMLR 12, 2011). 25 is the mean of all at the start. A brain learns at most within a series,
so unlike a person's its rating only gets surer.
"""

import itertools
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from openskill.models import PlackettLuce, PlackettLuceRating

from client.bots.arena.games import Entrant, GameOutcome, Schedule
from client.bots.brain import Forfeit
from client.bots.shares import WinShare, Z
from client.language import _, counted


def ratings_after(entrants: int, outcomes: Iterable[GameOutcome]) -> list[PlackettLuceRating]:
    """Return the rating of each brain after the games, in the order of the outcomes."""
    model = PlackettLuce(tau=0.0)
    ratings = [model.rating() for _ in range(entrants)]
    for outcome in outcomes:
        before = [ratings[seat.entrant] for seat in outcome.seats]
        # Points decide, then items: one number, because there are never a hundred items.
        scores = [100.0 * points + items for points, items in (seat.rank for seat in outcome.seats)]
        after = model.rate([[rating] for rating in before], scores=scores)
        changes: dict[int, tuple[float, float]] = {}
        for seat, (own,), old in zip(outcome.seats, after, before, strict=True):
            more, surer = changes.get(seat.entrant, (0.0, 1.0))
            # A brain with several seats learns from each of them.
            changes[seat.entrant] = (more + own.mu - old.mu, surer * own.sigma / old.sigma)
        for entrant, (more, surer) in changes.items():
            old = ratings[entrant]
            ratings[entrant] = model.rating(mu=old.mu + more, sigma=old.sigma * surer)
    return ratings


@dataclass(slots=True)
class BrainStanding:
    """What one brain has reached: its games count as often as it had a seat in them."""

    name: str
    seats: list[WinShare]
    rating: PlackettLuceRating
    total: WinShare = field(default_factory=WinShare)
    # By the other's name, how often it was ahead.
    against: defaultdict[str, WinShare] = field(default_factory=lambda: defaultdict(WinShare))
    moves: int = 0
    seconds: float = 0.0
    longest: float = 0.0
    forfeits: Counter[Forfeit] = field(default_factory=Counter)

    @property
    def mean_seconds(self) -> float:
        return self.seconds / self.moves if self.moves else 0.0


def brain_standings(
    names: Sequence[str], players: int, outcomes: Iterable[GameOutcome]
) -> list[BrainStanding]:
    """Return the standings of all brains that have played, the best rated first.

    The order in which the games were finished makes no difference.
    """
    in_order = sorted(outcomes, key=lambda outcome: outcome.number)
    found = [
        BrainStanding(name, [WinShare() for _ in range(players)], rating)
        for name, rating in zip(names, ratings_after(len(names), in_order), strict=True)
    ]
    for outcome in in_order:
        for number, own in enumerate(outcome.seats):
            standing = found[own.entrant]
            standing.total.add(own.share, own.points)
            standing.seats[number].add(own.share, own.points)
            standing.moves += own.moves
            standing.seconds += own.seconds
            standing.longest = max(standing.longest, own.longest)
            if own.forfeit is not None:
                standing.forfeits[own.forfeit] += 1
        for one, other in itertools.permutations({seat.entrant for seat in outcome.seats}, 2):
            # A game counts once, however many seats they have in it.
            share = statistics.fmean(ahead(outcome, one, other))
            found[one].against[found[other].name].add(share)
    return sorted((each for each in found if each.total.games), key=lambda each: -each.rating.mu)


def ahead(outcome: GameOutcome, own: Entrant, other: Entrant) -> Iterator[float]:
    """Yield for each seat of `own` and each of `other` whether the first is ahead: a half if neither is."""
    for mine, theirs in itertools.product(outcome.seats, repeat=2):
        if (mine.entrant, theirs.entrant) == (own, other):
            yield 0.5 if mine.rank == theirs.rank else float(mine.rank > theirs.rank)


Rows: TypeAlias = list[list[str]]  # the first has the headings


def tables(
    schedule: Schedule, played: int, found: Sequence[BrainStanding], *, times: bool
) -> list[tuple[str, Rows]]:
    """Return each table after what is said above it; without `times` the same seed gives the same text."""
    form = counted(
        "{played} of {n} game, seed {seed}.", "{played} of {n} games, seed {seed}.", schedule.games
    )
    sentences = (
        form.format(played=played, n=schedule.games, seed=schedule.seed),
        _("Equal brains would win {share}.").format(share=f"{1 / schedule.players:.1%}"),
        _("In brackets: 95 per cent intervals."),
    )
    above = " ".join(sentences)
    if not found:
        return [(above, [])]
    forfeits = (_("Games lost before their end:"), _forfeits(found))
    seats, names = map(str, range(1, schedule.players + 1)), [each.name for each in found]
    by_seat = [[_("brain"), *seats], *([each.name, *map(_short, each.seats)] for each in found)]
    pairs = [[each.name, *(_short(each.against.get(name)) for name in names)] for each in found]
    return [
        (above, []),
        ("", _overall(found, times=times)),
        *([forfeits] if any(each.forfeits for each in found) else []),
        (_("Wins by seat, seat 1 starting:"), by_seat),
        (_("How often the row's brain finishes ahead of the column's:"), [["", *names], *pairs]),
    ]


def standings_json(
    schedule: Schedule, played: int, found: Sequence[BrainStanding], *, times: bool
) -> dict[str, Any]:
    return {
        "version": 1,
        "players": schedule.players,
        "seed": schedule.seed,
        "alone": schedule.names[0] if schedule.alone else None,
        "random_layout": schedule.random_layout,
        "series": schedule.series,
        "games": played,
        "planned": schedule.games,
        "brains": [_brain_json(standing, times=times) for standing in found],
    }


def _overall(found: Sequence[BrainStanding], *, times: bool) -> Rows:
    heads = [_("brain"), _("games"), _("wins"), "", _("points"), _("rating"), ""]
    rows = [
        [
            standing.name,
            str(standing.total.games),
            f"{standing.total.share:.1%}",
            _interval(standing.total, ".1f"),
            f"{standing.total.mean_points:.1f}",
            f"{standing.rating.mu:.1f}",
            f"±{Z * standing.rating.sigma:.1f}",
        ]
        for standing in found
    ]
    if times:
        heads += [_("ms a move"), _("longest")]
        for row, standing in zip(rows, found, strict=True):
            row += [f"{1000 * standing.mean_seconds:.2f}", f"{1000 * standing.longest:.1f}"]
    return [heads, *rows]


def _forfeits(found: Sequence[BrainStanding]) -> Rows:
    words = {
        Forfeit.FAILED: _("error"),
        Forfeit.ILLEGAL: _("illegal move"),
        Forfeit.LATE: _("too late"),
        Forfeit.ABSENT: _("not connected"),
        Forfeit.SILENT: _("connection closed"),
    }
    kinds = [kind for kind in Forfeit if any(each.forfeits[kind] for each in found)]
    rows = [[each.name, *(str(each.forfeits[kind]) for kind in kinds)] for each in found]
    return [[_("brain"), *(words[kind] for kind in kinds)], *rows]


def _short(share: WinShare | None) -> str:
    if share is None or not share.games:
        return "-"
    return f"{share.share:.0%} {_interval(share, '.0f')}"


def _interval(share: WinShare, form: str) -> str:
    low, high = share.interval
    return f"[{format(100 * low, form)}, {format(100 * high, form)}]"


def _brain_json(standing: BrainStanding, *, times: bool) -> dict[str, Any]:
    told = {
        "name": standing.name,
        **_share_json(standing.total),
        "rating": {"mean": standing.rating.mu, "deviation": standing.rating.sigma},
        "forfeits": {kind.value: count for kind, count in standing.forfeits.items()},
        "seats": [_share_json(share) for share in standing.seats],
        "ahead_of": {
            name: {"games": share.games, "share": share.share, "interval": share.interval}
            for name, share in standing.against.items()
        },
    }
    if times:
        told["seconds"] = {"mean": standing.mean_seconds, "longest": standing.longest}
    return told


def _share_json(share: WinShare) -> dict[str, Any]:
    if not share.games:
        return {"games": 0, "share": None, "interval": None, "points": None}
    counted_games = {"games": share.games, "share": share.share, "interval": share.interval}
    return {**counted_games, "points": share.mean_points}
