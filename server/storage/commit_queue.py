"""The queue of what is to be stored: all that tables append during a commit goes into the next one."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from server.counts import Durations
from server.errors import CodeTaken, JournalError, NotStored, TableLost
from server.storage.entries import Forgotten
from server.storage.health import Health
from server.storage.journal import Part
from server.storage.reasons import Misfit, reason_of
from server.storage.standing import Place, Standing
from server.storage.stored_tables import linked

T = TypeVar("T")


class Uninterrupted(asyncio.Future[T]):
    """A future for one task, which is cancelled only once the future is done, with `completed`.

    Not asyncio.shield: that costs a twentieth of a move, and leaves the task without the outcome.
    """

    cancelled_meanwhile = False

    def cancel(self, msg: Any | None = None) -> bool:  # noqa: ARG002 - asyncio's signature
        """Record that the task was cancelled; it takes True to mean that it is going to end."""
        self.cancelled_meanwhile = True
        return True


async def completed(work: Uninterrupted[T]) -> T:
    """Return the result of `work`, or raise what it raises; a cancellation takes effect at the next await.

    So a task always learns what has become of a change that it asked for, and takes in what is stored.
    """
    try:
        return await work
    finally:
        if work.cancelled_meanwhile and (task := asyncio.current_task()) is not None:
            task.uncancel()  # the cancellation was counted, and is counted again
            task.cancel()


@dataclass(slots=True)
class Append:
    """Entries of one or several tables, all stored or none; `ended` are games whose records are due."""

    parts: Sequence[Part]
    stored: Uninterrupted[None]
    ended: Sequence[tuple[str, int]] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """A rarer piece of work, done after the commit, in its own transaction."""

    work: Callable[[], Any]
    done: Uninterrupted[Any]
    begins: Callable[[], None] | None


@dataclass(slots=True)
class Batch:
    """What one commit stores: entries, tables that are `forgotten` before that, and records that are due."""

    now: int
    appends: list[Append] = field(default_factory=list)
    changes: dict[str, Standing | None] = field(default_factory=dict)
    rows: list[tuple[str, int, str, int | None, bytes]] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    ended: list[tuple[str, int]] = field(default_factory=list)

    def add(self, append: Append, in_use: dict[str, Standing]) -> None:
        """Add what a table appends; whatever is raised, nothing is added then."""
        changes: dict[str, Standing | None] = {}
        rows, forgotten = [], []
        for code, first, entries in append.parts:
            if code in changes:
                known = changes[code]
            else:
                known = self.changes[code] if code in self.changes else in_use.get(code)
            if first != (0 if known is None else known.length):
                raise Misfit(f"entry {first} is not the next one of table {code}")
            if Forgotten in map(type, entries):
                forgotten.append(code)
                changes[code] = None
            elif added := linked(code, known, self.now, entries):
                rows += [
                    (code, number, body, when, link) for number, (when, body, link) in enumerate(added, first)
                ]
                changes[code] = Standing(Place.IN_USE, first + len(added), added[-1].link)
        if forgotten:
            self.rows = [row for row in self.rows if row[0] not in forgotten]
            rows = [row for row in rows if changes[row[0]] is not None]
            self.forgotten += [code for code in forgotten if code in in_use]
        self.appends.append(append)
        self.changes.update(changes)
        self.rows += rows
        self.ended += append.ended


# Why a batch was not stored, if so, and what a job has returned or raised.
Results: TypeAlias = tuple[JournalError | None, Any]


class CommitQueue:
    """Has `begin` store what tables append, one batch after the other, and do rarer work in between.

    `begin` takes a batch, None if there is none, and the work of a job, None if there is none. It returns the
    results, or a future of them. `in_use` says how far the tables in use have come. `settled` is called with
    the number of changes after each batch; `logged` says whether the log already has why nothing is stored.
    """

    def __init__(
        self,
        begin: Callable[[Batch | None, Callable[[], Any] | None], Results | asyncio.Future[Results]],
        health: Health,
        *,
        settled: Callable[[int], None] = lambda _: None,
        logged: Callable[[], bool] = lambda: False,
    ) -> None:
        self._begin = begin
        self._health = health
        self._settled = settled
        self._logged = logged
        self._appends: list[Append] = []
        self._alone: list[Append] = []  # each of which makes a batch of its own
        self._jobs: list[Job] = []
        self._at_work: asyncio.Future[Results] | None = None
        self._due = False  # to be settled in this turn of the loop
        self._loop = asyncio.get_running_loop()
        self.in_use: dict[str, Standing] = {}
        self.durations = Durations()
        self.jobs_begun = 0

    @property
    def busy(self) -> bool:
        return self._at_work is not None

    async def append(self, parts: Sequence[Part], ended: Sequence[tuple[str, int]] = ()) -> None:
        """Store entries, all or none; raises JournalError."""
        stored = Uninterrupted[None](loop=self._loop)
        self._appends.append(Append(parts, stored, ended))
        self._settle_soon()
        await completed(stored)

    async def do(self, work: Callable[[], Any], begins: Callable[[], None] | None = None) -> Any:
        """Return what `work` returns; `begins` is called on the event loop just before it."""
        return await completed(self.ask(work, begins))

    def ask(self, work: Callable[[], Any], begins: Callable[[], None] | None = None) -> Uninterrupted[Any]:
        """Ask for a piece of work, and return the future of its result."""
        job = Job(work, Uninterrupted(loop=self._loop), begins)
        self._jobs.append(job)
        self._settle_soon()
        return job.done

    async def finish(self) -> None:
        """Do what has been asked for."""
        self._settle()
        while self._at_work is not None:
            await asyncio.wait((self._at_work,))
            await asyncio.sleep(0)  # for its callback

    def _settle_soon(self) -> None:
        if self._at_work is None and not self._due:
            self._due = True
            self._loop.call_soon(self._settle)

    def _settle(self) -> None:
        """Begin what is to be done next."""
        self._due = False
        while self._at_work is None and (self._appends or self._alone or self._jobs):
            self._settle_one(self._next_batch(), self._jobs.pop(0) if self._jobs else None)

    def _settle_one(self, batch: Batch | None, job: Job | None) -> None:
        if batch is None and job is None:
            return
        began = time.perf_counter()
        results: Results | asyncio.Future[Results]
        try:
            if job is not None:
                self.jobs_begun += 1
                if job.begins is not None:
                    job.begins()
            results = self._begin(batch, None if job is None else job.work)
        except Exception as error:  # noqa: BLE001 - whatever it is, those who wait are told
            results = _not_stored(error), error
        if isinstance(results, asyncio.Future):
            self._at_work = results
            results.add_done_callback(lambda done: self._end(done, batch, job, began))
        else:
            self._resolve(batch, job, results, began)

    def _next_batch(self) -> Batch | None:
        if self._alone:
            appends = [self._alone.pop(0)]
        else:
            appends, self._appends = self._appends, []
        batch = Batch(int(time.time()))
        for append in appends:
            try:
                batch.add(append, self.in_use)
            except Exception as error:  # noqa: BLE001 - whatever it is, the others are stored
                self._fail([append], _not_stored(error))
        return batch if batch.appends else None

    def _end(self, done: asyncio.Future[Results], batch: Batch | None, job: Job | None, began: float) -> None:
        self._at_work = None
        try:
            results = done.result()
        except asyncio.CancelledError:  # those who wait cannot be cancelled, and nobody knows what is stored
            results = TableLost("the server ends"), TableLost("the server ends")
        except Exception as error:  # noqa: BLE001 - whatever it is, those who wait are told
            results = _not_stored(error), error
        try:
            self._resolve(batch, job, results, began)
        finally:
            self._settle()

    def _resolve(self, batch: Batch | None, job: Job | None, results: Results, began: float) -> None:
        error, outcome = results
        if batch is None:
            pass
        elif isinstance(error, CodeTaken) and len(batch.appends) > 1:
            self._alone += batch.appends
        elif error is not None:
            self._fail(batch.appends, error)
        else:
            self._succeed(batch)
            if job is None:
                self.durations.add(time.perf_counter() - began)
        if job is not None:
            if isinstance(outcome, Exception):
                job.done.set_exception(outcome)
            else:
                job.done.set_result(outcome)
            if isinstance(outcome, NotStored):
                self._health.count_failures(outcome.reason, told=self._logged())
        self._settled((job is not None) + (len(batch.rows) if batch and error is None else 0))

    def _succeed(self, batch: Batch) -> None:
        for code, standing in batch.changes.items():
            self.take_note(code, standing)
        for append in batch.appends:
            append.stored.set_result(None)
        self._health.settled(failed=False)

    def take_note(self, code: str, standing: Standing | None) -> None:
        """Record how a table stands by now."""
        if standing is not None and standing.place is Place.IN_USE:
            self.in_use[code] = standing
        else:
            self.in_use.pop(code, None)

    def _fail(self, appends: Sequence[Append], error: JournalError) -> None:
        for append in appends:
            append.stored.set_exception(error)
        if isinstance(error, CodeTaken | TableLost):
            self._health.refused()
        else:
            self._health.settled(failed=True)
            self._health.count_failures(error.reason, len(appends), told=self._logged())


def _not_stored(error: Exception) -> NotStored:
    return NotStored("the journal could not be written: {reason}", reason=reason_of(error))
