"""Threads that strangers can make hang: who has them, and for how long."""

import asyncio
import threading

import pytest

from server.limits.networks import networks_of
from server.limits.own_threads import OwnThreads
from server.limits.turns import InTurn

HERE, ELSEWHERE, FAR = map(networks_of, ("198.51.100.7", "198.51.100.8", "2001:db8::1"))


async def loops(times: int = 20) -> None:
    """Let everything happen that waits for nothing."""
    for _ in range(times):
        await asyncio.sleep(0)


async def test_no_network_has_more_places_than_its_share() -> None:
    """Even if nobody else wants them; others have theirs at once."""
    places, held, ended = InTurn(3, of_each=2), list[str](), asyncio.Event()

    async def hold(name: str, *address: str) -> None:
        async with places.turn(address):
            held.append(name)
            await ended.wait()

    loud = [asyncio.create_task(hold(f"loud {number}", "a", "net")) for number in range(4)]
    await loops()
    assert held == ["loud 0", "loud 1"]
    quiet = asyncio.create_task(hold("quiet", "b", "other net"))
    await loops()
    assert held == ["loud 0", "loud 1", "quiet"]
    loud[2].cancel()
    ended.set()
    await asyncio.wait([*loud, quiet])
    assert held == ["loud 0", "loud 1", "quiet", "loud 3"]


async def test_work_that_hangs_keeps_its_thread_and_delays_nobody_from_elsewhere() -> None:
    threads: OwnThreads[str] = OwnThreads("test", 2, of_each=1)
    let_go, begun = threading.Event(), list[str]()

    def hang() -> str:
        begun.append("hangs")
        let_go.wait()
        return "late"

    def work() -> str:
        begun.append("works")
        return "done"

    with pytest.raises(TimeoutError):
        await threads.do(hang, HERE, 0.0)
    again = asyncio.create_task(threads.do(work, HERE, 60.0))
    given_up = asyncio.create_task(threads.do(work, HERE, 60.0))
    await loops()
    given_up.cancel()
    assert await threads.do(work, ELSEWHERE, 60.0) == "done"
    assert await threads.do(work, FAR, 60.0) == "done"
    assert begun == ["hangs", "works", "works"]
    let_go.set()
    assert await again == "done"
    assert begun == ["hangs", "works", "works", "works"]


async def test_what_goes_wrong_in_a_thread_is_raised() -> None:
    threads: OwnThreads[int] = OwnThreads("test", 1)
    with pytest.raises(ZeroDivisionError):
        await threads.do(lambda: 1 // 0, HERE, 60.0)
    assert await threads.do(lambda: 1, HERE, 60.0) == 1
