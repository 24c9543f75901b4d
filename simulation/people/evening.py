"""An evening beside the games: guests sign up, go where they are called, play at random, and are judged."""

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from client.bots.brains import at_random
from client.network.connection import Connection, open_connection
from client.network.transport import ConnectFailed, RequestRefused
from protocol.admin import EveningPlan
from protocol.events import move_message
from protocol.messages import NEW, Evening, Leave, Resume, SignUp, TakePart, TakesPart
from server.net.tokens import token_hash
from server.storage.entries import Entry, EveningClosed, PersonEntered, RoundDrawn, TableResult
from simulation.people.visitors import PAUSE, TIMEOUTS, Route, next_update
from simulation.verdict import Finding, Outcome, Verdict

_LONGEST: Final = 1800.0  # simulated seconds, far more than two rounds take
_GIVES_UP: Final = 300.0  # seconds after which nobody tells of the evening any more
_SHARE: Final = 0.25  # of the simulations
_IN_FREE_ORDER: Final = 0.3  # of the evenings
_CLOSED: Final = 0.3  # ... of the others, before their last round
_LEAST_GUESTS: Final = 3  # where no bots fill up tables
_CLOSES_AFTER: Final = (30.0, 200.0)  # seconds
_A_WHILE: Final = 10.0  # seconds, after which all that was on its way has come
_PAUSES: Final = 0.01  # of the news, at which somebody pauses, and comes back after a while
_LONGEST_PAUSE: Final = 60.0  # seconds
_COMES_LATE: Final = 0.15  # of those who are called to a table, or not at all
_LATEST: Final = 100.0  # seconds


@dataclass(frozen=True, slots=True)
class PlannedEvening:
    """An evening, how many guests attend it, and after how many seconds the host closes it, if at all."""

    plan: EveningPlan
    guests: int
    closed_after: float | None
    draws_now: bool  # the host does not wait for people to come


def evening_of(seed: int, *, certain: bool, brief: bool) -> PlannedEvening | None:
    """Return the evening that is held in the simulation with this seed, if there is one.

    A brief one is certain, too, and has what a broken server needs to be found.
    """
    rng = random.Random(f"evening {seed}")
    if rng.random() >= _SHARE and not (certain or brief):
        return None
    same_draws = rng.random() < 0.5
    if brief:
        return PlannedEvening(EveningPlan("Simulated", 2, 5, same_draws=same_draws), 7, None, draws_now=False)
    rounds = 0 if rng.random() < _IN_FREE_ORDER else rng.choice([1, 2, 2])
    bots = rng.choice([None, None, "random"])
    guests = rng.choice([3, 4, 5, 7, 7, 9]) if bots is None else rng.randint(_LEAST_GUESTS, 6)
    closes = not rounds or rng.random() < _CLOSED
    return PlannedEvening(
        EveningPlan("Simulated", rounds, 5, same_draws=same_draws, bots=bots),
        guests,
        rng.uniform(*_CLOSES_AFTER) if closes else None,
        draws_now=rng.random() < 0.5,
    )


@dataclass(eq=False)
class EveningGuest:
    """Somebody at the evening, whose connection may be lost, and whose program may be started again."""

    number: int
    way: Route
    rng: random.Random
    counts: Counter[str]
    evening: Evening | None = None
    person: int | None = None
    faults: int = 0  # of draws
    left_out: list[str] = field(default_factory=list)  # rounds that were drawn without it, wrongly
    drawn: dict[str, str] = field(default_factory=dict)  # how the tiles and laurels lay, by tables
    told: dict[tuple[str, str], float] = field(default_factory=dict)  # when, of tables and their stages
    gave_up: bool = False
    _refused_since: float | None = None  # what it has asked of the evening
    _told: float = 0.0  # when it was told of the evening last
    _asked: float = 0.0  # when it last signed up, or said how it takes part
    _rests_until: float = 0.0
    _late_for: set[str] = field(default_factory=set)  # tables

    @property
    def token(self) -> str:
        return f"{self.number:043d}"

    async def attend(self) -> None:
        """Take part to the end, or until nobody has told of the evening for long."""
        while not self.gave_up and (self.evening is None or not self.evening.over):
            try:
                async with open_connection(
                    self.way.url, timeouts=TIMEOUTS, access=self.way.access
                ) as connection:
                    await self._take_part(connection)
            except (ConnectFailed, RequestRefused):
                now = time.time()
                self._refused_since = now if self._refused_since is None else self._refused_since
                self.gave_up = now > self._refused_since + _GIVES_UP
                await asyncio.sleep(PAUSE)

    async def _take_part(self, connection: Connection) -> None:
        model = connection.model
        while connection.closed is None and (self.evening is None or not self.evening.over):
            if not connection.follows_evening:
                answer = await connection.ask(SignUp(NEW, f"Evening {self.number}", self.token))
                assert self.person in {None, answer.person}
                self.person, self._asked, self._refused_since = answer.person, time.time(), None
            called = [] if self.evening is None else self.evening.tables
            table = next(
                (each for each in called if each.stage != "over" and self.person in each.people), None
            )
            if table is not None and table.table != model.table:
                await self._come_late(table.table)
                if model.table is not None:
                    await connection.ask(Leave(NEW))
                with contextlib.suppress(RequestRefused):  # nobody has come, and it is closed
                    await connection.ask(Resume(NEW, table.table, self.token))
            elif model.view is not None and model.legal is not None:
                await connection.ask(move_message(NEW, at_random(model.view, model.legal, self.rng)))
                self.counts["moves of the evening"] += 1
            update = await next_update(connection, 1.0)
            check = model.draws.check()
            self.faults += check is not None and check.fault is not None
            if model.table is not None and model.view is not None and model.view.laurels:
                self.drawn[model.table] = f"{model.view.tiles} {model.view.laurels}"
            if isinstance(update, Evening):
                self._look_for_own_table(self.evening, update)
                self.evening, self._told = update, time.time()
                for each in update.tables:
                    self.told.setdefault((each.table, each.stage), time.time())
                if self.rng.random() < _PAUSES:
                    self._rests_until = time.time() + self.rng.uniform(0.0, _LONGEST_PAUSE)
                    await self._say_how(connection, "pause")
            evening = self.evening
            if evening is not None and time.time() > self._rests_until and not self._wants_to_play(evening):
                await self._say_how(connection, "play")  # perhaps it came too late for its game

    async def _come_late(self, table: str) -> None:
        """Do nothing for a while before going to a table, now and then."""
        if table not in self._late_for:
            self._late_for.add(table)
            if self.rng.random() < _COMES_LATE:
                self.counts["guests who come late to a table"] += 1
                await asyncio.sleep(self.rng.uniform(0.0, _LATEST))

    async def _say_how(self, connection: Connection, how: TakesPart) -> None:
        await connection.ask(TakePart(NEW, how))
        self._asked = time.time()

    def _look_for_own_table(self, before: Evening | None, now: Evening) -> None:
        """Take note if a round has been drawn without this guest, who was there and free to play."""
        if before is None or not now.rounds or now.round == before.round:
            return
        if self._told < self._asked + _A_WHILE:  # it may have been away in between
            return
        busy = any(self.person in each.people for each in before.tables if each.stage != "over")
        tables = [each for each in now.tables if each.round == now.round and self.person in each.people]
        if self._wants_to_play(now) and not busy and len(tables) != 1:
            self.left_out.append(f"guest {self.number} had {len(tables)} tables in round {now.round}")

    def _wants_to_play(self, evening: Evening) -> bool:
        return all(each.takes_part == "play" for each in evening.people if each.person == self.person)


async def hold_evening(way: Route, seed: int, number: int, outcome: Outcome) -> list[EveningGuest]:
    """Have so many guests play the evening to its end, and return them."""
    guests = [
        EveningGuest(each, way, random.Random(f"evening {seed} {each}"), outcome.counts)
        for each in range(number)
    ]
    try:
        async with asyncio.timeout(_LONGEST), asyncio.TaskGroup() as playing:
            for guest in guests:
                playing.create_task(guest.attend())
    except TimeoutError:
        outcome.verdict.unfinished.append(Finding("the evening does not end"))
    if any(guest.gave_up for guest in guests):
        outcome.verdict.unfinished.append(Finding("nobody tells of the evening any more"))
    return guests


def _each_is_one(entries: Sequence[Entry]) -> bool:
    """Return whether nobody was two people of the evening at once; whoever was forgotten may come again."""
    known: dict[int, str] = {}
    for entry in entries:
        if isinstance(entry, PersonEntered):
            known.pop(entry.person, None)
            if entry.name:
                if entry.token_hash in known.values():
                    return False
                known[entry.person] = entry.token_hash
    return True


def judge_evening(
    planned: PlannedEvening, guests: Sequence[EveningGuest], entries: Sequence[Entry], verdict: Verdict
) -> None:
    """See to it that each person is one, sits at one table of a round, and has one result of each."""
    persons = {(entry.person, entry.token_hash) for entry in entries if isinstance(entry, PersonEntered)}
    drawn = [entry for entry in entries if isinstance(entry, RoundDrawn)]
    results = Counter(entry.code for entry in entries if isinstance(entry, TableResult))
    own = {(guest.person, token_hash(guest.token)) for guest in guests}
    if not own <= persons or not _each_is_one(entries):  # strangers come, too
        text = f"the evening has people {sorted(number for number, _hash in persons)}"
        verdict.different.append(Finding(text))
    if results != Counter(code for each in drawn for code, _people in each.tables):
        verdict.lost.append(Finding(f"the evening has results of {sorted(results)}"))
    for each in drawn:
        if any(set(one) & set(other) for (_, one), (_, other) in combinations(each.tables, 2)):
            verdict.different.append(Finding("somebody was to be at two tables of the evening"))
        if planned.plan.bots is None and any(len(people) < 2 for _code, people in each.tables):
            verdict.different.append(Finding("the evening had a table of one"))
    rounds, closed = planned.plan.rounds, any(isinstance(each, EveningClosed) for each in entries)
    if rounds and (len(drawn) > rounds or not (closed or len(drawn) == rounds)):
        verdict.different.append(Finding(f"the evening had {len(drawn)} rounds"))
    if any(guest.faults for guest in guests):
        verdict.different.append(Finding("the draws of the evening are wrong"))
