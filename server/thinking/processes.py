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


def _kill(worker: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        worker.kill()


async def end_worker(worker: Process) -> None:
    _kill(worker)
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
        self._most = math.ceil(share)
        self._seconds = seconds
        self._idle_seconds = idle_seconds
        self._turns: Turns[tuple[bytes, asyncio.Future[Thought]]] = Turns()
        self._working: set[asyncio.Task[None]] = set()
        self._idle: dict[Process, asyncio.TimerHandle] = {}  # each ends when its time is up
        self._replaced = RepeatedFailure()
        self._closed = False

    def ask(self, question: bytes, asker: Sequence[str]) -> asyncio.Future[Thought]:
        """Queue the question, in a frame, for the asker's turn, unless the future is cancelled before that.

        The future fails with ThinkingFailed.
        """
        wanted: asyncio.Future[Thought] = asyncio.get_running_loop().create_future()
        if self._closed:
            wanted.cancel()
        else:
            self._turns.add(asker, (question, wanted))
            self._begin()
        return wanted

    def close(self) -> None:
        """End all processes; the task group waits for their end."""
        self._closed = True
        self._turns.clear()
        for task in self._working:
            task.cancel()
        for worker in list(self._idle):
            self._end(worker)

    def _begin(self) -> None:
        """Answer what waits, in as many processes as there may be."""
        while len(self._working) < self._most:
            if (asked := self._turns.next_wanted(lambda each: not each[1].done())) is None:
                return
            task = self._tasks.start(self._work(*asked), "thinking")
            self._working.add(task)
            task.add_done_callback(self._go_on)

    def _go_on(self, task: asyncio.Task[None]) -> None:
        self._working.discard(task)
        self._begin()

    async def _work(self, question: bytes, wanted: asyncio.Future[Thought]) -> None:
        """Answer a question, and keep the process if it is good for the next one."""
        loop, worker = asyncio.get_running_loop(), None
        if self._idle:
            worker, timer = self._idle.popitem()
            timer.cancel()
        worker = await self._answer(question, wanted, worker)
        if worker is not None:
            self._idle[worker] = loop.call_later(self._idle_seconds, self._end, worker)
        await asyncio.sleep(self._processor.wait(loop.time(), 0.0))

    def _end(self, worker: Process) -> None:
        self._idle.pop(worker).cancel()
        _kill(worker)
        self._tasks.start(end_worker(worker), "ending a process")

    async def _answer(
        self, question: bytes, wanted: asyncio.Future[Thought], worker: Process | None
    ) -> Process | None:
        """Answer the question, and return the process for the next one, if it is good for that."""
        time = asyncio.get_running_loop().time
        for _attempt in range(_ATTEMPTS):
            begun = time()
            try:
                async with asyncio.timeout(self._seconds):
                    if worker is None:
                        worker = await start_worker()
                    answer = await ask_worker(worker, question)
            except Exception as error:  # noqa: BLE001 - no question may end the task that answers all of them
                self._processor.wait(time(), time() - begun)
                self._warn(error)
                if worker is not None:
                    await end_worker(worker)
                worker = None
            except asyncio.CancelledError:
                if worker is not None:
                    await end_worker(worker)
                raise
            else:
                self._processor.wait(time(), answer.seconds)
                if not wanted.done():
                    wanted.set_result(answer)
                return worker
        if not wanted.done():
            wanted.set_exception(ThinkingFailed("the processes ended or did not answer"))
        return None

    def _warn(self, error: Exception) -> None:
        if self._replaced.add() > 0:
            log.warning("a process in which bots think is replaced", extra=about(reason=type(error).__name__))
