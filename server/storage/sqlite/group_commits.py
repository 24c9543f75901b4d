"""Group commits: whatever the tables append in one turn of the event loop goes into one commit."""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from server.config import Durable
from server.counts import Durations
from server.errors import NotStored, TableLost
from server.storage.appends import Append
from server.storage.entries import Entry, Forgotten
from server.storage.health import Health
from server.storage.journal import Part
from server.storage.operations import NotOwned
from server.storage.reasons import reason_of
from server.storage.sqlite.journal_file import damaged
from server.storage.sqlite.ledger import Ledger
from server.storage.sqlite.open_files import NotInPlace, OpenFiles
from server.storage.uninterrupted import Uninterrupted, completed


@dataclass(frozen=True, slots=True)
class _Job:
    """A rare piece of work, done in its own transaction."""

    work: Callable[[], Any]
    done: Uninterrupted[Any]
    begins: Callable[[], None] | None = None  # called on the event loop just before the work


@dataclass(slots=True)
class _Batch:
    """The requests of tables since the last commit began."""

    appends: list[Append] = field(default_factory=list)
    jobs: list[_Job] = field(default_factory=list)


def _entries(appends: list[Append]) -> list[Entry]:
    return [entry for append in appends for _, _, entries in append.parts for entry in entries]


_Results: TypeAlias = tuple[Exception | None, list[Any]]  # what failed, if so, and what the jobs return


class GroupCommits:
    """Does with the database of the journal at `path` what is asked for, one batch after the other.

    With each batch `stored` is called with how many entries it has added to the log.
    """

    def __init__(
        self,
        path: Path,
        ledger: Ledger,
        files: OpenFiles,
        *,
        durable: Durable,
        health: Health,
        stored: Callable[[int], None],
    ) -> None:
        self._path = path
        self._ledger = ledger
        self._files = files
        self._durable = durable
        self._health = health
        self._stored = stored
        self.durations = Durations()
        self._batch = _Batch()
        self._log_begins = True  # SQLite waits for the disk once when it begins the write-ahead log anew
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._at_work: asyncio.Future[_Results] | None = None  # while the thread has the database

    async def append(self, parts: Sequence[Part], ended: Sequence[tuple[str, int]]) -> None:
        """Store entries, all or none; raises NotStored."""
        stored = Uninterrupted[None](loop=self._loop)
        self._batch.appends.append(Append(parts, stored, ended))
        self._settle_soon()
        await completed(stored)

    async def done(self, work: Callable[[], Any], begins: Callable[[], None] | None = None) -> Any:
        """Run `work` in the thread, and return its result; raises JournalError, and what it raises."""
        return await completed(self.asked(work, begins))

    def asked(self, work: Callable[[], Any], begins: Callable[[], None] | None = None) -> Uninterrupted[Any]:
        """Run `work` in the thread, after calling `begins` on the event loop."""
        job = _Job(work, Uninterrupted(loop=self._loop), begins)
        self._batch.jobs.append(job)
        self._settle_soon()
        return job.done

    def log_may_begin(self) -> None:
        """Expect the next commit to wait for the disk."""
        self._log_begins = True

    def settled(self, error: BaseException | None) -> None:
        """Record that a commit has succeeded or failed."""
        if error is None:
            self._log_begins = False
        self._health.settled(failed=error is not None)

    async def finish(self) -> None:
        """Do what has been asked for."""
        self._settle()
        while self._at_work is not None:
            await asyncio.wait((self._at_work,))
            await asyncio.sleep(0)  # for its callback

    async def close(self, last: Callable[[], None] | None) -> None:
        """End the thread, after it has done `last`."""
        if last is not None:
            await self._loop.run_in_executor(self._thread, last)
        self._thread.shutdown()

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
        removes = Forgotten in map(type, _entries(batch.appends))
        if batch.jobs or removes or self._log_begins or self._durable == "full":
            self._work(batch)
        else:
            self._resolve_appends(batch.appends, self._committed(batch.appends))

    def _work(self, batch: _Batch) -> None:
        """Give the database to the thread for a batch."""

        def ended(at_work: asyncio.Future[_Results]) -> None:
            self._at_work = None
            try:
                self._resolve_batch(batch, at_work.result())
            finally:  # whatever fails, others wait
                self._settle()

        try:
            for job in batch.jobs:
                if job.begins is not None:
                    job.begins()
            self._at_work = self._loop.run_in_executor(self._thread, self._do_batch, batch)
        except Exception as error:  # noqa: BLE001 - there may be no thread, and tables wait for an answer
            self._resolve_batch(batch, (error, [error] * len(batch.jobs)))
        else:
            self._at_work.add_done_callback(ended)

    def _do_batch(self, batch: _Batch) -> _Results:
        return self._committed(batch.appends), [self._outcome(job) for job in batch.jobs]

    def _resolve_batch(self, batch: _Batch, results: _Results) -> None:
        error, outcomes = results
        self._resolve_appends(batch.appends, error)
        for job, outcome in zip(batch.jobs, outcomes, strict=True):
            if isinstance(outcome, Exception):
                job.done.set_exception(outcome)
            else:
                job.done.set_result(outcome)
            if isinstance(outcome, NotStored):
                self._count_failures(outcome, 1)
        self._stored(len(batch.jobs))  # which change several pages each, as entries do

    def _resolve_appends(self, appends: list[Append], error: Exception | None) -> None:
        if not appends:
            return
        for append in appends:  # first: nothing below may keep the tables waiting
            if error is None:
                append.stored.set_result(None)
            else:
                append.stored.set_exception(
                    NotStored("the journal could not be written: {reason}", reason=reason_of(error))
                )
        self.settled(error)
        if error is None:
            self._stored(len(_entries(appends)))
        else:
            self._count_failures(error, len(appends))

    def _count_failures(self, error: Exception, number: int) -> None:
        self._health.count_failures(reason_of(error), number, told=self._files.fault is not None)

    def _committed(self, appends: list[Append]) -> Exception | None:
        if not appends:
            return None
        began = time.perf_counter()
        try:
            parts = [part for append in appends for part in append.parts]
            ended = [game for append in appends for game in append.ended]
            self._ledger.append(parts, int(time.time()), ended)
        except Exception as error:  # noqa: BLE001 - whatever it is, the tables are told, and the journal goes on
            return error
        self.durations.add(time.perf_counter() - began)
        return None

    def _outcome(self, job: _Job) -> Any:
        try:
            return job.work()
        except (sqlite3.Error, OSError, NotInPlace) as error:
            return NotStored("the journal could not be used: {reason}", reason=reason_of(error))
        except NotOwned as error:
            return TableLost("{reason}", reason=str(error))
        except ValueError as error:
            return damaged(self._path, error)
        except Exception as error:  # noqa: BLE001 - whatever fails for one table, the journal goes on
            return error
