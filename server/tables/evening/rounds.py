"""The draws and the standings of an evening, computed without any table or client.

People are numbers. What a draw guarantees is that everybody sits at one table, of 3 to 5 unless there are
only two people, and that exchanging two people between tables would not lower the count of repeated
meetings, in which each further meeting of the same two people weighs more than any number of earlier ones.
"""

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

Pair: TypeAlias = tuple[int, int]  # the lower number first

LEAST, USUAL, MOST = 3, 4, 5  # people at a table
PATIENCE: Final = 90.0  # seconds in which others may come before people meet again, or a table stays small
_WEIGHT: Final = 100  # by which another meeting of the same two people weighs more; most tables have 10 pairs
_ATTEMPTS: Final = 3  # at a draw, each from another random order


def table_sizes(people: int) -> list[int]:
    """Return the sizes of the tables for this many people; nobody plays alone."""
    if people <= LEAST:
        return [people] if people > 1 else []
    tables = -(-people // USUAL)
    while tables * LEAST > people:
        tables -= 1
    each, more = divmod(people, tables)
    return [each + (number < more) for number in range(tables)]


def meetings(tables: Iterable[Sequence[int]]) -> Counter[Pair]:
    """Return how often any two people have met at these tables."""
    return Counter(pair for table in tables for pair in itertools.combinations(sorted(table), 2))


def draw_tables(people: Iterable[int], met: Mapping[Pair, int], rng: random.Random) -> list[list[int]]:
    """Return tables for everybody, except for a person alone, at which few people meet again."""
    everybody = sorted(people)
    sizes = table_sizes(len(everybody))
    if not sizes:
        return []
    attempts = (_improve(_deal(rng.sample(everybody, len(everybody)), sizes), met) for _ in range(_ATTEMPTS))
    return min(attempts, key=lambda tables: _cost(tables, met))


def tables_now(
    free: Sequence[int], met: Mapping[Pair, int], rng: random.Random, *, others_play: bool, waited: float
) -> list[list[int]]:
    """Return the tables that begin now if each begins as soon as enough people wait; maybe none yet.

    The first of those who are free has `waited` for so many seconds. They are seated immediately if there are
    enough for a usual table at which nobody meets again; otherwise others have a while to come. Nobody starts
    with fewer than three while `others_play`, who will be free in turn.
    """
    least = LEAST if others_play else 2
    if len(free) < least:
        return []
    tables = draw_tables(free, met, rng)
    fresh = len(free) >= USUAL and not any(met.get(pair) for pair in meetings(tables))
    return tables if fresh or waited >= PATIENCE else []


def _deal(order: Sequence[int], sizes: Sequence[int]) -> list[list[int]]:
    left = iter(order)
    return [list(itertools.islice(left, size)) for size in sizes]


def _weight(times: int) -> int:
    """Return the cost of a meeting of two people who have met this many times."""
    cost: int = _WEIGHT**times - 1
    return cost


def _cost(tables: Iterable[Sequence[int]], met: Mapping[Pair, int]) -> int:
    return sum(_weight(met.get(pair, 0)) for pair in meetings(tables))


def _improve(tables: list[list[int]], met: Mapping[Pair, int]) -> list[list[int]]:
    """Exchange people between tables for as long as that makes the draw better."""
    place = {person: at for at, table in enumerate(tables) for person in table}
    known: dict[int, dict[int, int]] = {person: {} for person in place}
    for (one, other), times in met.items():
        if times and one in place and other in place:
            known[one][other] = known[other][one] = _weight(times)
    # What it would cost each person to sit at each table.
    costs = {person: [0] * len(tables) for person in place}
    for person, others in known.items():
        for other, weight in others.items():
            costs[person][place[other]] += weight

    def move(person: int, to: int) -> None:
        for other, weight in known[person].items():
            costs[other][place[person]] -= weight
            costs[other][to] += weight
        place[person] = to

    better = True
    while better:
        better = False
        for one, other in itertools.combinations(place, 2):
            here, there = place[one], place[other]
            if here == there or not (costs[one][here] or costs[other][there]):
                continue
            saved = costs[one][here] + costs[other][there] - costs[one][there] - costs[other][here]
            if saved + 2 * known[one].get(other, 0) > 0:
                move(one, there)
                move(other, here)
                better = True
    return [[person for person in place if place[person] == at] for at in range(len(tables))]


# -- results and standings ------------------------------------------------------------------------

Result: TypeAlias = Sequence[tuple[int, int, int]]  # of one table: people, their points and items (R7)


@dataclass(frozen=True, slots=True)
class Score:
    """What somebody has reached: `place` 1 is the best, and shared if `tied`.

    A game is worth the part of the other people at its table whom one has left behind, a tie counting half,
    so that tables of any size count the same. `average` is that of all games and of one worth a half, which
    everybody starts with, so that a single good game does not win an evening. `against` has for each person
    met the games together, and in how many of them one finished ahead, and behind.
    """

    person: int
    place: int
    tied: bool
    average: Fraction
    games: int
    wins: int
    points: int
    against: Mapping[int, tuple[int, int, int]]


def standings(people: Iterable[int], results: Iterable[Result]) -> list[Score]:
    """Return the scores of all these people, the best first."""
    worth: dict[int, list[Fraction]] = {person: [] for person in people}
    wins, points = Counter[int](), Counter[int]()
    against: dict[int, dict[int, tuple[int, int, int]]] = {person: {} for person in worth}
    for result in results:
        rank = {person: (game_points, items) for person, game_points, items in result}
        best = max(rank.values(), default=None)
        for person, own in rank.items():
            points[person] += own[0]
            if len(rank) < 2:  # alone among bots
                continue
            ahead = sum(own > other for other in rank.values())
            ties = sum(own == other for other in rank.values()) - 1
            worth[person].append(Fraction(2 * ahead + ties, 2 * (len(rank) - 1)))
            wins[person] += own == best
            for other, theirs in rank.items():
                if other != person:
                    games, before, behind = against[person].get(other, (0, 0, 0))
                    against[person][other] = (games + 1, before + (own > theirs), behind + (own < theirs))
    average = {person: (sum(games) + Fraction(1, 2)) / (len(games) + 1) for person, games in worth.items()}
    order = sorted(worth, key=lambda person: (-average[person], not worth[person], person))

    def rank_of(person: int) -> tuple[Fraction, bool]:  # whoever has not played is behind who is as good
        return -average[person], not worth[person]

    ranks = [rank_of(person) for person in order]
    return [
        Score(
            person,
            ranks.index(rank_of(person)) + 1,
            ranks.count(rank_of(person)) > 1,
            average[person],
            len(worth[person]),
            wins[person],
            points[person],
            against[person],
        )
        for person in order
    ]
