"""The fold of an evening's entries: its people, its tables, and what came of them.

Somebody who has had a seat may be forgotten: who is at a table need not be among the people.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.draws import Bytes32
from server.storage import entries as stored
from server.storage.entries import Entry
from server.storage.reasons import Misfit
from server.tables.evening.rounds import Result, Score, standings


@dataclass(slots=True)
class EveningTable:
    """A table of a round, with the people at it by seat; bots sit behind them. `result` once it is over."""

    round: int
    people: Sequence[int]
    opened: int  # as in RoundDrawn
    result: Result | None = None


class EveningState:
    """The fold of an evening's entries; raises Misfit if the first ones do not begin an evening."""

    def __init__(self, begun: Entry) -> None:
        if not isinstance(begun, stored.EveningBegun):
            raise Misfit("it does not begin with an evening")
        self.plan, self.opened = begun.plan, begun.opened
        self.people: dict[int, stored.PersonEntered] = {}  # as they entered last
        self.tables: dict[str, EveningTable] = {}
        self.round = 0
        self.round_drawn = 0  # when, as in RoundDrawn
        self.countdown: int | None = None  # when it began, if it runs
        self.seeds = [] if begun.seed is None else [Bytes32(begun.seed)]
        self.closed = False
        self.entry_count = 1
        self.last_person = 0  # the highest number that anybody had
        self.played = set[int]()  # people with a result
        self.called = set[int]()  # people who have had a seat at a table
        self._scores: list[Score] | None = []
        self._scores_before: list[Score] | None = []
        if self.plan.same_draws and not self.seeds:
            raise Misfit("its first round has no draws")

    def fold(self, entry: Entry) -> None:
        """Fold an entry; raises Misfit, and changes nothing, if it contradicts the state."""
        match entry:
            case stored.PersonEntered(number, name):
                self.last_person = max(self.last_person, number)
                if (number in self.people) is not bool(name):
                    self._scores = self._scores_before = None
                if name:
                    self.people[number] = entry
                else:
                    self.people.pop(number, None)
            case stored.Countdown(at):
                self.countdown = at
            case stored.RoundDrawn(tables, seed, at):
                if self.plan.same_draws and seed is None:
                    raise Misfit("the next round has no draws")
                self.round += 1
                self.round_drawn, self.countdown = at, None
                self._scores_before = None
                self.tables |= {code: EveningTable(self.round, people, at) for code, people in tables}
                self.called.update(number for _, people in tables for number in people)
                if seed is not None:
                    self.seeds.append(Bytes32(seed))
            case stored.TableResult(code, scores):
                people = {number for number, _, _ in scores}
                if code not in self.tables or not people <= set(self.tables[code].people):
                    raise Misfit("a result is of no table")
                self.tables[code].result = scores
                self.played |= people
                self._scores = None
                if self.tables[code].round < self.round:
                    self._scores_before = None
            case stored.EveningClosed():
                self.closed = True
            case _:
                raise Misfit("an entry is not an evening's")
        self.entry_count += 1

    def scores(self) -> list[Score]:
        """Return the standings, which are slow to compute and often asked for."""
        if self._scores is None:
            results = (table.result for table in self.tables.values() if table.result)
            self._scores = standings(self.people, results)
        return self._scores

    def scores_before(self) -> list[Score]:
        """Return the standings without the games of the last round."""
        if self._scores_before is None:
            earlier = (table for table in self.tables.values() if table.round < self.round)
            self._scores_before = standings(self.people, (table.result for table in earlier if table.result))
        return self._scores_before

    @property
    def running(self) -> Mapping[str, EveningTable]:
        """Return the tables without a result, by their codes."""
        return {code: table for code, table in self.tables.items() if table.result is None}

    @property
    def draws_no_more(self) -> bool:
        """Return whether no more tables are drawn: this is the last round, or the evening is closed."""
        return self.closed or 0 < self.plan.rounds <= self.round

    @property
    def over(self) -> bool:
        return self.draws_no_more and not self.running


def live_entries(entries: Sequence[Entry]) -> list[int]:
    """Return, in order, the numbers of an evening's entries that make the same state as all of them.

    Entries about forgotten people are left out, and countdowns that were stopped or led to a round.
    """
    last: dict[int, int] = {}
    draw = 0  # the number of the last entry about when tables are drawn
    for number, entry in enumerate(entries):
        match entry:
            case stored.PersonEntered(person):
                last[person] = number
            case stored.Countdown() | stored.RoundDrawn():
                draw = number

    def counts(number: int, entry: Entry) -> bool:
        match entry:
            case stored.PersonEntered(person, name):
                return bool(name) and last[person] == number
            case stored.Countdown(at):
                return at is not None and number == draw
        return True

    return [number for number, entry in enumerate(entries) if counts(number, entry)]


def fold_as_far_as_possible(entries: Sequence[Entry]) -> tuple[EveningState | None, int]:
    """Return the fold of the entries before the first one that makes no sense, and their number."""
    state: EveningState | None = None
    for number, entry in enumerate(entries):
        try:
            if state is None:
                state = EveningState(entry)
            else:
                state.fold(entry)
        except Misfit:
            return state, number
    return state, len(entries)
