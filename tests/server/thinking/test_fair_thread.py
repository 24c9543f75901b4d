"""Thinking by turns: nobody's work waits for all the work of somebody else, or takes the whole processor."""

import asyncio
import threading
import time
from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import pytest

from server.thinking.fair_thread import FairThread


@pytest.fixture
def thread() -> Iterator[FairThread[str]]:
    fair: FairThread[str] = FairThread("test", 1.0)
    yield fair
    fair.close()


async def test_askers_take_turns(thread: FairThread[str]) -> None:
    """One who asks for much delays another by one piece of work."""
    go, order = threading.Event(), list[str]()

    def work(name: str) -> str:
        order.append(name)
        return name

    first = thread.do(lambda: str(go.wait()), "many")
    many = [thread.do(partial(work, f"many {number}"), "many") for number in range(3)]
    one = thread.do(lambda: work("one"), "other")
    go.set()
    assert await asyncio.gather(first, *many, one) == ["True", "many 0", "many 1", "many 2", "one"]
    assert order == ["many 0", "one", "many 1", "many 2"]


async def test_what_is_cancelled_is_not_begun(thread: FairThread[str]) -> None:
    go = threading.Event()
    first = thread.do(lambda: str(go.wait()), "a")
    unwanted = thread.do(lambda: pytest.fail("begun"), "a")
    last = thread.do(lambda: "done", "a")
    unwanted.cancel()
    first.cancel()  # it has begun: its result is dropped
    go.set()
    assert await last == "done"


async def test_a_failure_reaches_the_asker_and_nobody_else(thread: FairThread[str]) -> None:
    def fail() -> str:
        raise ValueError("no")

    failed, after = thread.do(fail, "a"), thread.do(lambda: "done", "a")
    with pytest.raises(ValueError, match="no"):
        await failed
    assert await after == "done"


async def test_no_more_than_its_share_of_the_processor_is_used() -> None:
    """After each piece of work it rests for as long as the share demands."""
    thread: FairThread[float] = FairThread("test", 0.25)

    def work() -> float:
        begun = time.thread_time()
        while time.thread_time() - begun < 0.01:
            pass
        return time.perf_counter()

    ends = await asyncio.gather(*(thread.do(work, "a") for _ in range(4)))
    thread.close()
    pauses = [later - earlier for earlier, later in pairwise(ends)]
    assert min(pauses) >= 0.039  # of which it works for a quarter


async def test_nothing_begins_after_the_end(thread: FairThread[str]) -> None:
    go = threading.Event()
    thread.do(lambda: str(go.wait()), "a")
    waiting = thread.do(lambda: pytest.fail("begun"), "a")
    thread.close()
    go.set()
    await asyncio.sleep(0)
    assert not waiting.done()
