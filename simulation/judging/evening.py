"""What an evening draws, and how it counts, as docs/evening.md and docs/protocol.md have it.

It uses nothing of the server's own draws and standings: the results are those in the games themselves.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from fractions import Fraction
from itertools import combinations, takewhile
from typing import Final, TypeAlias

from msgspec import structs

from protocol.absence import GAME_CLOCK_SECONDS, GameClock
from protocol.messages import EveningPerson, StartGame
from protocol.settings import Spectators
from server.storage.entries import (
    Changed,
    Entry,
    EveningBegun,
    GivenToBot,
    Opened,
    PersonEntered,
    Played,
    RoundDrawn,
    StoodIn,
    TableResult,
)
from server.storage.names import EVENING
from server.tables.evening import evening
from simulation.people.evening import EveningGuest
from simulation.verdict import Finding, Verdict

_Rows: TypeAlias = list[tuple[int, int, int]]  # of one game: people, their points and items
_LATE: Final = 12.0  # seconds after which a guest may be told that a table is there
_WEIGHT: Final = 100  # by how much more another meeting of the same two people weighs


def check_evening(
    guests: Sequence[EveningGuest],
    entries: Sequence[Entry],
    journal: Mapping[str, list[Entry]],
    shortened: Container[str],
    verdict: Verdict,
) -> None:
    """Judge draws and standings of the evening with these entries; `journal` has those of its tables.

    Of what was `shortened`, only that is judged which is kept.
    """
    drawn = [entry for entry in entries if isinstance(entry, RoundDrawn)]
    wrong = [each for guest in guests for each in guest.left_out]
    wrong += wrong_draws(drawn, {guest.person for guest in guests})
    if any(guest.evening is not None and guest.evening.same_draws for guest in guests):
        wrong += _other_draws(guests, drawn)
    wrong += _wrong_results(guests, drawn, entries, journal)
    if EVENING not in shortened:
        wrong += wrong_people(entries, journal)
    for number, each in enumerate(drawn):
        for code, people in each.tables:
            if code in journal and code not in shortened:
                wrong += _wrong_table(code, len(people), number, entries, journal[code])
                wrong += _began_early(code, guests, journal[code])
    verdict.different += [Finding(f"the evening: {each}") for each in wrong]


def wrong_draws(drawn: Sequence[RoundDrawn], known: Set[int | None]) -> Iterator[str]:
    """Yield what is wrong with who plays with whom: `known` are people of one address.

    Somebody from elsewhere would be kept apart from them.
    """
    met: Counter[frozenset[int]] = Counter()
    for number, each in enumerate(drawn, start=1):
        tables = [people for _code, people in each.tables]
        people = {person for table in tables for person in table}
        sizes = sorted(map(len, tables))
        if sizes[0] < min(3, len(people)) or sizes[-1] > 5:
            yield f"round {number} had tables of {sizes}"
        if people <= known and (better := _better(tables, met)) is not None:
            yield f"round {number} would repeat fewer meetings if {better} changed places: {tables}"
        met.update(_pairs(tables))


def wrong_people(entries: Sequence[Entry], journal: Mapping[str, list[Entry]]) -> Iterator[str]:
    """Who is drawn plays, and is at no other table; who does not come to a table pauses from then on."""
    takes_part, at_tables = dict[int, str](), dict[str, Sequence[int]]()
    for number, entry in enumerate(entries):
        match entry:
            case PersonEntered(person, _, _, how):
                takes_part[person] = how
            case TableResult(code):
                at_tables.pop(code, None)
            case RoundDrawn(tables):
                busy = {person for people in at_tables.values() for person in people}
                for code, people in tables:
                    at_tables[code] = people
                    if wrong := [each for each in people if each in busy or takes_part[each] != "play"]:
                        yield f"{wrong} were drawn for {code}, and play elsewhere, or do not"
                    for seat in _absent(journal.get(code, ())):
                        if not _pauses(people[seat], entries[number:]):
                            yield f"{people[seat]} did not come to {code}, and does not pause"


def _absent(entries: Sequence[Entry]) -> list[int]:
    """Return the seats for which bots have begun a game."""
    before = takewhile(lambda entry: not isinstance(entry, Played), entries)
    return [entry.seat for entry in before if isinstance(entry, GivenToBot)]


def _pauses(person: int, entries: Iterable[Entry]) -> bool:
    said = (each for each in entries if isinstance(each, PersonEntered) and each.person == person)
    return any(each.takes_part != "play" for each in said)


def _wrong_table(
    code: str, people: int, number: int, held: Sequence[Entry], entries: Sequence[Entry]
) -> Iterator[str]:
    """A table has the evening's clock, in equal parts; nobody watches it if others have the same draws."""
    begun, opened = held[0], entries[0]
    assert isinstance(begun, EveningBegun)
    assert isinstance(opened, Opened)
    plan = begun.plan
    if opened.players != max(people, 0 if plan.bots is None else 3):
        yield f"{code} has {opened.players} seats for {people} people"
    least, most = GAME_CLOCK_SECONDS
    if opened.absence != GameClock(min(most, max(least, 60 * plan.minutes // opened.players))):
        yield f"{code} has the clock {opened.absence}"
    if not plan.same_draws:
        return
    if Changed(Spectators(on=False)) not in entries:
        yield f"{code} may be watched"
    seeds = [begun.seed, *(each.seed for each in held if isinstance(each, RoundDrawn))]
    game = next((entry.seed for entry in entries if isinstance(entry, Played)), None)
    if game not in {None, seeds[number]}:
        yield f"{code} has the draws of another round"


def _began_early(code: str, guests: Sequence[EveningGuest], entries: Sequence[Entry]) -> Iterator[str]:
    """People have time to come to a table before its game begins without them."""
    called, began = (
        min((guest.told[code, stage] for guest in guests if (code, stage) in guest.told), default=math.inf)
        for stage in ("gathering", "playing")
    )
    if began < called + evening.SECONDS_TO_COME - _LATE and _absent(entries):
        yield f"{code} began {began - called:.1f} s after its people were called"


def _other_draws(guests: Sequence[EveningGuest], drawn: Sequence[RoundDrawn]) -> Iterator[str]:
    """Yield the rounds whose tables did not lie alike, where they should."""
    for number, each in enumerate(drawn, start=1):
        codes = {code for code, _people in each.tables}
        seen = {guest.drawn[code] for guest in guests for code in codes & guest.drawn.keys()}
        if len(seen) > 1:
            yield f"the tables of round {number} had different draws: {seen}"


def _pairs(tables: Iterable[Sequence[int]]) -> list[frozenset[int]]:
    return [frozenset(pair) for table in tables for pair in combinations(table, 2)]


def _better(tables: Sequence[Sequence[int]], met: Mapping[frozenset[int], int]) -> tuple[int, int] | None:
    """Return two people at different tables by whose exchange fewer meetings would be repeated."""

    def repeated(*these: Iterable[int]) -> int:
        return sum(_WEIGHT ** met.get(pair, 0) - 1 for pair in _pairs(list(map(list, these))))

    for one, other in combinations(tables, 2):
        for here in one:
            for there in other:
                left = [*(each for each in one if each != here), there]
                right = [*(each for each in other if each != there), here]
                if repeated(left, right) < repeated(one, other):
                    return here, there
    return None


def _wrong_results(
    guests: Sequence[EveningGuest],
    drawn: Sequence[RoundDrawn],
    entries: Sequence[Entry],
    journal: Mapping[str, list[Entry]],
) -> Iterator[str]:
    """The result of a game is that of everybody who has moved there, and the standings are theirs."""
    played: list[_Rows] = []
    for each in drawn:
        for code, people in each.tables:
            rows = _rows(people, journal.get(code, ()))
            played.append(rows)
            noted = [
                entry.scores for entry in entries if isinstance(entry, TableResult) and entry.code == code
            ]
            if any(sorted(map(tuple, scores)) != sorted(rows) for scores in noted):
                yield f"the result at {code} was {rows}, not {noted}"
    for guest in guests:
        shown = () if guest.evening is None or not guest.evening.over else guest.evening.people
        for person in shown:
            if (right := _score(person, played)) != person:
                yield f"guest {guest.number} was told {person}, not {right}"
        yield from wrong_places(shown)


def _rows(people: Sequence[int], entries: Iterable[Entry]) -> _Rows:
    """Return what those who have moved in a game have reached; nothing without a result."""
    movers, tallies = set[int](), list[Mapping[str, int]]()
    for entry in entries:
        if isinstance(entry, Played) and not isinstance(entry.move, StartGame):
            movers.add(entry.seat)
        if isinstance(entry, Played | StoodIn) and entry.events[-1]["t"] == "ended":
            tallies = entry.events[-1]["tallies"]
    return [
        (person, tallies[seat]["points"], tallies[seat]["items"])
        for seat, person in enumerate(people)
        if seat in movers and tallies
    ]


def _score(shown: EveningPerson, played: Iterable[_Rows]) -> EveningPerson:
    """Return what a person should have reached, at the place and under the name that they are shown with."""
    own = [(rows, row) for rows in played for row in rows if row[0] == shown.person]
    met = [(rows, row) for rows, row in own if len(rows) > 1]
    worth = Fraction(len(own) - len(met), 2)  # a half for each game without others
    against: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    wins = 0
    for rows, (person, *reached) in met:
        others = {other: theirs for other, *theirs in rows if other != person}
        behind = sum(theirs < reached for theirs in others.values())
        tied = sum(theirs == reached for theirs in others.values())
        worth += Fraction(2 * behind + tied, 2 * len(others))
        wins += all(theirs <= reached for theirs in others.values())
        for other, theirs in others.items():
            counted = against[other]
            counted[0] += 1
            counted[1] += theirs < reached
            counted[2] += theirs > reached
    return structs.replace(
        shown,
        score=round(10_000 * worth),
        average=round(10_000 * worth / max(1, len(own))),
        games=len(own),
        wins=wins,
        points=sum(row[1] for _rows, row in own),
        against=[(other, *counted) for other, counted in sorted(against.items())],
    )


def wrong_places(shown: Sequence[EveningPerson]) -> Iterator[str]:
    """The better ones have the better places, equal ones the same, and those without a game the last."""
    for one, other in combinations(shown, 2):
        first, second = ((each.games > 0, each.score) for each in (one, other))
        if (first > second and one.place >= other.place) or (first < second and one.place <= other.place):
            yield f"{one} has the wrong place beside {other}"
        if first == second and not (one.place == other.place and one.tied and other.tied):
            yield f"{one} is not tied with {other}"
