"""Schedules that are fair to every brain, and what is counted of the games: standings and ratings."""

import itertools
import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openskill.models import PlackettLuce

from client.bots.arena.games import GameOutcome, PlayerFailure, Schedule, SeatOutcome, outcome_of
from client.bots.arena.sequential import SequentialTest
from client.bots.arena.standings import brain_standings, ratings_after, standings_json, tables
from client.bots.brain import BrainFailed, Forfeit
from client.bots.shares import wilson


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
    games = [outcome(1, (0, 20), (1, 20), (1, 10)), outcome(2, (1, 15), (0, 15), (1, 9), items=(4, 5, 6))]
    one, other = sorted(brain_standings("ab", 3, games), key=lambda each: each.name)
    totals = [(each.games, each.wins, each.mean_points) for each in (one.total, other.total)]
    assert totals == [(2, 1.5, 17.5), (4, 0.5, 13.5)]
    assert [(share.games, share.wins) for share in one.seats] == [(1, 0.5), (1, 1.0), (0, 0.0)]
    assert [(share.games, share.wins) for share in other.seats] == [(1, 0.0), (1, 0.5), (2, 0.0)]
    assert (one.against["b"].games, one.against["b"].share) == (2, 0.875)
    assert (other.against["a"].games, other.against["a"].share) == (2, 0.125)
    assert (one.mean_seconds, one.longest) == (2.0, 3.0)
    assert brain_standings("ab", 3, reversed(games)) == brain_standings(
        "ab", 3, games
    )  # however many are played at once


def test_forfeited_games_are_lost_and_have_no_points() -> None:
    """The others share the victory, and are equal among themselves."""
    failed = BrainFailed("no more", Forfeit.LATE)
    failed.seat = 1
    forfeited = outcome_of(2, (1, 0, 2), [[], [1.0], []], None, failed)
    found = {
        each.name: each for each in brain_standings("abc", 3, [outcome(1, (0, 9), (1, 7), (2, 5)), forfeited])
    }
    assert [(each.total.wins, each.total.mean_points) for each in map(found.get, "abc") if each] == [
        (1.0, 9),
        (0.5, 7),
        (0.5, 5),
    ]
    assert found["a"].forfeits == {Forfeit.LATE: 1}
    assert (found["b"].against["a"].share, found["b"].against["c"].share) == (0.5, 0.75)
    assert forfeited.failure == PlayerFailure(0, Forfeit.LATE, "no more", "")


@pytest.mark.parametrize(
    ("pairs", "better", "deals"),
    [
        ([1.0, 1.0, 1.0, 0.0], True, 31),
        ([1.0, 0.0], False, 28),
        ([1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0], None, 40),
    ],
)
def test_the_sequential_test_ends_when_it_is_clear(
    pairs: list[float], better: bool | None, deals: int
) -> None:
    """After complete deals in the order of the schedule, in whatever order they end."""
    schedule = Schedule(("a", "b"), 2, 400, seed=1)
    test = SequentialTest(schedule, 35)
    first = (pairs * 400)[: 2 * (deals if better is None else 400)]
    games = [outcome(n, (0, round(20 * each)), (1, 10)) for n, each in enumerate(first, 1)]
    for game in random.Random(1).sample(games, len(games)):
        test.add(game)
    assert test.verdict is not None
    assert (test.verdict.better, test.verdict.deals, test.last_game) == (better, deals, 2 * deals)


def test_ratings_are_openskills_where_every_brain_has_one_seat() -> None:
    """Brains do not change, so nothing is added to the doubt from game to game."""
    model = PlackettLuce(tau=0.0)
    ratings = [model.rating(), model.rating(), model.rating()]
    games = [outcome(number, (0, 9), (1, 9 - number % 3), (2, 9 - number % 5)) for number in range(10)]
    for game in games:
        scores = [float(seat.rank[0]) for seat in game.seats]
        ratings = [rating for (rating,) in model.rate([[rating] for rating in ratings], scores=scores)]
    for found, expected in zip(ratings_after(3, games), ratings, strict=True):
        assert (found.mu, found.sigma) == pytest.approx((expected.mu, expected.sigma))


@pytest.mark.parametrize("seating", [(0, 1, 2), (0, 0, 1), (2, 2, 0, 1), (0, 1, 1, 2, 2)])
def test_ratings_put_brains_in_order(seating: tuple[int, ...]) -> None:
    """Each more points than the next on average: even if some have more seats than others."""
    rng = random.Random(2)
    games = [
        outcome(number, *[(entrant, round(rng.gauss(20 - 3 * entrant, 4))) for entrant in seating])
        for number in range(100)
    ]
    found = ratings_after(3, games)
    played = [found[entrant] for entrant in sorted(set(seating))]
    assert played == sorted(played, key=lambda rating: -rating.mu)
    for better, worse in itertools.pairwise(played):
        assert better.mu - worse.mu > 1.96 * better.sigma
    assert all(rating.sigma < 4 for rating in played)  # it was more than 8 before the first game


def test_a_brain_that_has_not_played_yet_is_in_no_table() -> None:
    """An arena may be interrupted at any time, also before the first game has ended."""
    schedule = Schedule(("a", "b", "c"), 2, 1, seed=4)
    none: list[GameOutcome] = []
    assert len(tables(schedule, 0, brain_standings(schedule.names, 2, none), times=True)) == 1
    found = brain_standings(schedule.names, 2, [outcome(1, (0, 9), (1, 5))])
    (above, _), (_, overall), *_ = tables(schedule, 1, found, times=False)
    assert above.startswith("1 of 6 games, seed 4. Equal brains would win 50.0%.")
    assert "ms a move" not in overall[0]
    assert [brain["name"] for brain in standings_json(schedule, 1, found, times=True)["brains"]] == ["a", "b"]
    assert standings_json(schedule, 1, found, times=True)["brains"][0]["seconds"] == {
        "mean": 2.0,
        "longest": 3.0,
    }


@st.composite
def schedules(draw: st.DrawFn, *, alone: bool) -> Schedule:
    """Some rounds of any number of players, with fewer brains, as many, or more."""
    brains, players = draw(st.integers(2, 6)), draw(st.integers(2, 5))
    names = tuple("abcdef"[:brains])
    return Schedule(names, players, draw(st.integers(1, 3)), draw(st.integers()), alone=alone)


@given(schedules(alone=False))
def test_every_brain_has_every_seat_and_every_rival_as_often(schedule: Schedule) -> None:
    """However many brains share however many seats."""
    in_seat, together = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for pairing in schedule.pairings():
        in_seat.update((entrant, seat) for seat, entrant in enumerate(pairing.seating))
        met = itertools.permutations(pairing.seating, 2)
        together.update((one, other) for one, other in met if one != other)
    entrants = range(len(schedule.names))
    assert set(in_seat) == set(itertools.product(entrants, range(schedule.players)))
    assert len(set(in_seat.values())) == 1
    assert set(together) == set(itertools.permutations(entrants, 2))
    assert len(set(together.values())) == 1


@given(schedules(alone=True))
def test_a_brain_alone_meets_every_other_from_every_seat(schedule: Schedule) -> None:
    """It has one seat, and one other brain has all the rest."""
    met = Counter[tuple[int, int]]()
    for pairing in schedule.pairings():
        assert pairing.seating.count(0) == 1
        (other,) = set(pairing.seating) - {0}
        met[pairing.seating.index(0), other] += 1
    assert set(met) == set(itertools.product(range(schedule.players), range(1, len(schedule.names))))
    assert set(met.values()) == {schedule.rounds}


@given(st.booleans().flatmap(lambda alone: schedules(alone=alone)))
def test_no_game_is_played_twice(schedule: Schedule) -> None:
    """All are numbered, and as many as is said beforehand; each round has its own deal."""
    pairings = list(schedule.pairings())
    assert [pairing.number for pairing in pairings] == list(range(1, schedule.games + 1))
    assert len({(pairing.deal, pairing.seating) for pairing in pairings}) == schedule.games
    draws = {(pairing.deal, schedule.chance(pairing).random()) for pairing in pairings}
    assert len(draws) == len({draw for _, draw in draws}) == schedule.rounds


@given(schedules(alone=False))
def test_another_brain_changes_no_others_chance(schedule: Schedule) -> None:
    """Nor the draws, nor who sits where; every seat of every game has a chance of its own."""
    changed, chances = replace(schedule, names=("z", *schedule.names[1:])), set()
    for before, after in zip(schedule.pairings(), changed.pairings(), strict=True):
        assert before == after
        assert schedule.chance(before).random() == changed.chance(after).random()
        for seat in range(schedule.players):
            chance = schedule.chance_of(before, seat).random()
            assert chance == changed.chance_of(after, seat).random()
            chances.add((before.deal, before.rotation, seat, chance))
    assert len(chances) == len({chance for *_of, chance in chances})


@pytest.mark.parametrize(
    ("brains", "players", "circles"),
    [(3, 3, {"abc", "acb"}), (2, 4, {"aabb"}), (2, 3, {"aab", "abb"}), (4, 3, {"abc", "acb", "abd", "adb"})],
)
def test_who_sits_after_whom_differs_from_round_to_round(
    brains: int, players: int, circles: set[str]
) -> None:
    """All orders come up, but those that would have to play games twice."""
    schedule = Schedule(tuple("abcd"[:brains]), players, 2, seed=3)
    seatings = ("".join("abcd"[entrant] for entrant in pairing.seating) for pairing in schedule.pairings())
    seen = {min(seating[turn:] + seating[:turn] for turn in range(players)) for seating in seatings}
    assert circles <= seen


def test_wilsons_interval() -> None:
    """Checked against published values (Newcombe 1998, table I: 81 of 263; 0 of 20; 20 of 20)."""
    assert wilson(81 / 263, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(0.0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson(1.0, 20) == pytest.approx((0.8389, 1.0), abs=5e-5)
    for games in range(1, 100):
        assert 0.0 <= wilson(0.0, games)[0] < wilson(1.0, games)[1] <= 1.0
