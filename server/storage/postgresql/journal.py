"""The journal in PostgreSQL: the tables of this server, which it owns by a lease, and the archive of all.

Moves have a connection of their own, and so has the lease, so that neither waits for rarer work.
"""

import asyncio
import contextlib
import logging
import math
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import asyncpg

from server.counts import Durations
from server.errors import JournalError, NotStored, TableDamaged, TableLost
from server.failures import RepeatedFailure
from server.logs import about
from server.storage.archive_index import Archived, ArchivedGame, ArchiveIndex
from server.storage.entries import Entry, LiveEntries
from server.storage.journal import Part, TableHolder
from server.storage.postgresql import lease
from server.storage.postgresql import tables_in_database as stored
from server.storage.postgresql.database import FAILED, Connection, Database, reason_of
from server.storage.postgresql.group_commits import GroupCommits
from server.storage.postgresql.lease import LINES
from server.storage.postgresql.line import Fenced, Line
from server.storage.postgresql.schema import prepare
from server.storage.standing import Place, Standing
from server.storage.stored_tables import ArchivedTable, Row, Stored
from server.storage.uninterrupted import Uninterrupted, completed

T = TypeVar("T")

_SECONDS_BETWEEN_PROBES: Final = 1.0
_SECONDS_TO_PROBE: Final = 5.0  # then a database that does not answer counts as failing
_RENEWALS: Final = 3  # within the time of a lease
_SECONDS_TO_TAKE_UP: Final = 60.0
_SECONDS_BETWEEN_TRIALS: Final = 0.25
_TAKEN_AT_ONCE: Final = 50  # tables of a server that is gone; others take the next ones

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Job:
    """A rarer piece of work; `begins` is called on the event loop just before it."""

    work: Callable[[], Awaitable[Any]]
    done: Uninterrupted[Any]
    begins: Callable[[], None] | None


class PostgresJournal:
    """A journal in a database that several servers share; `name` is this server's, `address` where it is.

    The archive keeps `most_archived` games; `archive_share` is for `ArchiveIndex`.
    """

    keeps_games = True

    def __init__(
        self,
        database: Database,
        name: str,
        address: str,
        *,
        lease_seconds: float,
        most_archived: int,
        archive_share: int,
    ) -> None:
        self._database = database
        self._name = name
        self._address = address
        self._lease_seconds = lease_seconds
        self._most_archived = most_archived
        self._archive_share = archive_share
        self._archive = ArchiveIndex(archive_share)
        self._archive_state: tuple[int, ...] = ()  # its size and its last rank, when it was last looked at
        self._set_aside: set[str] = set()
        self._term = 0
        self._has_lease = False
        self._valid_until = -math.inf  # by this server's clock, counted from before the database's
        self._others_have_time_until = -math.inf  # to renew their leases, after the database was gone
        self._lease_failures = RepeatedFailure()
        self._holder: TableHolder | None = None
        self._wake = asyncio.Event()
        moves, rest = (Line(database, line, self._fenced) for line in LINES)
        self._moves, self._rest = moves, rest
        self._appended = GroupCommits(moves)
        self._jobs: list[_Job] = []
        self._jobs_begun = 0
        self._at_work: asyncio.Task[None] | None = None
        self._probe: asyncio.Task[None] | None = None
        self._probed_at = -math.inf
        self._loop = asyncio.get_running_loop()

    @classmethod
    async def opened(
        cls,
        database: Database,
        name: str,
        address: str = "",
        *,
        lease_seconds: float = 6.0,
        most_archived: int = 10_000,
        archive_share: int = 100,
    ) -> Self:
        """Open the journal, and take up all tables that are nobody's; raises JournalError."""
        journal = cls(
            database,
            name,
            address,
            lease_seconds=lease_seconds,
            most_archived=most_archived,
            archive_share=archive_share,
        )
        try:
            await journal._begin()
        except (*FAILED, ValueError, Fenced) as error:
            raise database.unusable(error) from error
        return journal

    async def _begin(self) -> None:
        connection = await self._database.connect()
        try:
            async with asyncio.timeout(_SECONDS_TO_TAKE_UP):
                await prepare(connection, self._database)
                await self._begin_lease(connection)
        finally:
            connection.terminate()

    async def _begin_lease(self, connection: Connection) -> dict[str, list[Entry]]:
        """Begin a new lease, and take up all tables that are nobody's."""
        sent = self._loop.time()
        self._term = await lease.begin(connection, self._name, self._address, self._lease_seconds)
        self._valid_until = sent + self._lease_seconds
        await lease.end_expired(connection, self._lease_seconds)
        self._archive = ArchiveIndex(self._archive_share)
        for code, game in await stored.archive_index(connection):
            self._archive.add(code, game)
        self._set_aside = await stored.codes_set_aside(connection)
        self._appended.in_use.clear()
        for line in (self._moves, self._rest):
            await line.begin(self._term)
        self._has_lease = True
        return await self._take_up(connection, None)

    async def _take_up(self, connection: Connection, most: int | None) -> dict[str, list[Entry]]:
        """Take up tables that are nobody's, and return their entries; a damaged one is set aside."""
        if not (codes := await lease.take_up(connection, self._term, most)):
            return {}
        found = await stored.in_use(connection, codes)
        for table in found:
            if table.damage is None:
                self._take_note(table.code, table.rows)
            else:
                await self.set_aside(table.code, len(table.entries), table.damage)
        return {table.code: table.entries for table in found if table.damage is None}

    @property
    def lapsed(self) -> bool:
        return not self._has_lease or self._loop.time() > self._valid_until

    async def keep(self, holder: TableHolder) -> None:
        """Renew the lease, and take up tables that are nobody's, as long as the server runs."""
        self._holder = holder
        connection: Connection = None
        try:
            while True:
                self._wake.clear()
                pause = self._lease_seconds / _RENEWALS
                try:
                    if connection is None:
                        connection = await self._database.connect()
                    if not await self._kept(connection, holder):
                        return
                except (*FAILED, JournalError, Fenced) as error:
                    self._lease_failed(error)
                    pause = _SECONDS_BETWEEN_TRIALS
                    if connection is not None:
                        connection.terminate()
                        connection = None
                else:
                    self._lease_failures.works()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._wake.wait()
        finally:
            if connection is not None:
                connection.terminate()

    async def _kept(self, connection: Connection, holder: TableHolder) -> bool:
        """Renew the lease, or begin another if it is lost; return False if another server has the name."""
        if await self._renewed(connection, holder):
            async with asyncio.timeout(self._lease_seconds):
                if self._loop.time() > self._others_have_time_until:
                    await lease.end_expired(connection, self._lease_seconds)
                await self._look_at_others(connection)
            await self._taken_up(self._take_up(connection, _TAKEN_AT_ONCE), holder)
            return True
        self._fenced()
        async with asyncio.timeout(self._lease_seconds):
            if await lease.replaced(connection, self._name, self._term):
                log.error("another server has this one's name", extra=about(node=self._name))
                holder.stop()
                return False
        await self._taken_up(self._begin_lease(connection), holder)
        log.warning("a new lease has begun", extra=about(term=self._term))
        return True

    async def _look_at_others(self, connection: Connection) -> None:
        """Learn which tables other servers have archived, brought back or set aside."""
        began = self._jobs_begun
        aside = await stored.codes_set_aside(connection)
        state = await stored.archive_state(connection)
        archived = None if state == self._archive_state else dict(await stored.archive_index(connection))
        if self._at_work is not None or began != self._jobs_begun:  # the next look will do
            return
        self._set_aside = aside
        self._archive_state = state
        if archived is not None:
            for code in self._archive.codes - archived.keys():
                self._archive.discard(code)
            for code in archived.keys() - self._archive.codes:
                self._archive.add(code, archived[code])

    async def _renewed(self, connection: Connection, holder: TableHolder) -> bool:
        """Renew the lease; return False if it is lost."""
        sent, lapsed = self._loop.time(), self.lapsed
        async with asyncio.timeout(self._lease_seconds):
            if not self._has_lease or not await lease.renew(connection, self._term, self._lease_seconds):
                return False
        self._valid_until = sent + self._lease_seconds
        if lapsed:
            self._others_have_time_until = sent + self._lease_seconds
            holder.speak_again()
        return True

    async def _taken_up(self, taking: Awaitable[dict[str, list[Entry]]], holder: TableHolder) -> None:
        """Take up tables, all or none: what is only half taken up begins anew with another lease."""
        try:
            async with asyncio.timeout(_SECONDS_TO_TAKE_UP):
                if tables := await taking:
                    await holder.take_up(tables)
        except (*FAILED, JournalError, Fenced):
            self._fenced()
            raise

    def _lease_failed(self, error: Exception) -> None:
        if (failures := self._lease_failures.failed()) > 0:
            reason = reason_of(error)
            log.warning("the lease cannot be renewed", extra=about(failures=failures, reason=reason))

    def _fenced(self) -> None:
        """Give up all tables at once: another server may have them."""
        if not self._has_lease:
            return
        self._has_lease = False
        log.error("the lease is lost", extra=about(term=self._term))
        for line in (self._moves, self._rest):
            line.end_term()
        if self._holder is not None:
            self._holder.give_up()
        self._wake.set()

    @property
    def archived(self) -> Collection[str]:
        return self._archive.codes

    @property
    def codes_set_aside(self) -> Collection[str]:
        return self._set_aside

    @property
    def commits(self) -> Durations:
        return self._appended.durations

    @property
    def failing(self) -> bool:
        return self._appended.last_failed or not self._has_lease

    @property
    def not_stored(self) -> int:
        return self._appended.failures.count

    async def whereabouts(self, code: str) -> str | None:
        found = await self._read(lambda connection: lease.owner(connection, code))
        if found is None:
            return None
        term, address, runs = found
        if not runs or term == self._term:  # which takes it up just now
            self._wake.set()
            raise NotStored("the table is being taken up")
        return address or None

    async def storing(self) -> bool:
        if self._loop.time() >= self._appended.settled_at + _SECONDS_BETWEEN_PROBES:
            if self._probe is None:
                self._probe = self._loop.create_task(self._probed())
                self._probed_at = self._loop.time()
            left = self._probed_at + _SECONDS_TO_PROBE - self._loop.time()
            _, waiting = await asyncio.wait((self._probe,), timeout=max(0.0, left))
            if waiting:
                return False
        return not self.failing

    async def _probed(self) -> None:
        try:
            with contextlib.suppress(JournalError):  # it is counted
                await self._appended.probe()
        finally:
            self._probe = None

    async def tables(self) -> dict[str, list[Entry]]:
        codes = list(self._appended.in_use)
        found = await self._read(lambda connection: stored.in_use(connection, codes))
        return {table.code: table.whole_entries for table in found}

    async def append(self, code: str, first: int, entries: Sequence[Entry]) -> None:
        await self._appended.append(((code, first, entries),))

    async def append_last(self, code: str, first: int, entries: Sequence[Entry], ended: int) -> None:
        await self._appended.append(((code, first, entries),), ((code, ended),))

    async def append_together(self, parts: Sequence[Part]) -> None:
        await self._appended.append(parts)

    async def records_due(self) -> list[tuple[str, int]]:
        return await self._read(lambda connection: stored.records_due(connection, self._term))

    async def record_written(self, code: str) -> None:
        await self._changed(lambda connection: stored.record_written(connection, code))

    async def entries(self, code: str) -> list[Entry]:
        async def found(connection: Connection) -> Stored | None:
            return await stored.table_in_use(connection, code) or await stored.archived_table(
                connection, code
            )

        table = await self._read(found)
        return [] if table is None or table.damage is not None else table.entries

    async def shorten(self, code: str, live_entries: LiveEntries) -> int:
        kept = await self._changed(
            lambda connection: stored.shorten(connection, self._term, code, live_entries)
        )
        self._take_note(code, kept)
        return len(kept)

    async def set_aside(self, code: str, whole: int, reason: str) -> None:
        await self._changed(lambda connection: stored.set_aside(connection, self._term, code, whole, reason))
        self._appended.in_use.pop(code, None)
        self._archive.discard(code)
        self._set_aside.add(code)
        log.warning("a damaged table is set aside", extra=about(table=code, entries=whole, reason=reason))

    async def archive(self, code: str, game: ArchivedGame) -> None:
        removed: dict[str, Archived] = {}
        before: dict[str, Archived] = {}

        def begins() -> None:
            if (archived := self._archive.discard(code)) is not None:
                before[code] = archived
            removed.update(self._archive.make_room(code, game, self._most_archived))

        try:
            await self._changed(
                lambda connection: stored.archive(connection, self._term, code, game, list(removed)), begins
            )
        except BaseException:
            self._archive.discard(code)
            self._archive.put_back(removed | before)
            raise
        self._appended.in_use.pop(code, None)

    async def archived_entries(self, code: str) -> list[Entry]:
        table = await self._read(lambda connection: stored.archived_table(connection, code))
        if table is None:
            return []
        if table.damage is not None:
            await self.set_aside(code, len(table.entries), table.damage)
            raise TableDamaged("table {code} is damaged: {reason}", code=code, reason=table.damage)
        return table.entries

    async def bring_back(self, code: str) -> None:
        game = self._archive.discard(code)  # so that it is not removed meanwhile
        try:
            table = await self._changed(lambda connection: stored.bring_back(connection, self._term, code))
        except BaseException:
            if game is not None:
                self._archive.put_back({code: game})
            raise
        self._take_note(code, table.rows)

    async def remove(self, code: str) -> None:
        await self._changed(lambda connection: stored.remove(connection, [code]))
        self._archive.discard(code)
        self._set_aside.discard(code)

    async def archived_tables(self, codes: Sequence[str]) -> list[ArchivedTable]:
        return await self._read(lambda connection: stored.archive_list(connection, codes))

    async def times(self, codes: Sequence[str]) -> dict[str, tuple[int | None, int | None]]:
        return await self._read(lambda connection: stored.times_in_use(connection, codes))

    async def tables_set_aside(self, codes: Sequence[str]) -> list[Stored]:
        found = await self._read(lambda connection: stored.set_aside_tables(connection, codes))
        return [table.whole_part for table in found]

    async def restore(self, code: str, entries: int) -> None:
        rows = await self._changed(lambda connection: stored.restore(connection, self._term, code, entries))
        self._set_aside.discard(code)
        self._take_note(code, rows)

    async def snapshot(self, path: Path) -> bytes:  # noqa: ARG002 - as Journal has it
        raise JournalError("a journal in a database has no file: back up the database itself")

    async def backup(self, path: Path) -> None:  # noqa: ARG002 - as Journal has it
        raise JournalError("a journal in a database has no file: back up the database itself")

    async def close(self) -> None:
        await self._appended.close()
        while self._at_work is not None:
            await asyncio.wait((self._at_work,))
            await asyncio.sleep(0)
        if self._probe is not None:
            await asyncio.wait((self._probe,))
        for line in (self._moves, self._rest):
            await line.close()
        await self._give_up()

    async def _give_up(self) -> None:
        """Let others take up the tables at once."""
        if not self._has_lease:
            return
        try:
            connection = await self._database.connect()
            try:
                await lease.give_up(connection, self._term)
            finally:
                connection.terminate()
        except FAILED as error:
            log.warning("the lease ends by itself", extra=about(reason=reason_of(error)))

    def _take_note(self, code: str, rows: Sequence[Row]) -> None:
        self._appended.in_use[code] = Standing(Place.IN_USE, len(rows), rows[-1].link)

    async def _read(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        found: T = await self._done(lambda: self._rest.read(work))
        return found

    async def _changed(
        self, work: Callable[[Connection], Awaitable[T]], begins: Callable[[], None] | None = None
    ) -> T:
        result: T = await self._done(lambda: self._rest.change(work), begins)
        return result

    async def _done(
        self, work: Callable[[], Awaitable[Any]], begins: Callable[[], None] | None = None
    ) -> Any:
        """Do a rarer piece of work after those asked for before."""
        self._jobs_begun += 1
        job = _Job(work, Uninterrupted(loop=self._loop), begins)
        self._jobs.append(job)
        if self._at_work is None and len(self._jobs) == 1:
            self._at_work = self._loop.create_task(self._do_all())
        return await completed(job.done)

    async def _do_all(self) -> None:
        try:
            while self._jobs:
                await self._do(self._jobs.pop(0))
        finally:
            self._at_work = None

    async def _do(self, job: _Job) -> None:
        try:
            if job.begins is not None:
                job.begins()
            job.done.set_result(await job.work())
        except stored.NotOwned as error:
            job.done.set_exception(TableLost("{reason}", reason=error))
        except Fenced:
            job.done.set_exception(TableLost("the lease is lost"))
        except asyncpg.PostgresError as error:
            refused = NotStored("the journal could not be used: {reason}", reason=reason_of(error))
            self._appended.count_failures(refused, 1)
            job.done.set_exception(refused)
        except NotStored as error:
            self._appended.count_failures(error, 1)
            job.done.set_exception(error)
        except ValueError as error:
            job.done.set_exception(self._damaged(error))
        except Exception as error:  # noqa: BLE001 - whatever fails for one table, the journal goes on
            job.done.set_exception(error)

    def _damaged(self, what: object) -> JournalError:
        return JournalError(
            "the journal in {database} is damaged: {reason}. See the log, and restore a copy if need be",
            database=self._database,
            reason=what,
        )
