"""The draws and the standings of an evening, computed without any table or client.

People are numbers. What a draw guarantees is that everybody sits at one table, of 3 to 5 unless there are
only two people, and that exchanging two people between tables would not lower the count of repeated
meetings, in which each further meeting of the same two people weighs more than any number of earlier ones.

Somebody may sign up several times, so two people of one origin at a table with people from elsewhere count as
a repeated meeting as well. They count as no more than that: where a room has two origins, as with IPv4 and
IPv6, everybody in it still meets everybody else.
"""

import functools
import itertools
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Final, TypeAlias

from server.probes import probe

Pair: TypeAlias = tuple[int, int]  # the lower number first
Origins: TypeAlias = Mapping[int, str]  # of people; whoever has none comes from elsewhere than all others

_NO_ORIGINS: Final[Origins] = MappingProxyType({})

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
        probe("a table of an evening has five seats")
        tables -= 1
    each, more = divmod(people, tables)
    return [each + (number < more) for number in range(tables)]


def meetings(tables: Iterable[Sequence[int]]) -> Counter[Pair]:
    """Return how often any two people have met at these tables."""
    return Counter(pair for table in tables for pair in itertools.combinations(sorted(table), 2))


def draw_tables(
    people: Iterable[int], met: Mapping[Pair, int], rng: random.Random, origins: Origins = _NO_ORIGINS
) -> list[list[int]]:
    """Return tables for everybody with few repeated meetings; a single person gets none."""
    everybody = sorted(people)
    sizes = table_sizes(len(everybody))
    if not sizes:
        return []
    sizes_of = Counter(origins[person] for person in everybody if person in origins)
    rooms = {origin: number for number, origin in enumerate(sizes_of, 1) if sizes_of[origin] >= LEAST}

    def shuffled() -> list[int]:
        """Return a random order in which origins that could fill tables come as a whole: it saves work."""
        order = rng.sample(everybody, len(everybody))
        return sorted(order, key=lambda person: rooms.get(origins.get(person, ""), 0))

    attempts = (_improve(_deal(shuffled(), sizes), met, origins) for _ in range(_ATTEMPTS))
    return min(attempts, key=lambda tables: _cost(tables, met, origins))


def tables_now(
    free: Sequence[int],
    met: Mapping[Pair, int],
    rng: random.Random,
    origins: Origins = _NO_ORIGINS,
    *,
    others_play: bool,
    waited: float,
) -> list[list[int]]:
    """Return the tables that can begin now, with enough people waiting; perhaps none.

    The first of those who are free has `waited` for so many seconds. They are seated immediately if there are
    enough for a usual table at which nobody meets again; otherwise others have a while to come. Nobody starts
    with fewer than three while `others_play`, who will be free in turn.
    """
    least = LEAST if others_play else 2
    if len(free) < least:
        return []
    tables = draw_tables(free, met, rng, origins)
    fresh = len(free) >= USUAL and not _cost(tables, met, origins)
    return tables if fresh or waited >= PATIENCE else []


def _deal(order: Sequence[int], sizes: Sequence[int]) -> list[list[int]]:
    left = iter(order)
    return [list(itertools.islice(left, size)) for size in sizes]


def _weight(times: int) -> int:
    """Return the cost of a meeting of two people who have met this many times."""
    cost: int = _WEIGHT**times - 1
    return cost


def _cost(tables: Iterable[Sequence[int]], met: Mapping[Pair, int], origins: Origins) -> int:
    seated = list(tables)
    again = sum(_weight(met.get(pair, 0)) for pair in meetings(seated))
    return again + sum(_cost_of_origins(tuple(origins.get(each, each) for each in table)) for table in seated)


@functools.lru_cache(maxsize=10_000)  # in a draw, the same few come again and again
def _cost_of_origins(origins: tuple[object, ...]) -> int:
    """Return what it costs that several people of one origin sit at a table with others."""
    counts = Counter(origins).values()
    return 0 if len(counts) < 2 else _weight(1) * sum(count * (count - 1) // 2 for count in counts)


class _Seating:
    """People at tables, two of whom exchange their places; `saved` is fast enough for many trials."""

    def __init__(self, tables: Sequence[Sequence[int]], met: Mapping[Pair, int], origins: Origins) -> None:
        self.place = {person: at for at, table in enumerate(tables) for person in table}
        self._known: dict[int, dict[int, int]] = {person: {} for person in self.place}
        for (one, other), times in met.items():
            if times and one in self.place and other in self.place:
                self._known[one][other] = self._known[other][one] = _weight(times)
        # What it would cost each person to sit at each table.
        self._costs = {person: [0] * len(tables) for person in self.place}
        for person, others in self._known.items():
            for other, weight in others.items():
                self._costs[person][self.place[other]] += weight
        self._origin: dict[int, object] = {person: origins.get(person, person) for person in self.place}
        self._origins = [tuple(self._origin[person] for person in table) for table in tables]
        self._mixed = [_cost_of_origins(each) for each in self._origins]

    def saved(self, one: int, other: int) -> int:
        """Return how much less it would cost if two people exchanged their places; 0 if they cost nothing."""
        here, there = self.place[one], self.place[other]
        own, others = self._costs[one], self._costs[other]
        mixed = self._mixed[here] + self._mixed[there]
        if here == there or not (own[here] or others[there] or mixed):
            return 0
        saved = own[here] + others[there] - own[there] - others[here] + 2 * self._known[one].get(other, 0)
        if mixed and self._origin[one] != self._origin[other]:
            saved += mixed - sum(map(_cost_of_origins, self._exchanged(one, other)))
        return saved

    def exchange(self, one: int, other: int) -> None:
        here, there = self.place[one], self.place[other]
        self._origins[here], self._origins[there] = self._exchanged(one, other)
        for at in (here, there):
            self._mixed[at] = _cost_of_origins(self._origins[at])
        self._move(one, there)
        self._move(other, here)

    def _exchanged(self, one: int, other: int) -> tuple[tuple[object, ...], tuple[object, ...]]:
        """Return the origins at the tables of two people if these exchanged their places."""
        leaving, coming = self._origin[one], self._origin[other]
        here, there = self._origins[self.place[one]], self._origins[self.place[other]]
        return _replaced(here, leaving, coming), _replaced(there, coming, leaving)

    def _move(self, person: int, to: int) -> None:
        for other, weight in self._known[person].items():
            self._costs[other][self.place[person]] -= weight
            self._costs[other][to] += weight
        self.place[person] = to


def _replaced(origins: tuple[object, ...], old: object, new: object) -> tuple[object, ...]:
    at = origins.index(old)
    return (*origins[:at], new, *origins[at + 1 :])


def _improve(tables: list[list[int]], met: Mapping[Pair, int], origins: Origins) -> list[list[int]]:
    """Exchange people between tables for as long as that makes the draw better."""
    seating = _Seating(tables, met, origins)
    better = True
    while better:
        better = False
        for one, other in itertools.combinations(seating.place, 2):
            if seating.saved(one, other) > 0:
                probe("two people of an evening exchange their tables")
                seating.exchange(one, other)
                better = True
    return [[each for each, place in seating.place.items() if place == at] for at in range(len(tables))]


# -- results and standings ------------------------------------------------------------------------

Result: TypeAlias = Sequence[tuple[int, int, int]]  # of one table: people, their points and items (R7)


@dataclass(frozen=True, slots=True)
class Score:
    """A person's place in the standings: `place` 1 is the best, and shared if `tied`.

    A game is worth the share of the other people at its table who finished behind, a tie counting half, so
    that tables of any size count the same; without other people, it is worth a half. `score` is
    the sum of all games, so a missed round is worth nothing. `against` has for each person met the games
    together, and in how many of them one finished ahead, and behind.
    """

    person: int
    place: int
    tied: bool
    score: Fraction
    games: int
    wins: int
    points: int
    against: Mapping[int, tuple[int, int, int]]

    @property
    def average(self) -> Fraction:
        return self.score / max(1, self.games)


def standings(people: Iterable[int], results: Iterable[Result]) -> list[Score]:
    """Return the scores of all these people, the best first, those without a game last.

    Results may have others.
    """
    worth: dict[int, list[Fraction]] = {person: [] for person in people}
    wins, points = Counter[int](), Counter[int]()
    against: dict[int, dict[int, tuple[int, int, int]]] = {person: {} for person in worth}
    for result in results:
        rank = {person: (game_points, items) for person, game_points, items in result}
        best = max(rank.values(), default=None)
        for person, own in rank.items():
            if person not in worth:
                continue
            points[person] += own[0]
            if len(rank) < 2:  # alone among bots, or the others have not come
                worth[person].append(Fraction(1, 2))
                continue
            ahead = sum(own > other for other in rank.values())
            ties = sum(own == other for other in rank.values()) - 1
            worth[person].append(Fraction(2 * ahead + ties, 2 * (len(rank) - 1)))
            wins[person] += own == best
            for other, theirs in rank.items():
                if other != person:
                    games, before, behind = against[person].get(other, (0, 0, 0))
                    against[person][other] = (games + 1, before + (own > theirs), behind + (own < theirs))
    score = {person: sum(games, Fraction()) for person, games in worth.items()}

    def rank_of(person: int) -> tuple[bool, Fraction]:
        return not worth[person], -score[person]

    order = sorted(worth, key=lambda person: (rank_of(person), person))
    ranks = [rank_of(person) for person in order]
    return [
        Score(
            person,
            ranks.index(rank_of(person)) + 1,
            ranks.count(rank_of(person)) > 1,
            score[person],
            len(worth[person]),
            wins[person],
            points[person],
            against[person],
        )
        for person in order
    ]
