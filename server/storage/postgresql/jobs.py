"""Rarer work than moves: one piece after the other, on a line of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import asyncpg

from server.errors import JournalError, NotStored, TableLost
from server.failures import start_task
from server.storage.health import Health
from server.storage.operations import NotOwned
from server.storage.postgresql.database import Connection, Database, not_stored, reason_of
from server.storage.postgresql.line import Fenced, Line
from server.storage.uninterrupted import Uninterrupted, completed

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Job:
    work: Callable[[], Awaitable[Any]]
    done: Uninterrupted[Any]
    begins: Callable[[], None] | None


class Jobs:
    """What is asked of `database` over `line`; what fails raises JournalError and counts for `health`."""

    def __init__(self, database: Database, line: Line, health: Health) -> None:
        self._database = database
        self._line = line
        self._health = health
        self._waiting: list[_Job] = []
        self._at_work: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self.begun = 0

    @property
    def under_way(self) -> bool:
        return self._at_work is not None

    async def read(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Return what `work` returns, which changes nothing."""
        found: T = await self._done(lambda: self._line.read(work))
        return found

    async def change(
        self, work: Callable[[Connection], Awaitable[T]], begins: Callable[[], None] | None = None
    ) -> T:
        """Return what `work` returns; `begins` is called on the event loop just before it."""
        result: T = await self._done(lambda: self._line.change(work), begins)
        return result

    async def close(self) -> None:
        """Wait for what is under way."""
        while self._at_work is not None:
            await asyncio.wait((self._at_work,))
            await asyncio.sleep(0)

    async def _done(
        self, work: Callable[[], Awaitable[Any]], begins: Callable[[], None] | None = None
    ) -> Any:
        self.begun += 1
        job = _Job(work, Uninterrupted(loop=self._loop), begins)
        self._waiting.append(job)
        if self._at_work is None:
            self._at_work = start_task(self._do_all(), "working in the database")
        return await completed(job.done)

    async def _do_all(self) -> None:
        try:
            while self._waiting:
                await self._do(self._waiting.pop(0))
        finally:
            self._at_work = None

    async def _do(self, job: _Job) -> None:
        try:
            if job.begins is not None:
                job.begins()
            job.done.set_result(await job.work())
        except NotOwned as error:
            job.done.set_exception(TableLost("{reason}", reason=str(error)))
        except Fenced:
            job.done.set_exception(TableLost("the lease is lost"))
        except asyncpg.PostgresError as error:
            self._health.count_failures(reason_of(error))
            job.done.set_exception(not_stored("the journal could not be used: {reason}", error))
        except NotStored as error:
            self._health.count_failures(error.reason)
            job.done.set_exception(error)
        except ValueError as error:
            job.done.set_exception(self._damaged(reason_of(error)))
        except Exception as error:  # noqa: BLE001 - whatever fails for one table, the journal goes on
            job.done.set_exception(error)

    def _damaged(self, what: str) -> JournalError:
        return JournalError(
            "the journal in {database} is damaged: {reason}. See the log, and restore a copy if need be",
            database=self._database,
            reason=what,
        )
