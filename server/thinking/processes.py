"""Processes that think for the server: started with the first question, replaced when they fail."""

import asyncio
import contextlib
import logging
import math
import subprocess
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from typing import Any, Final

from server.limits.rate_limits import RateLimiter
from server.limits.turns import Turns
from server.monitoring.failures import RepeatedFailure, Tasks
from server.monitoring.logs import about
from server.probes import probe
from server.thinking.messages import FRAME_HEAD, MOST_BYTES, Thought
from server.version import module_process

log = logging.getLogger(__name__)

_ATTEMPTS: Final = 2  # to answer a question, each in another process
_IDLE_SECONDS: Final = 300.0  # after which a process without questions ends
_SAVED_SECONDS: Final = 60.0  # unused share of this long may be used in one go


async def start_worker() -> Process:
    """Start a process that answers questions, one at a time; raises OSError if the system does not let it."""
    # In a group of its own: Ctrl-C in the terminal is the server's, with which this process ends.
    group: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.BELOW_NORMAL_PRIORITY_CLASS
        group = {"creationflags": flags}
    command, environment = module_process("server.thinking.worker")
    return await asyncio.create_subprocess_exec(
        *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment, **group
    )


async def ask_worker(worker: Process, question: bytes) -> Thought:
    """Return the answer to a question in a frame; raises whatever shows that the process is lost."""
    stdin, stdout = worker.stdin, worker.stdout
    assert stdin is not None  # noqa: S101 - both are pipes
    assert stdout is not None  # noqa: S101
    stdin.write(question)
    await stdin.drain()
    length = int.from_bytes(await stdout.readexactly(FRAME_HEAD))
    if length > MOST_BYTES:
        raise ValueError(f"an answer of {length} bytes")
    import pickle  # noqa: PLC0415 - see `pack_frame`

    answer = pickle.loads(await stdout.readexactly(length))  # noqa: S301 - of the host's own brain
    if not (isinstance(answer, Thought) and isinstance(answer.seconds, float)):
        raise TypeError(f"a {type(answer).__name__} is no thought")
    return answer


async def end_worker(worker: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        worker.kill()
    await worker.wait()


class ThinkingFailed(Exception):
    """The processes ended or did not answer."""


class ThinkingProcesses:
    """Answers questions by turns for those who ask, in a `share` of a processor's time or of several.

    There are as many processes as the share needs: one, unless it is more than 1. A question is given up
    in a process after so many `seconds`.
    """

    def __init__(
        self, tasks: Tasks, share: float, seconds: float, idle_seconds: float = _IDLE_SECONDS
    ) -> None:
        self._tasks = tasks
        self._processor = RateLimiter(_SAVED_SECONDS * share, share)
        self._to_start = math.ceil(share)  # so many processes more
        self._seconds = seconds
        self._idle_seconds = idle_seconds
        self._turns: Turns[tuple[bytes, asyncio.Future[Thought]]] = Turns()
        self._working: set[asyncio.Task[None]] = set()  # each with a process of its own
        self._idle: list[asyncio.Future[None]] = []  # done when there is a question; the last one is next
        self._replaced = RepeatedFailure()
        self._closed = False

    def ask(self, question: bytes, asker: Sequence[str]) -> asyncio.Future[Thought]:
        """Queue the question, in a frame, for the asker's turn, unless the future is cancelled before that.

        The future fails with ThinkingFailed.
        """
        wanted: asyncio.Future[Thought] = asyncio.get_running_loop().create_future()
        if self._closed:
            wanted.cancel()
            return wanted
        self._turns.add(asker, (question, wanted))
        if self._idle:
            if not (called := self._idle.pop()).done():
                called.set_result(None)
        elif self._to_start:
            self._to_start -= 1
            task = self._tasks.start(self._work(), "thinking")
            self._working.add(task)
            task.add_done_callback(self._working.discard)
        return wanted

    def close(self) -> None:
        """End all processes; the task group waits for their end."""
        self._closed = True
        self._turns.clear()
        for task in self._working:
            task.cancel()

    async def _work(self) -> None:
        """Answer questions in a process, and in another if that fails, until there are none for a while."""
        loop, worker = asyncio.get_running_loop(), None
        try:
            while (asked := await self._next()) is not None:
                question, wanted = asked
                for _attempt in range(_ATTEMPTS):
                    begun = loop.time()
                    try:
                        async with asyncio.timeout(self._seconds):
                            worker = worker or await start_worker()
                            answer = await ask_worker(worker, question)
                    except Exception as error:  # noqa: BLE001 - no question may end the task that answers all
                        probe("a thinking process dies")
                        self._processor.wait(loop.time(), loop.time() - begun)
                        self._warn(error)
                        if worker is not None:
                            await end_worker(worker)
                        worker = None
                    else:
                        self._processor.wait(loop.time(), answer.seconds)
                        if not wanted.done():
                            wanted.set_result(answer)
                        break
                if not wanted.done():
                    wanted.set_exception(ThinkingFailed("the processes ended or did not answer"))
                await asyncio.sleep(self._processor.wait(loop.time(), 0.0))
        finally:
            self._to_start += 1
            if worker is not None:
                await end_worker(worker)

    async def _next(self) -> tuple[bytes, asyncio.Future[Thought]] | None:
        """Return the question whose turn it is, None if there are none for so long that a process may end."""
        while (asked := self._turns.next(lambda each: not each[1].done())) is None:
            called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._idle.append(called)
            try:
                async with asyncio.timeout(self._idle_seconds):
                    await called
            except TimeoutError:
                if called in self._idle:
                    probe("a thinking process ends because nobody asks")
                    self._idle.remove(called)
                    return None
        return asked

    def _warn(self, error: Exception) -> None:
        if self._replaced.add() > 0:
            log.warning("a process in which bots think is replaced", extra=about(reason=type(error).__name__))
