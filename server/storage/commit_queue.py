"""The queue of what is to be stored: what tables append during a commit goes into the next one.

How storage fares is observed, logged, and tried while nothing is stored.
"""

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from server.errors import CodeTaken, JournalError, NotStored, TableLost
from server.monitoring.counts import Durations
from server.monitoring.failures import RepeatedFailure, start_task
from server.probes import probe
from server.storage.entries import Entry, Forgotten, entry_text
from server.storage.reasons import Misfit, reason_of
from server.storage.stored_tables import IN_USE, StoredState, first_link, next_link

T = TypeVar("T")

# A table's code, the number of the first entry, and the entries.
Part: TypeAlias = tuple[str, int, Sequence[Entry]]
Storing: TypeAlias = Coroutine[Any, Any, None]  # to be awaited

_SECONDS_BETWEEN_PROBES: Final = 1.0
_SECONDS_TO_PROBE: Final = 5.0  # then storage that does not answer counts as failing

log = logging.getLogger(__name__)


class Health:
    """Counts and logs requests that could not be stored; `probe` stores a batch without changes."""

    def __init__(self, probe: Callable[[], Storing]) -> None:
        self._probe = probe
        self._probing: asyncio.Task[None] | None = None
        self._probed_at = -math.inf
        self._answered_at = self._failed_at = -math.inf
        self._failures = RepeatedFailure()
        self._loop = asyncio.get_running_loop()
        self._failing = False

    @property
    def not_stored(self) -> int:
        """Return how many requests could not be stored."""
        return self._failures.count

    @property
    def failing(self) -> bool:
        """Return whether a commit has failed since a trial worked: few moves may fit where several do not."""
        return self._failing

    def record_commit(self, *, failed: bool, trial: bool = False) -> None:
        """Record how a commit, or a trial of one, has ended."""
        self._answered_at = self._loop.time()
        if failed:
            self._failing, self._failed_at = True, self._answered_at
            return
        if trial:
            self._failing = False
        self._failures.log_end(log.warning, "stored again")

    def record_answer(self) -> None:
        """Record that storage has answered a read or a probe."""
        self._answered_at = self._loop.time()

    def count_failures(self, reason: str, number: int = 1, *, told: bool = False) -> None:
        """Count requests that could not be stored; `told` if the log has the reason already."""
        if told:
            self._failures.count += number
        else:
            self._failures.log(log.error, "not stored", number, reason=reason)

    async def works(self) -> bool:
        """Return whether commits work; after a while, try one, which must end in time."""
        known_since = self._failed_at if self._failing else self._answered_at
        if self._loop.time() < known_since + _SECONDS_BETWEEN_PROBES:
            return not self._failing
        if self._probing is None:
            self._probing = start_task(self._run_probe(), "trying the journal")
            self._probed_at = self._loop.time()
        left = self._probed_at + _SECONDS_TO_PROBE - self._loop.time()
        _, waiting = await asyncio.wait((self._probing,), timeout=max(0.0, left))
        return not waiting and not self._failing

    async def _run_probe(self) -> None:
        try:
            with contextlib.suppress(JournalError):  # it is counted
                await self._probe()
        finally:
            self._probing = None

    async def close(self) -> None:
        """Wait for a trial that is under way."""
        if self._probing is not None:
            await asyncio.wait((self._probing,))


class Uninterrupted(asyncio.Future[T]):
    """A future for one task, which is cancelled only once the future is done, with `result_of`.

    Not asyncio.shield: that costs a twentieth of a move, and leaves the task without the outcome.
    """

    cancelled_meanwhile = False

    def cancel(self, msg: Any | None = None) -> bool:  # noqa: ARG002 - asyncio's signature
        """Record that the task was cancelled; it takes True to mean that it is going to end."""
        probe("a task is cancelled while its change is being stored")
        self.cancelled_meanwhile = True
        return True


async def result_of(work: Uninterrupted[T]) -> T:
    """Return the result of `work` or raise its error; a cancellation waits for the next await.

    So a task always learns the outcome of its change, and folds what is stored.
    """
    try:
        return await work
    finally:
        if work.cancelled_meanwhile and (task := asyncio.current_task()) is not None:
            task.uncancel()  # the cancellation was counted, and is counted again
            task.cancel()


async def let_others_go_on() -> None:
    """Continue in a later turn of the loop; a cancellation waits for the next await.

    The end of a game takes as long as five other moves: in one go, it would delay those at other tables.
    """
    turn: Uninterrupted[None] = Uninterrupted()
    turn.get_loop().call_soon(turn.set_result, None)
    await result_of(turn)


class Append(msgspec.Struct):
    """Entries of tables, stored together or not at all; `ended` are games whose records are due."""

    parts: Sequence[Part]
    stored: Uninterrupted[None]
    ended: Sequence[tuple[str, int]] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """A rarer piece of work, begun on the event loop after the commit, in its own transaction."""

    begin: Callable[[], asyncio.Future[Any]]
    done: Uninterrupted[Any]


@dataclass(slots=True)
class Batch:
    """The contents of one commit: entries, tables `forgotten` before these, and records that are due."""

    now: int
    appends: list[Append] = field(default_factory=list)
    changes: dict[str, StoredState | None] = field(default_factory=dict)
    rows: list[tuple[str, int, str, int | None, bytes]] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    ended: list[tuple[str, int]] = field(default_factory=list)

    def add(self, append: Append, in_use: dict[str, StoredState]) -> None:
        """Add an append to the batch; if it raises, the batch is unchanged."""
        changes: dict[str, StoredState | None] = {}
        rows: list[tuple[str, int, str, int | None, bytes]] = []
        forgotten = []
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
            elif entries:
                link = first_link(code) if known is None else known.link
                for number, entry in enumerate(entries, first):
                    body = entry_text(entry)
                    link = next_link(link, number, self.now, body)
                    rows.append((code, number, body, self.now, link))
                changes[code] = StoredState(IN_USE, first + len(entries), link)
        if forgotten:
            self.rows = [row for row in self.rows if row[0] not in forgotten]
            rows = [row for row in rows if changes[row[0]] is not None]
            self.forgotten += [code for code in forgotten if code in in_use]
        self.appends.append(append)
        self.changes.update(changes)
        self.rows += rows
        self.ended += append.ended


class CommitQueue:
    """Stores what tables append, one batch after the other, and does rarer work in between.

    `commit` stores a batch, or returns the future of that; one without changes is a trial. `in_use` says how
    far the tables in use have come. `settled` is called with the number of changes after each batch; `logged`
    says whether the log already has why nothing is stored.
    """

    def __init__(
        self,
        commit: Callable[[Batch], asyncio.Future[None] | None],
        health: Health,
        *,
        settled: Callable[[int], None] = lambda _: None,
        logged: Callable[[], bool] = lambda: False,
    ) -> None:
        self._commit = commit
        self._health = health
        self._settled = settled
        self._logged = logged
        self._appends: list[Append] = []
        self._alone: list[Append] = []  # each of which makes a batch of its own
        self._jobs: list[Job] = []
        self._job_is_next = False
        self._at_work: asyncio.Future[Any] | None = None
        self._due = False  # to be settled in the next turn of the loop
        self._loop = asyncio.get_running_loop()
        self.in_use: dict[str, StoredState] = {}
        self.durations = Durations()
        self.jobs_begun = 0

    @property
    def busy(self) -> bool:
        return self._at_work is not None

    def append(self, parts: Sequence[Part], ended: Sequence[tuple[str, int]] = ()) -> Storing:
        """Store entries, all or none; raises JournalError."""
        stored: Uninterrupted[None] = Uninterrupted(loop=self._loop)
        self._appends.append(Append(parts, stored, ended))
        self._settle_soon()
        return result_of(stored)

    async def do(self, begin: Callable[[], asyncio.Future[T]]) -> T:
        """Start work with `begin` once all earlier work is done, and return its result."""
        done: Uninterrupted[T] = Uninterrupted(loop=self._loop)
        self._jobs.append(Job(begin, done))
        self._settle_soon()
        return await result_of(done)

    async def finish(self) -> None:
        """Finish all pending work."""
        self._settle()
        while self._at_work is not None:
            await asyncio.wait((self._at_work,))
            await asyncio.sleep(0)  # for its callback

    def take_note(self, code: str, standing: StoredState | None) -> None:
        """Record the length of a table's chain, if the table is in use."""
        if standing is not None and standing.place is IN_USE:
            self.in_use[code] = standing
        else:
            self.in_use.pop(code, None)

    def _settle_soon(self) -> None:
        if self._at_work is None and not self._due:
            self._due = True
            # After one more turn of the loop, in which other tables append: one commit for two costs less.
            self._loop.call_soon(self._loop.call_soon, self._settle)

    def _settle(self) -> None:
        """Begin what is to be done next: a job after the batch with all that was appended before it."""
        self._due = False
        while self._at_work is None and (self._appends or self._alone or self._jobs):
            if self._job_is_next or not (self._appends or self._alone):
                self._job_is_next = False
                self._begin(self._jobs.pop(0))
            else:
                self._job_is_next = bool(self._jobs)
                batch = self._next_batch()
                if batch.appends:
                    self._begin(batch)

    def _next_batch(self) -> Batch:
        if self._alone:
            appends = [self._alone.pop(0)]
        else:
            appends, self._appends = self._appends, []
        batch = Batch(int(time.time()))
        for append in appends:
            try:
                batch.add(append, self.in_use)
            except Exception as error:  # noqa: BLE001 - whatever it is, the others are stored
                probe("a table appends what does not fit its entries")
                self._refuse([append], error)
        return batch

    def _begin(self, item: Batch | Job) -> None:
        began = time.perf_counter()
        try:
            if isinstance(item, Batch):
                result: Any = self._commit(item)
            else:
                self.jobs_begun += 1
                result = item.begin()
        except Exception as error:  # noqa: BLE001 - whatever it is, those who wait are told
            self._fail(item, error)
            return
        if isinstance(result, asyncio.Future):
            self._at_work = result
            result.add_done_callback(lambda done: self._end(item, done, began))
        else:
            self._succeed(item, result, began)

    def _end(self, item: Batch | Job, done: asyncio.Future[Any], began: float) -> None:
        self._at_work = None
        try:
            try:
                result = done.result()
            except asyncio.CancelledError:  # who waits cannot be cancelled, and nobody knows what is stored
                probe("the server ends during a commit")
                self._fail(item, TableLost("the server ends"))
            except Exception as error:  # noqa: BLE001 - whatever it is, those who wait are told
                self._fail(item, error)
            else:
                self._succeed(item, result, began)
        finally:
            self._settle()

    def _succeed(self, item: Batch | Job, result: Any, began: float) -> None:
        if isinstance(item, Job):
            item.done.set_result(result)
            self._settled(1)
            return
        if item.changes:
            self.durations.add(time.perf_counter() - began)
        for code, standing in item.changes.items():
            self.take_note(code, standing)
        for append in item.appends:
            append.stored.set_result(None)
        self._health.record_commit(failed=False, trial=not item.changes)
        self._settled(len(item.rows) or 1)

    def _fail(self, item: Batch | Job, error: Exception) -> None:
        if isinstance(item, Job):
            item.done.set_exception(error)
            if isinstance(error, NotStored):
                self._health.count_failures(error.reason, told=self._logged())
            self._settled(1)
        elif isinstance(error, CodeTaken) and len(item.appends) > 1:
            probe("a batch is divided because a code is taken")
            self._alone += item.appends
        else:
            self._refuse(item.appends, error)

    def _refuse(self, appends: Sequence[Append], error: Exception) -> None:
        if not isinstance(error, JournalError):
            error = NotStored("the journal could not be written: {reason}", reason=reason_of(error))
        for append in appends:
            append.stored.set_exception(error)
        if isinstance(error, CodeTaken | TableLost):
            self._health.record_answer()
        else:
            self._health.record_commit(failed=True)
            self._health.count_failures(error.reason, len(appends), told=self._logged())
