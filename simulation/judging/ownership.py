"""Which node had which table when, as the database saw it, and whether only that one told of it."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple

from protocol.messages import (
    Events,
    Record,
    Reseated,
    Resume,
    Said,
    SaidBefore,
    Seated,
    Snapshot,
    TableState,
    Watch,
    Watching,
)
from server.storage.entries import BotSeated, Entry, Freed, Kept, Played, StoodIn, Taken, TookBack
from simulation.verdict import Finding, Verdict
from simulation.wiretap import Heard, Wiretap

_TOLD: Final = Seated | Watching | TableState | Events | Snapshot | Said | SaidBefore | Reseated | Record

# What a node says when the database, or another node's lease, is gone, and in no other case.
SAID_BY_NODES: Final = re.compile(
    r" INFO |not stored|stored again|the connection to the database is lost|the lease cannot be renewed"
    r"|the lease is lost|a new lease has begun|the lease is left to expire|the other servers"
    r"|the lease ran out while it began|not all tables could be handed over"
    r"|(WARNING|ERROR) [^:]*record"
)
# What the database notes by itself: every change of a table's owner, and which tables were shortened.
NOTES: Final = """
CREATE SCHEMA chaos;
CREATE TABLE chaos.owned (
    serial bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, code text NOT NULL, node text,
    at timestamptz NOT NULL, entries integer NOT NULL
);
CREATE TABLE chaos.shortened (code text PRIMARY KEY);
CREATE FUNCTION chaos.note_owner() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO chaos.owned (code, node, at, entries) SELECT
        NEW.code, (SELECT name FROM palatinus.node WHERE term = NEW.term), clock_timestamp(),
        (SELECT count(*) FROM palatinus.entry WHERE code = NEW.code);
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_new AFTER INSERT ON palatinus.game_table
    FOR EACH ROW EXECUTE FUNCTION chaos.note_owner();
CREATE TRIGGER chaos_moved AFTER UPDATE OF term ON palatinus.game_table
    FOR EACH ROW WHEN (OLD.term IS DISTINCT FROM NEW.term) EXECUTE FUNCTION chaos.note_owner();
CREATE FUNCTION chaos.note_shortened() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO chaos.shortened SELECT DISTINCT code FROM gone ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_shortened AFTER DELETE ON palatinus.entry
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION chaos.note_shortened();
"""


@dataclass(frozen=True, slots=True)
class Period:
    """A time during which a node had a table, by the system's clock, and how many entries there were then."""

    node: str
    since: float
    until: float
    entries: int


class Ownership:
    """The owners of all tables, from rows of `chaos.owned`: code, node, time, and number of entries."""

    def __init__(self, rows: Iterable[tuple[str, str | None, float, int]]) -> None:
        self._periods: defaultdict[str, list[Period]] = defaultdict(list)
        began: dict[str, tuple[str | None, float]] = {}
        for code, node, at, entries in rows:
            self._end(code, began, at, entries)
            began[code] = node, at
        for code in list(began):
            self._end(code, began, math.inf, 0)

    def _end(self, code: str, began: dict[str, tuple[str | None, float]], at: float, entries: int) -> None:
        node, since = began.pop(code, (None, 0.0))
        if node is not None:
            self._periods[code].append(Period(node, since, at, entries))

    def of(self, table: str) -> list[Period]:
        """Return when which node had a table."""
        return self._periods[table]

    @property
    def changes(self) -> int:
        """Return how often a table has gone from one node to another."""
        return sum(map(self.changes_of, self._periods))

    def changes_of(self, table: str) -> int:
        """Return how often this table has gone from one node to another."""
        return sum(one.node != other.node for one, other in pairwise(self._periods.get(table, ())))

    def check(
        self, table: str, entries: Sequence[Entry], taps: Iterable[Wiretap], verdict: Verdict, *, whole: bool
    ) -> list[Wiretap]:
        """Nobody is told of a table by a node that has it not, and a node that wakes tells nothing new.

        Return the taps of those who were told of it in one period, which is their life from now on; `entries`
        are those of the table, all of them if they are `whole`.
        """
        certain = []
        for tap in taps:
            known = entries if whole else None
            visits = [self._find_periods(table, tap, visit, known, verdict) for visit in _visits(table, tap)]
            self._check_woken(table, tap, known, verdict)
            periods = {at for ats in visits for at in ats}
            if len(periods) == 1:
                tap.lives[table] = periods.pop()
                certain.append(tap)
        return certain

    def _find_periods(
        self, table: str, tap: Wiretap, visit: "_Visit", entries: Sequence[Entry] | None, verdict: Verdict
    ) -> list[int]:
        """Return the periods in which somebody may have been given the table."""
        periods = self._periods[table]
        own = [
            at
            for at, period in enumerate(periods)
            if period.node == tap.server and period.since <= visit.answered
        ]
        fitting = [at for at in own if visit.since <= periods[at].until]
        if not fitting and own and visit.seat is not None and visit.asked <= periods[own[-1]].until:
            # A node that has lost the table in its sleep may say that it had stored a seat before.
            stored = entries is None or _has_seat(entries[: periods[own[-1]].entries], visit.seat)
            fitting = own[-1:] if stored else []
        if not fitting:
            text = f"{tap.server} let somebody in when it had not got it: {periods}"
            verdict.leaked.append(Finding(text, table, visit.answered, tap.number, since=visit.since))
        return fitting

    def _check_woken(
        self, table: str, tap: Wiretap, entries: Sequence[Entry] | None, verdict: Verdict
    ) -> None:
        """A node that has lost the table in its sleep tells nothing but what it had stored before."""
        for mark, time in tap.marks:
            before = [heard for heard in tap.heard if heard.begins < mark]
            if not before or before[-1].table != table:
                continue
            had = [p for p in self._periods[table] if p.node == tap.server and p.since <= before[-1].time]
            if not had or had[-1].until > time:
                continue
            stored: float = math.inf
            if entries is not None:
                own = entries[: had[-1].entries]
                moves = (each for each in own if isinstance(each, Played | StoodIn | TookBack))
                stored = sum(len(each.events) for each in moves)
            verdict.leaked += [
                tap.finding(f"{tap.server} woke without it, and told {heard.seat}: {heard.message}", heard)
                for heard in tap.heard[len(before) :]
                if heard.table == table
                and isinstance(heard.message, _TOLD)
                and not _was_stored(heard, stored)
            ]


def _was_stored(heard: Heard, stored: float) -> bool:
    """Return whether somebody was told nothing but the first so many events of a game."""
    message = heard.message
    return isinstance(message, Events) and message.seq + len(message.events) - 1 <= stored


def _has_seat(entries: Iterable[Entry], seat: int) -> bool:
    """Return whether the seat is that of a person after these entries."""
    held = False
    for entry in entries:
        if isinstance(entry, Taken | Kept | BotSeated | Freed) and entry.seat == seat:
            held = isinstance(entry, Taken)
    return held


class _Visit(NamedTuple):
    """Somebody is let in; `since` is later than the request if the node slept in between."""

    asked: float
    since: float
    answered: float
    seat: int | None  # if it was new


def _visits(table: str, tap: Wiretap) -> Iterable[_Visit]:
    requests = {getattr(each.message, "id", None): each for each in tap.asked}
    for heard in tap.heard:
        if isinstance(heard.message, Seated | Watching) and heard.table == table:
            woken = [time for mark, time in tap.marks if mark <= heard.begins]
            request = requests.get(heard.message.id)
            asked = heard.time if request is None else request.time
            is_new = request is not None and not isinstance(request.message, Resume | Watch)
            seat = heard.message.seat if is_new and isinstance(heard.message, Seated) else None
            yield _Visit(asked, max([asked, *woken]), heard.time, seat)


async def read_notes(connection: Any) -> tuple[Ownership, set[str]]:
    """Return whose the tables were, and which of them were shortened, as the database has noted."""
    rows = await connection.fetch(
        "SELECT code, node, extract(epoch FROM at)::float8, entries FROM chaos.owned ORDER BY serial"
    )
    shortened = await connection.fetch("SELECT code FROM chaos.shortened")
    return Ownership(tuple(row) for row in rows), {code for (code,) in shortened}
