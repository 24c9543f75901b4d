"""Commits of several tables' entries together: what is appended while one is under way makes the next one.

The event loop never waits for the network, and a table waits for two round trips at most.
"""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import asyncpg

from server.counts import Durations
from server.errors import CodeTaken, JournalError, NotStored, TableLost
from server.failures import start_task
from server.storage.appends import Append
from server.storage.entries import Forgotten
from server.storage.health import Health
from server.storage.journal import Part
from server.storage.postgresql.database import Connection, not_stored, reason_of
from server.storage.postgresql.line import Claim, Fenced, Line
from server.storage.postgresql.schema import NOT_OWNED
from server.storage.reasons import Misfit
from server.storage.standing import Place, Standing
from server.storage.stored_tables import Row, linked
from server.storage.uninterrupted import Uninterrupted, completed

_APPEND: Final = "SELECT append_entries($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
_NOT_WRITTEN: Final = "the journal could not be written: {reason}"
_UNIQUE: Final = "23505"  # the code of one of several tables is taken


@dataclass(slots=True)
class _Group:
    """What one commit stores, in the columns that the database takes."""

    now: int
    appends: list[Append] = field(default_factory=list)
    changes: dict[str, Standing | None] = field(default_factory=dict)
    new: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)
    links: list[bytes] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)

    def add(self, append: Append, in_use: dict[str, Standing]) -> None:
        """Add what a table appends; raises Misfit, and adds nothing, if its numbers do not fit."""
        for code, first, _ in append.parts:
            known = self.changes[code] if code in self.changes else in_use.get(code)
            if first != (known.length if known is not None else 0):
                raise Misfit(f"entry {first} is not the next one of table {code}")
        for code, first, entries in append.parts:
            known = self.changes[code] if code in self.changes else in_use.get(code)
            if any(type(entry) is Forgotten for entry in entries):
                if known is not None:
                    self.forgotten.append(code)
                self.changes[code] = None
            elif rows := linked(code, known, self.now, entries):
                if known is None:
                    self.new.append(code)
                self.changes[code] = Standing(Place.IN_USE, first + len(rows), rows[-1].link)
                for number, row in enumerate(rows, first):
                    self._add_entry(code, number, row)
        for code, ended in append.ended:
            self.finished.append(code)
            self.ended.append(ended)
        self.appends.append(append)

    def _add_entry(self, code: str, number: int, row: Row) -> None:
        self.codes.append(code)
        self.numbers.append(number)
        self.bodies.append(row.body)
        self.links.append(row.link)

    async def send(self, connection: Connection, claim: Claim) -> None:
        await connection.execute(
            _APPEND,
            claim.term,
            claim.name,
            claim.made,
            claim.change,
            self.new,
            list(self.changes),
            self.codes,
            self.numbers,
            self.bodies,
            self.links,
            self.now,
            self.forgotten,
            self.finished,
            self.ended,
        )


class GroupCommits:
    """What the tables in use append, sent over `line`; `in_use` says how far they have come."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._waiting: list[Append] = []
        self._at_work: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self.in_use: dict[str, Standing] = {}
        self.durations = Durations()
        self.health = Health(self._probe)

    async def append(self, parts: Sequence[Part], ended: Sequence[tuple[str, int]] = ()) -> None:
        """Store entries of tables; raises JournalError and changes nothing, or TableLost."""
        stored = Uninterrupted[None](loop=self._loop)
        self._waiting.append(Append(parts, stored, ended))
        if self._at_work is None and len(self._waiting) == 1:
            self._loop.call_soon(self._begin)
        await completed(stored)

    async def _probe(self) -> None:
        with contextlib.suppress(JournalError):  # it is counted
            await self.append(())  # stores that nothing has changed

    async def close(self) -> None:
        """Wait for what is under way."""
        self._begin()
        while self._at_work is not None:
            await asyncio.wait((self._at_work,))
            await asyncio.sleep(0)
        await self.health.close()

    def _begin(self) -> None:
        if self._at_work is None and self._waiting:
            self._at_work = start_task(self._commit_all(), "committing")

    async def _commit_all(self) -> None:
        try:
            while self._waiting:
                appends, self._waiting = self._waiting, []
                try:
                    await self._commit(appends)
                except Exception as error:  # noqa: BLE001 - whatever it is, tables wait for an answer
                    waiting = [append for append in appends if not append.stored.done()]
                    self._fail(waiting, NotStored(_NOT_WRITTEN, reason=reason_of(error)))
        finally:
            self._at_work = None

    async def _commit(self, appends: Sequence[Append]) -> None:
        group = _Group(int(time.time()))
        for append in appends:
            try:
                group.add(append, self.in_use)
            except Misfit as error:
                self._fail([append], NotStored(_NOT_WRITTEN, reason=error))
        if not group.appends:
            return
        began = time.perf_counter()
        try:
            await self._line.append(group.send)
        except Fenced:
            self._fail(group.appends, TableLost("the lease is lost"))
        except JournalError as error:
            self._fail(group.appends, error)
        except asyncpg.PostgresError as error:
            if error.sqlstate == NOT_OWNED:  # which nobody but this server gives away
                self._line.end_term()
                self._fail(group.appends, TableLost("another server has taken it up"))
            elif error.sqlstate == _UNIQUE and len(group.appends) > 1:
                for append in group.appends:
                    await self._commit([append])
            else:
                self._fail(group.appends, _refusal(error))
        else:
            self.durations.add(time.perf_counter() - began)
            self._succeed(group)

    def _succeed(self, group: _Group) -> None:
        for code, standing in group.changes.items():
            if standing is None:
                self.in_use.pop(code, None)
            else:
                self.in_use[code] = standing
        for append in group.appends:
            append.stored.set_result(None)
        self.health.settled(failed=False)

    def _fail(self, appends: Sequence[Append], error: JournalError) -> None:
        for append in appends:
            append.stored.set_exception(error)
        if isinstance(error, CodeTaken | TableLost):
            self.health.refused()
        else:
            self.health.settled(failed=True)
            self.health.count_failures(error.reason, len(appends))


def _refusal(error: asyncpg.PostgresError) -> JournalError:
    """Return the error for a commit that the database has refused and undone."""
    if error.sqlstate == _UNIQUE and error.table_name == "game_table":
        return CodeTaken("the code is taken")
    return not_stored(_NOT_WRITTEN, error)
