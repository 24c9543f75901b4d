"""Failures: what fails in one task ends that task alone, and what fails repeatedly must not fill the log."""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from server.monitoring.logs import Field, about

log = logging.getLogger(__name__)

T = TypeVar("T")

_SECONDS_BETWEEN_LINES: Final = 60.0
_SECONDS_BEFORE_RESTART: Final = 1.0


class RepeatedFailure:
    """Decides when to log a failure: the first immediately, later ones together, at most once a minute.

    `count` is the number of failures so far.
    """

    def __init__(self) -> None:
        self.count = 0
        self._next_line = -math.inf
        self._told = 0  # how many a line has told of
        self._before = 0  # those until a line last said that it works

    def add(self, number: int = 1) -> int:
        """Count these failures; return how many to log now: 0 if a line was logged within the last minute."""
        self.count += number
        if (now := time.monotonic()) < self._next_line:
            return 0
        self._next_line = now + _SECONDS_BETWEEN_LINES
        told, self._told = self._told, self.count
        return self.count - told

    def works(self) -> int:
        """Return how many failures to log in all now that it works again, 0 if no line has told of any."""
        if self._told == self._before:
            return 0
        before, self._before, self._told = self._before, self.count, self.count
        return self.count - before

    def log(self, write: Callable[..., None], event: str, number: int = 1, **fields: Field) -> None:
        """Count these failures, and `write` a line (such as with `log.error`) if one is due."""
        if (failures := self.add(number)) > 0:
            write(event, extra=about(failures=failures, **fields))

    def log_end(self, write: Callable[..., None], event: str) -> None:
        """Take note that it works, and `write` a line if it has failed and a line told of that."""
        if failures := self.works():
            write(event, extra=about(failures=failures))


def start_task(work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
    """Start a task of the server; if it fails, that is logged, and nothing else ends."""
    task = asyncio.create_task(work, name=name)
    task.add_done_callback(_log_failure)
    return task


def _log_failure(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("a task failed", extra=about(task=task.get_name()), exc_info=error)


class Tasks:
    """The tasks of a server: the context ends when all of them have, and cancels them if it fails."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> "Tasks":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                await self._wait()
        finally:
            self.cancel()
            await self._wait()

    def start(self, work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        task = start_task(work, name)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def keep(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> asyncio.Task[None]:
        """Start a task that the server cannot do without: if it fails, it begins again a second later."""
        return self.start(_keep_running(work, name), name)

    def cancel(self) -> None:
        for task in self._running:
            task.cancel()

    async def _wait(self) -> None:
        while self._running:
            await asyncio.wait(self._running)


async def _keep_running(work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
    failures = RepeatedFailure()
    while True:
        try:
            return await work()
        except Exception:
            if failures.add() > 0:
                log.exception("a task failed", extra=about(task=name))
        await asyncio.sleep(_SECONDS_BEFORE_RESTART)
