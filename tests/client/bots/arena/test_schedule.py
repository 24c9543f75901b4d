"""Schedules are fair: every brain has every seat and every rival as often, and the same luck."""

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.bots.arena.games import Schedule


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
    """All are numbered, and are as many as is said beforehand."""
    pairings = list(schedule.pairings())
    assert [pairing.number for pairing in pairings] == list(range(1, schedule.games + 1))
    assert len({(pairing.deal, pairing.seating) for pairing in pairings}) == schedule.games


@given(schedules(alone=False))
def test_a_round_has_one_deal(schedule: Schedule) -> None:
    """Its draws are the same for all brains in all seats, and another round has others."""
    draws = {(pairing.deal, schedule.chance(pairing).random()) for pairing in schedule.pairings()}
    assert len(draws) == len({draw for _, draw in draws}) == schedule.rounds


@given(schedules(alone=False))
def test_another_brain_changes_no_others_chance(schedule: Schedule) -> None:
    """Nor the draws, nor who sits where."""
    changed = Schedule(("z", *schedule.names[1:]), schedule.players, schedule.rounds, schedule.seed)
    for before, after in zip(schedule.pairings(), changed.pairings(), strict=True):
        assert before == after
        assert schedule.chance(before).random() == changed.chance(after).random()
        for seat in range(schedule.players):
            assert schedule.chance_of(before, seat).random() == changed.chance_of(after, seat).random()


def test_brains_with_several_seats_have_chances_of_their_own() -> None:
    """And another in every game."""
    schedule = Schedule(("a", "b"), 4, 2, seed=1)
    pairings = list(schedule.pairings())
    drawn = [schedule.chance_of(pairing, seat).random() for pairing in pairings for seat in range(4)]
    assert len(set(drawn)) == 4 * len(pairings)


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
