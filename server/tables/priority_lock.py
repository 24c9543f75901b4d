"""A lock with two queues: a table's own work comes before requests."""

import asyncio
import bisect

from server.probes import probe


class PriorityLock:
    """A lock that serves urgent waiters first, then the others in order of arrival."""

    __slots__ = ("_locked", "_waiting")

    def __init__(self) -> None:
        self._locked = False
        # Urgent work, with False, comes first.
        self._waiting: list[tuple[bool, asyncio.Future[None]]] = []

    def take(self) -> bool:
        """Take the lock unless somebody has it; return whether it was taken."""
        if self._locked:
            return False
        self._locked = True
        return True

    async def acquire(self, *, urgent: bool = False) -> None:
        """Wait for the lock and take it."""
        if self.take():
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        bisect.insort(self._waiting, (not urgent, waiter), key=lambda each: each[0])
        try:
            await waiter
        except asyncio.CancelledError:
            probe("a waiter for a table's lock is cancelled")
            if not waiter.cancelled():  # it was given the lock just then
                probe("a waiter is cancelled just when it is given a table's lock")
                self.release()
            raise

    def release(self) -> None:
        """Give the lock to the next that waits for it."""
        while self._waiting:
            _, waiter = self._waiting.pop(0)
            if not waiter.cancelled():
                waiter.set_result(None)
                return
        self._locked = False

    def __len__(self) -> int:
        return sum(not waiter.cancelled() for _, waiter in self._waiting)
