"""Turns at a table: one at a time, urgent ones first, and none is lost."""

import asyncio
import contextlib

from server.tables.turns import Turns


async def let_all_tasks_run() -> None:
    """Let every task run until it waits."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_urgent_turns_come_first_and_all_others_in_order() -> None:
    """An urgent turn comes first even if it was asked for last."""
    turns, order = Turns(), list[str]()

    async def work(name: str) -> None:
        await turns.take(urgent=name.isupper())
        order.append(name)
        await asyncio.sleep(0)
        turns.give_back()

    await turns.take()
    async with asyncio.TaskGroup() as tasks:
        for name in "abXcY":
            tasks.create_task(work(name))
        await let_all_tasks_run()
        assert (order, len(turns)) == ([], 5)
        turns.give_back()
    assert "".join(order) == "XYabc"


async def test_a_turn_is_not_lost_with_a_cancelled_task() -> None:
    """The task may be cancelled while it waits or at the moment it gets the turn."""
    turns = Turns()
    await turns.take()
    early, late, last = (asyncio.create_task(turns.take()) for _ in range(3))
    await let_all_tasks_run()
    early.cancel()
    await let_all_tasks_run()
    assert len(turns) == 2
    turns.give_back()
    late.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await late
    await asyncio.wait_for(last, 1)
    turns.give_back()
    await asyncio.wait_for(turns.take(), 1)
