"""Work in processes of their own, so that the connections and screens of this one never wait for it."""

import asyncio
import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache, partial
from typing import Final, TypeVar, TypeVarTuple

from anyio import BrokenWorkerProcess, CapacityLimiter, to_process

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")

# A process that is killed, for lack of memory say, is replaced; so is one that is late, as all are when this
# program is stopped for a while by Ctrl-Z.
ATTEMPTS: Final = 3
_LOST: Final = (BrokenWorkerProcess, ProcessLookupError, TimeoutError)  # the second if it ended at its start
_SECONDS_BETWEEN_LOOKS: Final = 1.0  # at whether the parent is still there

# When the event loop ends, anyio kills each process twice. If it has ended before the second time, asyncio
# misses its exit code and warns of that, though nobody asks for the code of a process that was killed.
_MISSED_CODE: Final = "will report returncode 255"


logging.getLogger("asyncio").addFilter(lambda record: _MISSED_CODE not in str(record.msg))


class ProcessesLost(Exception):
    """The processes ended or did not answer, again and again; the text says what they worked on."""


@contextlib.asynccontextmanager
async def tasks_failing_alike() -> AsyncIterator[asyncio.TaskGroup]:
    """Yield a group of tasks that fail for the same reason: one error is enough to report."""
    try:
        async with asyncio.TaskGroup() as tasks:
            yield tasks
    except ExceptionGroup as group:
        raise group.exceptions[0] from None


def _nothing() -> None:
    """Show that the process answers."""


async def in_process(
    function: Callable[[*Arguments], Result],
    *arguments: *Arguments,
    limiter: CapacityLimiter,
    seconds: float | None = None,
    lost: Callable[[], None] = _nothing,
) -> Result:
    """Return what the function returns in a process of its own; it must not raise one of the errors lost.

    If the process ends, or takes longer than so many seconds, `lost` is called, and another process has to do
    the work; after some attempts, ProcessesLost is raised. The processes stay for what comes next, and end
    with the program's event loop; one whose work is cancelled ends at once.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            async with asyncio.timeout(seconds):
                await _ready_process(limiter)
                work = partial(_work_for, os.getpid(), function, *arguments)
                return await to_process.run_sync(work, cancellable=True, limiter=limiter)
        except _LOST as error:
            if attempt == ATTEMPTS:
                raise ProcessesLost from error
            lost()
    raise AssertionError("the last attempt returns or raises")


async def _ready_process(limiter: CapacityLimiter) -> None:
    """Wait until there is a process, even if cancelled: anyio loses sight of one that is just starting."""
    with _interrupts_held():
        starting = asyncio.ensure_future(to_process.run_sync(_nothing, limiter=limiter))
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            await asyncio.wait([starting])
            if not starting.cancelled() and starting.exception() is None:
                await asyncio.wait([asyncio.ensure_future(_end_idle_process(limiter))])
            raise


async def _end_idle_process(limiter: CapacityLimiter) -> None:
    with contextlib.suppress(*_LOST):  # it ends without an answer
        await to_process.run_sync(os._exit, 0, limiter=limiter)


def _work_for(parent: int, function: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
    _end_with(parent)
    return function(*arguments)


@cache
def _end_with(parent: int) -> None:
    """End this process soon after its parent is killed: nobody waits for its work then."""

    def watch() -> None:
        while os.getppid() == parent:  # for ever on Windows, where a process stays its parent's child
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


_holding = 0


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back, even from processes that are started in the meantime: it is for this one alone."""
    global _holding  # noqa: PLW0603 - it is the state of this thread
    if not hasattr(signal, "pthread_sigmask"):  # as on Windows
        yield
        return
    _holding += 1
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        _holding -= 1
        if not _holding:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
