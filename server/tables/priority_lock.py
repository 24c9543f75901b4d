"""A lock with two queues: a table's own work comes before requests."""

import asyncio
from collections import deque
from typing import TypeAlias

Waiting: TypeAlias = deque[asyncio.Future[None]]


class PriorityLock:
    """A lock that is given to urgent work first, and to all else in order of arrival."""

    def __init__(self) -> None:
        self._locked = False
        self._urgent: Waiting = deque()
        self._others: Waiting = deque()

    async def acquire(self, *, urgent: bool = False) -> None:
        """Wait for the lock and take it."""
        if not self._locked:
            self._locked = True
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._urgent if urgent else self._others).append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():  # it was given the lock just then
                self.release()
            raise

    def release(self) -> None:
        """Give the lock to the next that waits for it."""
        for waiting in (self._urgent, self._others):
            while waiting:
                waiter = waiting.popleft()
                if not waiter.cancelled():
                    waiter.set_result(None)
                    return
        self._locked = False

    def __len__(self) -> int:
        return sum(not waiter.cancelled() for waiter in (*self._urgent, *self._others))
