"""The journal on disk: one SQLite file for all tables.

Whatever the tables append in one turn of the event loop goes into one commit.
"""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from server.config import Durable
from server.counts import Durations
from server.errors import JournalError
from server.logs import about
from server.storage.archive_index import Archived, ArchivedGame, ArchiveIndex
from server.storage.entries import Entry, Forgotten, LiveEntries
from server.storage.journal import Part
from server.storage.journal_file import FILE_NAME, opened
from server.storage.ledger import Ledger
from server.storage.standing import Changes
from server.storage.stored_tables import archive as archive_table
from server.storage.stored_tables import archive_list, archived_table, bring_back, in_use, remove, shorten

_ENTRIES_BETWEEN_CHECKPOINTS: Final = 1000  # each leaves a few pages, of 4 KiB, in the write-ahead log

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Append:
    parts: Sequence[Part]
    stored: asyncio.Future[None]

    @property
    def removes(self) -> bool:
        return any(isinstance(entry, Forgotten) for _, _, entries in self.parts for entry in entries)


@dataclass(frozen=True, slots=True)
class _Job:
    """A rare piece of work, done in its own transaction."""

    work: Callable[[], Any]
    done: asyncio.Future[Any]
    begins: Callable[[], None] | None = None  # called on the event loop just before the work


@dataclass(slots=True)
class _Batch:
    """The requests of tables since the last commit began."""

    appends: list[_Append] = field(default_factory=list)
    jobs: list[_Job] = field(default_factory=list)


class SqliteJournal:
    """A journal in one SQLite file (WAL) in the folder `data`; forgotten tables leave it.

    `durable` "full" waits with each commit until the disk has it, so that not even a power cut loses a move.
    The archive keeps `most_archived` games; `archive_share` is for `ArchiveIndex`.
    Raises JournalError if the folder or file cannot be used, was written by a newer version, or is in use.
    """

    keeps_games = True

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
        self.failing = False
        self._batch = _Batch()
        self._entries_since_checkpoint = 0
        self._log_begins = True  # SQLite waits for the disk once when it begins the write-ahead log anew
        self._loop = asyncio.get_running_loop()
        self._database = opened(self.path, durable)
        # The database could not be asked while a commit is under way.
        self._archive = ArchiveIndex(archive_share)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._at_work: asyncio.Future[None] | None = None  # while the thread has the database
        try:
            for table in archive_list(self._database):
                self._archive.add(table.code, table.game)
            self._ledger = Ledger(self._database, data)
        except (sqlite3.Error, ValueError) as error:
            self._database.close()
            raise self.damaged(str(error)) from error
        except OSError as error:
            self._database.close()
            raise JournalError(
                "cannot use the journal {file}: {reason}. Choose another --data",
                file=self.path,
                reason=error.strerror,
            ) from error

    @property
    def archived(self) -> Collection[str]:
        return self._archive.codes

    def tables(self) -> dict[str, list[Entry]]:
        try:
            return {table.code: table.whole_entries for table in in_use(self._database)}
        except (sqlite3.Error, ValueError) as error:
            raise self.damaged(str(error)) from error

    def damaged(self, what: str) -> JournalError:
        return JournalError(
            "the journal {file} is damaged: {reason}. Restore a copy of the file, or choose another --data",
            file=self.path,
            reason=what,
        )

    async def append(self, code: str, first: int, entries: Sequence[Entry]) -> None:
        await self._appended(((code, first, entries),))

    async def append_together(self, parts: Sequence[Part]) -> None:
        await self._appended(parts)

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
        def work() -> list[Entry]:
            table = archived_table(self._database, code)
            return [] if table is None else table.whole_entries

        entries: list[Entry] = await self._done(work)
        return entries

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

    async def close(self) -> None:
        self._settle()
        while self._at_work is not None:
            await asyncio.wait((self._at_work,))
            await asyncio.sleep(0)  # for its callback
        self._thread.shutdown()
        self._ledger.close()

    def _appended(self, parts: Sequence[Part]) -> asyncio.Future[None]:
        stored: asyncio.Future[None] = self._loop.create_future()
        self._batch.appends.append(_Append(parts, stored))
        self._settle_soon()
        return stored

    async def _changed(self, change: Callable[[sqlite3.Connection], Changes]) -> Changes:
        changes: Changes = await self._done(lambda: self._ledger.change(change))
        return changes

    async def _done(self, work: Callable[[], Any], begins: Callable[[], None] | None = None) -> Any:
        job = _Job(work, self._loop.create_future(), begins)
        self._batch.jobs.append(job)
        self._settle_soon()
        return await job.done

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
            self._log_begins = False
            self._work(lambda: self._do_batch(batch), lambda results: self._resolve_batch(batch, results))
        else:
            self._resolve_appends(batch.appends, self._committed(batch.appends))
            self._checkpoint_if_due()

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
            if job.done.done():  # its request was cancelled meanwhile
                continue
            if isinstance(outcome, Exception):
                job.done.set_exception(outcome)
            else:
                job.done.set_result(outcome)
        self._checkpoint_if_due()

    def _resolve_appends(self, appends: list[_Append], error: Exception | None) -> None:
        for append in appends:
            if append.stored.done():  # its table was cancelled meanwhile
                continue
            if error is None:
                append.stored.set_result(None)
            else:
                append.stored.set_exception(
                    JournalError("the journal could not be written: {reason}", reason=error)
                )

    def _committed(self, appends: list[_Append]) -> Exception | None:
        if not appends:
            return None
        parts = [part for append in appends for part in append.parts]
        self._entries_since_checkpoint += sum(len(entries) for _, _, entries in parts)
        began = time.perf_counter()
        try:
            self._ledger.append(parts, int(time.time()))
        except (sqlite3.Error, ValueError) as error:
            self.failing = True
            return error
        self.failing = False
        self.commits.add(time.perf_counter() - began)
        return None

    def _outcome(self, job: _Job) -> Any:
        try:
            return job.work()
        except sqlite3.Error as error:
            return JournalError("the journal could not be used: {reason}", reason=error)
        except ValueError as error:
            return self.damaged(str(error))
        except Exception as error:  # noqa: BLE001 - whatever fails for one table, the journal goes on
            return error

    def _checkpoint_if_due(self) -> None:
        """Make a checkpoint now and then, in the thread, since it waits for the disk."""
        if self._entries_since_checkpoint >= _ENTRIES_BETWEEN_CHECKPOINTS:
            self._entries_since_checkpoint = 0
            self._work(self._checkpoint, self._after_checkpoint)

    def _checkpoint(self) -> Exception | None:
        try:
            self._database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            self._ledger.shorten_list()
        except (sqlite3.Error, OSError) as error:
            return error
        return None

    def _after_checkpoint(self, error: Exception | None) -> None:
        if error is None:
            self._log_begins = True
        else:
            log.warning("the journal's log cannot be cleared, and grows", extra=about(reason=str(error)))
