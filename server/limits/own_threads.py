"""Threads for work that strangers can make hang, apart from those that the event loop has for everybody."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, TypeVar

from server.limits.turns import InTurn

T = TypeVar("T")


class OwnThreads(Generic[T]):
    """Does work in so many threads at most, by turns for its askers; no network has more than `of_each`.

    A thread cannot be ended, so it keeps its place until it has done its work, even if nobody waits for that
    any more. It does not keep this program from ending.
    """

    def __init__(self, name: str, most: int, of_each: int | None = None) -> None:
        self._name = name
        self._places = InTurn(most, of_each)
        self._tasks: set[asyncio.Task[None]] = set()

    async def do(self, work: Callable[[], T], asker: Sequence[str], seconds: float) -> T:
        """Return what `work` returns, or raise what it raises.

        Raises TimeoutError after `seconds`, which count from the moment the work begins.
        """
        begun: asyncio.Future[Future[T]] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._hold_place(work, asker, begun))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            done = await begun
        except asyncio.CancelledError:
            if begun.cancelled():  # it still waits for its turn
                task.cancel()
            raise
        async with asyncio.timeout(seconds):
            return await asyncio.wrap_future(done)

    async def _hold_place(
        self, work: Callable[[], T], asker: Sequence[str], begun: asyncio.Future[Future[T]]
    ) -> None:
        """Do the work in its turn, and tell `begun` what will have its result."""
        done: Future[T] = Future()
        done.set_running_or_notify_cancel()  # nobody cancels it

        def run() -> None:
            try:
                done.set_result(work())
            except Exception as error:  # noqa: BLE001 - whatever it is, it is the asker's
                done.set_exception(error)

        async with self._places.turn(asker):
            if begun.cancelled():
                return
            try:
                threading.Thread(target=run, name=self._name, daemon=True).start()
            except RuntimeError as error:  # the system has no more
                begun.set_exception(error)
                return
            begun.set_result(done)
            with contextlib.suppress(Exception):  # the asker is told
                await asyncio.wrap_future(done)
