"""A thread that works for everybody by turns, and for no more than a share of a processor's time."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from server.limits.turns import Turns

T = TypeVar("T")


class FairThread(Generic[T]):
    """Does one piece of work at a time, in turns for its requesters, however many each adds.

    After each piece it rests for so long that it takes no more than `share` of a processor.
    """

    def __init__(self, name: str, share: float) -> None:
        # One thread: more of them would compete with the event loop for the interpreter, and gain nothing.
        self._thread = ThreadPoolExecutor(1, name)
        self._rest = 1 / share - 1
        self._turns: Turns[tuple[asyncio.Future[T], Callable[[], T]]] = Turns()
        self._working: asyncio.Task[None] | None = None
        self._closed = False

    def do(self, work: Callable[[], T], asker: Sequence[str]) -> asyncio.Future[T]:
        """Do `work` when it is the asker's turn, unless the future is cancelled before."""
        wanted: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._turns.add(asker, (wanted, work))
        if self._working is None and not self._closed:
            self._working = asyncio.create_task(self._work())
        return wanted

    def close(self) -> None:
        """Begin nothing more."""
        self._closed = True
        if self._working is not None:
            self._working.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _work(self) -> None:
        """Do what is wanted, until nothing is."""
        loop = asyncio.get_running_loop()
        while (following := self._turns.next(lambda each: not each[0].cancelled())) is not None:
            (wanted, work), seconds = following, 0.0
            try:
                result, seconds = await loop.run_in_executor(self._thread, _measure, work)
                if not wanted.cancelled():
                    wanted.set_result(result)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is the asker's
                if not wanted.cancelled():
                    wanted.set_exception(error)
            await asyncio.sleep(seconds * self._rest)
        self._working = None


def _measure(work: Callable[[], T]) -> tuple[T, float]:
    """Return the result of `work`, and how many seconds of the processor's time it took."""
    begun = time.thread_time()
    result = work()
    return result, time.thread_time() - begun
