"""The lock of a table: urgent work gets it first, and it is never lost."""

import asyncio
import contextlib

from server.tables.priority_lock import PriorityLock
from tests.server.peer import TIMEOUT


async def let_all_tasks_run() -> None:
    """Let every task run until it waits."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_urgent_work_comes_first_and_all_other_in_order() -> None:
    """Urgent work comes first even if it asked last."""
    lock, order = PriorityLock(), list[str]()

    async def work(name: str) -> None:
        await lock.acquire(urgent=name.isupper())
        order.append(name)
        await asyncio.sleep(0)
        lock.release()

    await lock.acquire()
    async with asyncio.TaskGroup() as tasks:
        for name in "abXcY":
            tasks.create_task(work(name))
        await let_all_tasks_run()
        assert (order, len(lock)) == ([], 5)
        lock.release()
    assert "".join(order) == "XYabc"


async def test_the_lock_is_not_lost_with_a_cancelled_task() -> None:
    """The task may be cancelled while it waits or at the moment it gets the lock."""
    lock = PriorityLock()
    await lock.acquire()
    early, late, last = (asyncio.create_task(lock.acquire()) for _ in range(3))
    await let_all_tasks_run()
    early.cancel()
    await let_all_tasks_run()
    assert len(lock) == 2
    lock.release()
    late.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await late
    await asyncio.wait_for(last, TIMEOUT)
    lock.release()
    await asyncio.wait_for(lock.acquire(), TIMEOUT)
