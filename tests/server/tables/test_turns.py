"""Turns at a table: one at a time, what is urgent first, and none is lost."""

import asyncio
import contextlib

from server.tables.turns import Turns


async def settled() -> None:
    """Let everything run that can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_what_is_urgent_comes_first_and_all_else_in_order() -> None:
    """Also when it comes last."""
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
        await settled()
        assert (order, len(turns)) == ([], 5)
        turns.give_back()
    assert "".join(order) == "XYabc"


async def test_a_turn_is_not_lost_with_whoever_waited_for_it() -> None:
    """Not before it was given, and not in the moment in which it was given."""
    turns = Turns()
    await turns.take()
    early, late, last = (asyncio.create_task(turns.take()) for _ in range(3))
    await settled()
    early.cancel()
    await settled()
    assert len(turns) == 2
    turns.give_back()
    late.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await late
    await asyncio.wait_for(last, 1)
    turns.give_back()
    await asyncio.wait_for(turns.take(), 1)
