"""Evenings drawn at random: nobody is left out, few people meet again, and every evening ends."""

import itertools
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest

from protocol.admin import EveningPlan
from server.storage.entries import EveningBegun, PersonEntered, RoundDrawn, TableResult
from server.tables.evening.evening import EveningState
from server.tables.evening.rounds import (
    PATIENCE,
    Pair,
    draw_tables,
    meetings,
    standings,
    table_sizes,
    tables_now,
)

_EVENINGS = 500  # of each kind, in parts
_PARTS = [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 10))]


def test_table_sizes() -> None:
    """Tables have 3 to 5 people, nearly the same number; two people play with each other, nobody alone."""
    assert not [*table_sizes(1), *table_sizes(0), *draw_tables([7], {}, random.Random(1))]
    assert table_sizes(2) == [2]
    for people in range(3, 65):
        sizes = table_sizes(people)
        assert sum(sizes) == people
        assert 3 <= min(sizes) <= max(sizes) <= min(5, min(sizes) + 1)


def _repeats(tables: Sequence[Sequence[int]], met: Mapping[Pair, int]) -> list[int]:
    """Return how often pairs of these tables have met, the most first: fewer is less in this order."""
    return sorted((met.get(pair, 0) for pair in meetings(tables)), reverse=True)


def _check_draw(tables: list[list[int]], free: set[int], met: Mapping[Pair, int]) -> None:
    """Check that everybody sits once, and that no exchange of two people would bring fewer repeats."""
    assert sorted(itertools.chain(*tables)) == sorted(free)
    for here, there in itertools.combinations(range(len(tables)), 2):
        before = _repeats((tables[here], tables[there]), met)
        if not any(before):
            continue
        for one, other in itertools.product(tables[here], tables[there]):
            changed = [
                [other if each == one else one if each == other else each for each in tables[at]]
                for at in (here, there)
            ]
            assert _repeats(changed, met) >= before


@pytest.mark.parametrize("part", _PARTS)
def test_evenings_in_rounds(part: int) -> None:
    """Over 500 evenings of 4 to 40 people who come and go: everybody who is there plays in every round."""
    for seed in range(part, _EVENINGS, len(_PARTS)):
        rng = random.Random(seed)
        here, ids = set(range(rng.randint(4, 40))), itertools.count(100)
        played: list[list[int]] = []
        for number in range(rng.randint(2, 7)):
            met = meetings(played)
            tables = draw_tables(here, met, rng)
            if len(here) > 1:
                if number % 3 == 2:  # takes longer than the draw
                    _check_draw(tables, here, met)
                assert sorted(itertools.chain(*tables)) == sorted(here)
            played += tables
            here -= {person for person in here if rng.random() < 0.1}
            here |= {next(ids) for _ in range(rng.choice((0, 0, 1, 2)))}


@pytest.mark.parametrize("part", _PARTS)
def test_evenings_in_free_order(part: int) -> None:
    """Over 500 evenings: nobody waits past the end of two tables and a while, and all games end."""
    for seed in range(part, _EVENINGS, len(_PARTS)):
        _play_in_free_order(random.Random(seed))


def _play_in_free_order(rng: random.Random) -> None:
    now, played = 0.0, list[list[int]]()
    running: dict[int, tuple[float, list[int]]] = {}
    arrivals = sorted((rng.random() * 3600.0, person) for person in range(rng.randint(4, 40)))
    leaves = {person: at + rng.random() * 10_000.0 for at, person in arrivals}
    waiting: dict[int, float] = {}
    ended_while_waiting: dict[int, int] = {}
    while arrivals or running or len(waiting) > 1:
        moments = [at for at, _ in running.values()] + [at for at, _ in arrivals[:1]]
        if waiting:
            moments += [at for at in [min(waiting.values()) + PATIENCE] if at > now]
        assert moments, "everybody waits for ever"
        now = min(moments)
        while arrivals and arrivals[0][0] <= now:
            person = arrivals.pop(0)[1]
            waiting[person], ended_while_waiting[person] = now, 0
        for number in [number for number, (at, _) in running.items() if at <= now]:
            for person in waiting:
                ended_while_waiting[person] += 1
            for person in running.pop(number)[1]:
                waiting[person], ended_while_waiting[person] = now, 0
        waiting = {person: since for person, since in waiting.items() if leaves[person] > now}
        waited = now - min(waiting.values(), default=now)
        tables = tables_now(
            list(waiting), meetings(played), rng, others_play=bool(running), waited=waited + 1e-6
        )
        for table in tables:
            running[len(played)] = (now + 600.0 + rng.random() * 1800.0, table)
            played.append(table)
            for person in table:
                assert now - waiting.pop(person) <= PATIENCE + 1 or ended_while_waiting[person] or len(tables)
        # Whoever has waited long enough is alone, or two people wait for those who still play.
        assert all(
            now - since < PATIENCE or len(waiting) == 1 or (len(waiting) == 2 and running)
            for since in waiting.values()
        )


@pytest.mark.parametrize(("people", "rounds"), [(16, 3), (28, 4), (40, 5)])
def test_nobody_meets_again_while_the_others_are_new(people: int, rounds: int) -> None:
    for seed in range(10):
        played = list[list[int]]()
        for _ in range(rounds):
            played += draw_tables(range(people), meetings(played), random.Random(seed))
        assert set(meetings(played).values()) == {1}


def test_a_table_begins_when_enough_people_wait() -> None:
    """Four new people start immediately; three, or people who have met, wait a while for others."""
    rng = random.Random(1)
    assert tables_now([1, 2, 3, 4], {}, rng, others_play=True, waited=0)
    for free, met in ([1, 2, 3], {}), ([1, 2, 3, 4], {(1, 2): 1}):
        assert tables_now(free, met, rng, others_play=True, waited=PATIENCE - 1) == []
        assert tables_now(free, met, rng, others_play=True, waited=PATIENCE)
    assert tables_now([1, 2], {}, rng, others_play=True, waited=1000) == []
    assert tables_now([1, 2], {}, rng, others_play=False, waited=1000)


def test_standings() -> None:
    """A game is worth the part of the people left behind, whatever the table's size; ties are shared (R7)."""
    results = [[(1, 30, 5), (2, 20, 5), (3, 20, 5)], [(1, 9, 1), (2, 9, 0)], [(6, 50, 9)]]
    scores = standings(range(1, 7), results)
    assert [(each.person, each.place, each.tied, each.average) for each in scores] == [
        (1, 1, False, Fraction(5, 6)),  # 1, 1 and the half that everybody starts with
        (4, 2, True, Fraction(1, 2)),
        (5, 2, True, Fraction(1, 2)),
        (6, 2, True, Fraction(1, 2)),  # played with bots alone
        (3, 5, False, Fraction(3, 8)),
        (2, 6, False, Fraction(1, 4)),
    ]
    assert [(each.games, each.wins, each.points) for each in scores[:2]] == [(2, 2, 39), (0, 0, 0)]
    assert scores[0].against == {2: (2, 2, 0), 3: (1, 1, 0)}
    assert scores[4].against == {1: (1, 0, 1), 2: (1, 0, 0)}


def test_the_standings_are_made_once_for_all_who_ask() -> None:
    """They take so long that whoever asked often would hold up every table; each result makes new ones."""
    state = EveningState(EveningBegun(EveningPlan("Friday")))
    for number in (1, 2):
        state.fold(PersonEntered(number, f"N{number}", "", "play"), 0.0)
    state.fold(RoundDrawn([("AAAA", [1, 2])]), 0.0)
    before = state.scores()
    assert state.scores() is before
    state.fold(TableResult("AAAA", [(2, 30, 3), (1, 20, 3)]), 0.0)
    assert [score.person for score in state.scores()] == [2, 1]
    assert [score.wins for score in before] == [0, 0]
