"""Standings: what is counted, and ratings."""

import itertools
import random

import pytest
from openskill.models import PlackettLuce

from client.bots.arena.games import GameOutcome, Schedule, SeatOutcome
from client.bots.arena.standings import as_json, rated, standings, tables


def outcome(number: int, *seats: tuple[int, int], items: tuple[int, ...] = ()) -> GameOutcome:
    """Return a game by its seats' brains and points, and their items, all equal by default."""
    items = items or (5,) * len(seats)
    scores = [(points, item) for (_, points), item in zip(seats, items, strict=True)]
    winners = scores.count(max(scores))
    return GameOutcome(
        number,
        tuple(
            SeatOutcome(entrant, (score == max(scores)) / winners, *score, moves=2, seconds=4.0, longest=3.0)
            for (entrant, _), score in zip(seats, scores, strict=True)
        ),
    )


def test_what_is_counted() -> None:
    """Shared victories by their part, items where points are equal, and a game once between two brains."""
    games = [
        outcome(1, (0, 20), (1, 20), (1, 10)),
        outcome(2, (1, 15), (0, 15), (1, 9), items=(4, 5, 6)),
    ]
    one, other = sorted(standings("ab", 3, games), key=lambda each: each.name)
    assert (one.total.games, one.total.wins, one.total.mean_points) == (2, 1.5, 17.5)
    assert (other.total.games, other.total.wins, other.total.mean_points) == (4, 0.5, 13.5)
    assert [(share.games, share.wins) for share in one.seats] == [(1, 0.5), (1, 1.0), (0, 0.0)]
    assert [(share.games, share.wins) for share in other.seats] == [(1, 0.0), (1, 0.5), (2, 0.0)]
    assert (one.against["b"].games, one.against["b"].share) == (2, 0.875)
    assert (other.against["a"].games, other.against["a"].share) == (2, 0.125)
    assert (one.mean_seconds, one.longest) == (2.0, 3.0)


def test_the_order_in_which_games_end_makes_no_difference() -> None:
    """As it depends on how many are played at the same time."""
    games = [outcome(number, (number % 2, number), (1 - number % 2, 7)) for number in range(20)]
    shuffled = random.Random(1).sample(games, len(games))
    assert standings("ab", 2, shuffled) == standings("ab", 2, games)


def test_ratings_are_openskills_where_every_brain_has_one_seat() -> None:
    """Brains do not change, so nothing is added to the doubt from game to game."""
    model = PlackettLuce(tau=0.0)
    ratings = [model.rating(), model.rating(), model.rating()]
    games = [outcome(number, (0, 9), (1, 9 - number % 3), (2, 9 - number % 5)) for number in range(10)]
    for game in games:
        scores = [float(seat.points) for seat in game.seats]
        ratings = [rating for (rating,) in model.rate([[rating] for rating in ratings], scores=scores)]
    for found, expected in zip(rated(3, games), ratings, strict=True):
        assert (found.mean, found.deviation) == pytest.approx((expected.mu, expected.sigma))


@pytest.mark.parametrize("seating", [(0, 1, 2), (0, 0, 1), (2, 2, 0, 1), (0, 1, 1, 2, 2)])
def test_ratings_put_brains_in_order(seating: tuple[int, ...]) -> None:
    """Each more points than the next on average: even if some have more seats than others."""
    rng = random.Random(2)
    games = [
        outcome(number, *[(entrant, round(rng.gauss(20 - 3 * entrant, 4))) for entrant in seating])
        for number in range(100)
    ]
    found = rated(3, games)
    played = [found[entrant] for entrant in sorted(set(seating))]
    assert played == sorted(played, key=lambda rating: -rating.mean)
    for better, worse in itertools.pairwise(played):
        assert better.mean - worse.mean > better.reach
    assert all(rating.reach < 8 for rating in played)  # it was more than 16 before the first game


def test_a_brain_that_has_not_played_yet_is_in_no_table() -> None:
    """An arena may be interrupted at any time, also before the first game has ended."""
    schedule = Schedule(("a", "b", "c"), 2, 1, seed=4)
    none: list[GameOutcome] = []
    assert len(tables(schedule, 0, standings(schedule.names, 2, none), times=True)) == 1
    found = standings(schedule.names, 2, [outcome(1, (0, 9), (1, 5))])
    (above, _), (_, overall), *_ = tables(schedule, 1, found, times=False)
    assert above.startswith("1 of 6 games, seed 4. Equal brains would win 50.0%.")
    assert "ms a move" not in overall[0]
    assert [brain["name"] for brain in as_json(schedule, 1, found, times=True)["brains"]] == ["a", "b"]
    assert as_json(schedule, 1, found, times=True)["brains"][0]["seconds"] == {"mean": 2.0, "longest": 3.0}
