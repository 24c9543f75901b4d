"""The journal on disk: one SQLite file for all tables.

Whatever the tables append in one turn of the event loop goes into one commit.
"""

import asyncio
import contextlib
import logging
import math
import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from server.config import Durable
from server.counts import Durations
from server.errors import JournalError, NotStored, TableDamaged
from server.failures import RepeatedFailure
from server.logs import about
from server.storage.archive_index import Archived, ArchivedGame, ArchiveIndex
from server.storage.entries import Entry, Forgotten, LiveEntries
from server.storage.journal import Part
from server.storage.sqlite.checkpoints import Checkpoints, checkpoint
from server.storage.sqlite.commit_list import FILE_NAME as LIST_NAME
from server.storage.sqlite.damage.evidence import content_of
from server.storage.sqlite.damage.repair import make_ready
from server.storage.sqlite.journal_file import FILE_NAME, connected, copied, locked, mark, opened, unusable
from server.storage.sqlite.ledger import Ledger
from server.storage.sqlite.online_backup import OnlineBackup
from server.storage.sqlite.open_files import OpenFiles
from server.storage.sqlite.tables_in_file import archive as archive_table
from server.storage.sqlite.tables_in_file import (
    archive_list,
    archived_table,
    bring_back,
    codes_set_aside,
    in_use,
    record_written,
    records_due,
    remove,
    restore,
    set_aside,
    set_aside_tables,
    shorten,
    table_in_use,
    times_in_use,
)
from server.storage.standing import Changes
from server.storage.stored_tables import ArchivedTable, Stored
from server.storage.uninterrupted import Uninterrupted, completed

_SECONDS_BETWEEN_LOOKS: Final = 1.0  # at the files, while nothing is stored
_SECONDS_BETWEEN_PROBES: Final = 1.0
_SECONDS_TO_PROBE: Final = 5.0  # then a disk that does not answer counts as failing

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Append:
    parts: Sequence[Part]
    stored: Uninterrupted[None]
    ended: Sequence[tuple[str, int]] = ()  # a game whose record is due

    @property
    def entries(self) -> int:
        return sum(len(entries) for _, _, entries in self.parts)

    @property
    def removes(self) -> bool:
        return any(isinstance(entry, Forgotten) for _, _, entries in self.parts for entry in entries)


@dataclass(frozen=True, slots=True)
class _Job:
    """A rare piece of work, done in its own transaction."""

    work: Callable[[], Any]
    done: Uninterrupted[Any]
    begins: Callable[[], None] | None = None  # called on the event loop just before the work


class _NotInPlace(Exception):
    """The files are not those that were opened, so nobody would find in them what is stored."""


@dataclass(slots=True)
class _Batch:
    """The requests of tables since the last commit began."""

    appends: list[_Append] = field(default_factory=list)
    jobs: list[_Job] = field(default_factory=list)


class SqliteJournal:
    """A journal in one SQLite file (WAL) in the folder `data`; forgotten tables leave it.

    `durable` "full" waits with each commit until the disk has it, so that not even a power cut loses a move.
    Nothing is stored while the file is not in its place. The archive keeps `most_archived` games;
    `archive_share` is for `ArchiveIndex`.
    Raises JournalError if the folder or file cannot be used, was written by a newer version, or is in use.
    """

    keeps_games = True
    lapsed = False  # one process alone uses it

    def __init__(
        self,
        data: Path,
        durable: Durable = "normal",
        most_archived: int = 10_000,
        archive_share: int = 100,
    ) -> None:
        self.path = data / FILE_NAME
        self._durable = durable
        self._most_archived = most_archived
        self.commits = Durations()
        self._failures = RepeatedFailure()
        self._last_failed = False
        self._settled_at = -math.inf  # when a commit last succeeded or failed
        self._probe: asyncio.Future[None] | None = None  # under way
        self._probed_at = -math.inf
        self._batch = _Batch()
        self._log_begins = True  # SQLite waits for the disk once when it begins the write-ahead log anew
        self._loop = asyncio.get_running_loop()
        # The database could not be asked while a commit is under way.
        self._archive = ArchiveIndex(archive_share)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._at_work: asyncio.Future[None] | None = None  # while the thread has the database
        with contextlib.ExitStack() as opening:
            opening.enter_context(contextlib.closing(locked(data)))
            make_ready(data)
            self._database = opened(self.path, durable)
            try:
                self._files = OpenFiles(self.path)
                opening.callback(self._files.close)
                opening.callback(self._database.close)
                for table in archive_list(self._database):
                    self._archive.add(table.code, table.game)
                self._set_aside = codes_set_aside(self._database)
                self._ledger = Ledger(self._database, data, self._check_files)
                opening.callback(self._ledger.close)
            except (sqlite3.Error, ValueError) as error:
                self._database.close()
                raise self._damaged(str(error)) from error
            except OSError as error:
                self._database.close()
                raise unusable(self.path, error) from error
            self._checkpoints = Checkpoints(self.path, self._files, self._log_may_begin)
            self._open = opening.pop_all()
        self._watch()

    @property
    def archived(self) -> Collection[str]:
        return self._archive.codes

    @property
    def failing(self) -> bool:
        return self._last_failed or self._files.fault is not None

    @property
    def not_stored(self) -> int:
        return self._failures.count

    async def whereabouts(self, code: str) -> None:  # noqa: ARG002 - as Journal has it
        return None

    async def storing(self) -> bool:
        if not self._files.in_place():
            return False
        if self._loop.time() >= self._settled_at + _SECONDS_BETWEEN_PROBES:
            if self._probe is None:
                self._probe = self._asked(lambda: mark(self._database))
                self._probe.add_done_callback(self._probed)
                self._probed_at = self._loop.time()
            left = self._probed_at + _SECONDS_TO_PROBE - self._loop.time()
            _, waiting = await asyncio.wait((self._probe,), timeout=max(0.0, left))
            if waiting:
                return False
        return not self.failing

    async def tables(self) -> dict[str, list[Entry]]:
        try:
            return {table.code: table.whole_entries for table in in_use(self._database)}
        except (sqlite3.Error, ValueError) as error:
            raise self._damaged(str(error)) from error

    @property
    def codes_set_aside(self) -> Collection[str]:
        return self._set_aside

    async def set_aside(self, code: str, whole: int, reason: str) -> None:
        await self._changed(lambda database: set_aside(database, code, whole, reason))
        self._archive.discard(code)
        self._set_aside.add(code)
        log.warning("a damaged table is set aside", extra=about(table=code, entries=whole, reason=reason))

    def _damaged(self, what: str) -> JournalError:
        return JournalError(
            "the journal {file} is damaged: {reason}. Restore a copy of the file, or choose another --data",
            file=self.path,
            reason=what,
        )

    async def append(self, code: str, first: int, entries: Sequence[Entry]) -> None:
        await self._append(((code, first, entries),))

    async def append_last(self, code: str, first: int, entries: Sequence[Entry], ended: int) -> None:
        await self._append(((code, first, entries),), ((code, ended),))

    async def records_due(self) -> list[tuple[str, int]]:
        due: list[tuple[str, int]] = await self._done(lambda: records_due(self._database))
        return due

    async def record_written(self, code: str) -> None:
        await self._changed(lambda database: record_written(database, code))

    async def entries(self, code: str) -> list[Entry]:
        def work() -> list[Entry]:
            table = table_in_use(self._database, code) or archived_table(self._database, code)
            return [] if table is None or table.damage is not None else table.entries

        entries: list[Entry] = await self._done(work)
        return entries

    async def append_together(self, parts: Sequence[Part]) -> None:
        await self._append(parts)

    async def shorten(self, code: str, live_entries: LiveEntries) -> int:
        changes = await self._changed(lambda database: shorten(database, code, live_entries))
        standing = changes[code]
        return 0 if standing is None else standing.length

    async def archive(self, code: str, game: ArchivedGame) -> None:
        removed: dict[str, Archived] = {}
        before: dict[str, Archived] = {}

        def begins() -> None:
            if (archived := self._archive.discard(code)) is not None:
                before[code] = archived
            removed.update(self._archive.make_room(code, game, self._most_archived))

        def work() -> None:  # in one transaction: with a full disk no game may be missing or in two places
            self._ledger.change(lambda database: archive_table(database, code, game, list(removed)))

        try:
            await self._done(work, begins)
        except BaseException:
            self._archive.discard(code)
            self._archive.put_back(removed | before)
            raise

    async def archived_entries(self, code: str) -> list[Entry]:
        table: Stored | None = await self._done(lambda: archived_table(self._database, code))
        if table is None:
            return []
        if table.damage is not None:
            await self.set_aside(code, len(table.entries), table.damage)
            raise TableDamaged("table {code} is damaged: {reason}", code=code, reason=table.damage)
        return table.entries

    async def bring_back(self, code: str) -> None:
        game = self._archive.discard(code)  # so that it is not removed meanwhile
        try:
            await self._changed(lambda database: bring_back(database, code))
        except BaseException:
            if game is not None:
                self._archive.put_back({code: game})
            raise

    async def remove(self, code: str) -> None:
        await self._changed(lambda database: remove(database, [code]))
        self._archive.discard(code)
        self._set_aside.discard(code)

    async def archived_tables(self, codes: Sequence[str]) -> list[ArchivedTable]:
        found: list[ArchivedTable] = await self._done(lambda: list(archive_list(self._database, codes)))
        return found

    async def tables_set_aside(self, codes: Sequence[str]) -> list[Stored]:
        found: list[Stored] = await self._done(
            lambda: [table.whole_part for table in set_aside_tables(self._database, codes)]
        )
        return found

    async def restore(self, code: str, entries: int) -> None:
        await self._changed(lambda database: restore(database, code, entries))
        self._set_aside.discard(code)

    async def times(self, codes: Sequence[str]) -> dict[str, tuple[int | None, int | None]]:
        found: dict[str, tuple[int | None, int | None]] = await self._done(
            lambda: times_in_use(self._database, codes)
        )
        return found

    async def backup(self, path: Path) -> None:
        copy = OnlineBackup(self._database, path)
        try:
            while await self._done(copy.step):
                pass  # and moves have their turn
        finally:
            await self._done(copy.close)

    async def snapshot(self, path: Path) -> bytes:
        frozen: tuple[sqlite3.Connection, bytes] = await self._done(self._frozen)
        database, listed = frozen
        copy = OnlineBackup(database, path, exact=True)
        try:
            while await asyncio.to_thread(copy.step):
                pass
        except sqlite3.Error as error:
            raise JournalError("the journal could not be used: {reason}", reason=error) from error
        finally:
            await asyncio.to_thread(copy.close)
            database.close()
        return listed

    def _frozen(self) -> tuple[sqlite3.Connection, bytes]:
        """Return a connection that sees the journal as it is now, and the commit list.

        It reads the disk, not what the connection of the commits remembers. Checkpoints leave what it sees
        where it is, so the log grows until it is closed.
        """
        self._check_files()
        database = connected(self.path)
        try:
            database.execute("BEGIN")
            database.execute("SELECT id FROM journal").fetchone()
            return database, content_of(self.path.with_name(LIST_NAME))
        except BaseException:
            database.close()
            raise

    async def close(self) -> None:
        self._next_look.cancel()
        self._settle()
        while self._at_work is not None:
            await asyncio.wait((self._at_work,))
            await asyncio.sleep(0)  # for its callback
        await self._checkpoints.close()
        if self._files.deleted:
            await self._loop.run_in_executor(self._thread, self._write_copy)
        self._thread.shutdown()
        self._open.close()

    def _write_copy(self) -> None:
        """Save what is in the deleted file, under a name beside it."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            copy = copied(self._database, self.path, "rescued")
        except (OSError, sqlite3.Error) as error:
            log.error("the deleted journal is lost", extra=about(path=str(self.path), reason=str(error)))  # noqa: TRY400 - one line says it
        else:
            log.warning("the deleted journal is saved in a copy", extra=about(path=str(copy)))

    def _watch(self) -> None:
        """Look at the files now and then, also while nothing is stored."""
        if not self._files.in_place() and self._files.log_is_gone:
            self._checkpoints.begin()  # so that the main file has everything
        self._next_look = self._loop.call_later(_SECONDS_BETWEEN_LOOKS, self._watch)

    async def _append(self, parts: Sequence[Part], ended: Sequence[tuple[str, int]] = ()) -> None:
        stored = Uninterrupted[None](loop=self._loop)
        self._batch.appends.append(_Append(parts, stored, ended))
        self._settle_soon()
        await completed(stored)

    async def _changed(self, change: Callable[[sqlite3.Connection], Changes]) -> Changes:
        changes: Changes = await self._done(lambda: self._ledger.change(change))
        return changes

    async def _done(self, work: Callable[[], Any], begins: Callable[[], None] | None = None) -> Any:
        return await completed(self._asked(work, begins))

    def _asked(self, work: Callable[[], Any], begins: Callable[[], None] | None = None) -> Uninterrupted[Any]:
        job = _Job(work, Uninterrupted(loop=self._loop), begins)
        self._batch.jobs.append(job)
        self._settle_soon()
        return job.done

    def _probed(self, probe: asyncio.Future[None]) -> None:
        self._probe = None
        self._settled(probe.exception())

    def _settle_soon(self) -> None:
        if self._at_work is None and len(self._batch.appends) + len(self._batch.jobs) == 1:
            self._loop.call_soon(self._settle)

    def _settle(self) -> None:
        """Commit what the tables have appended in this turn of the event loop, all together.

        Not in a thread: a commit writes to memory that the system puts on disk later, which takes some 20
        microseconds a move, and handing the interpreter to a thread and back took five times as long. What
        waits for the disk or may take long, as removing a table does, is done in a thread; what is asked for
        meanwhile comes after it.
        """
        batch = self._batch
        if self._at_work is not None or not (batch.appends or batch.jobs):
            return
        self._batch = _Batch()
        for job in batch.jobs:
            if job.begins is not None:
                job.begins()
        removes = any(append.removes for append in batch.appends)
        if batch.jobs or removes or self._log_begins or self._durable == "full":
            self._work(lambda: self._do_batch(batch), lambda results: self._resolve_batch(batch, results))
        else:
            self._resolve_appends(batch.appends, self._committed(batch.appends))

    def _work(self, work: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """Give the database to the thread for `work`, and handle its result."""

        def ended(at_work: asyncio.Future[Any]) -> None:
            self._at_work = None
            then(at_work.result())
            if self._at_work is None:
                self._settle()

        self._at_work = self._loop.run_in_executor(self._thread, work)
        self._at_work.add_done_callback(ended)

    def _do_batch(self, batch: _Batch) -> tuple[Exception | None, list[Any]]:
        return self._committed(batch.appends), [self._outcome(job) for job in batch.jobs]

    def _resolve_batch(self, batch: _Batch, results: tuple[Exception | None, list[Any]]) -> None:
        error, outcomes = results
        self._resolve_appends(batch.appends, error)
        for job, outcome in zip(batch.jobs, outcomes, strict=True):
            if isinstance(outcome, NotStored):
                self._count_failures(outcome, 1)
            if isinstance(outcome, Exception):
                job.done.set_exception(outcome)
            else:
                job.done.set_result(outcome)
        self._checkpoints.entries_stored(len(batch.jobs))  # which change several pages each, as entries do

    def _resolve_appends(self, appends: list[_Append], error: Exception | None) -> None:
        if not appends:
            return
        self._settled(error)
        if error is None:
            self._checkpoints.entries_stored(sum(append.entries for append in appends))
        else:
            self._count_failures(error, len(appends))
        for append in appends:
            if error is None:
                append.stored.set_result(None)
            else:
                append.stored.set_exception(
                    NotStored("the journal could not be written: {reason}", reason=error)
                )

    def _settled(self, error: BaseException | None) -> None:
        """Take note that a commit has succeeded or failed."""
        self._last_failed = error is not None
        self._settled_at = self._loop.time()
        if error is None:
            self._log_begins = False
            if failures := self._failures.works():
                log.warning("stored again", extra=about(failures=failures))

    def _count_failures(self, error: Exception, number: int) -> None:
        if self._files.fault is not None:
            self._failures.count += number  # the log says already why
        elif (failures := self._failures.failed(number)) > 0:
            log.error("not stored", extra=about(failures=failures, reason=str(error)))

    def _committed(self, appends: list[_Append]) -> Exception | None:
        if not appends:
            return None
        parts = [part for append in appends for part in append.parts]
        ended = [game for append in appends for game in append.ended]
        began = time.perf_counter()
        try:
            self._ledger.append(parts, int(time.time()), ended)
        except (sqlite3.Error, ValueError, _NotInPlace) as error:
            return error
        self.commits.add(time.perf_counter() - began)
        return None

    def _outcome(self, job: _Job) -> Any:
        try:
            return job.work()
        except (sqlite3.Error, _NotInPlace) as error:
            return NotStored("the journal could not be used: {reason}", reason=error)
        except ValueError as error:
            return self._damaged(str(error))
        except Exception as error:  # noqa: BLE001 - whatever fails for one table, the journal goes on
            return error

    def _check_files(self) -> None:
        """Raise _NotInPlace, which undoes the transaction, unless the files are in place.

        What becomes of them after this look might as well become of them after the commit.
        """
        if not self._files.in_place():
            raise _NotInPlace("its file is not in its place")

    def _log_may_begin(self, wait_for_rest: bool) -> None:
        """Begin the log anew if that is possible, in the thread; let commits wait for the rest if need be."""

        def begin() -> None:
            if not self._files.in_place():
                return
            if wait_for_rest:
                checkpoint(self._database, self._files)
            mark(self._database)
            self._ledger.shorten_list()

        def begun(done: asyncio.Future[None]) -> None:
            if (error := done.exception()) is not None:
                log.warning("the journal's log cannot be cleared, and grows", extra=about(reason=str(error)))

        self._log_begins = True
        self._asked(begin).add_done_callback(begun)
