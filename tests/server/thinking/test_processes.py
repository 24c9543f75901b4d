"""Thinking in processes: by turns, in a share of the processors' time, whatever becomes of a process."""

import asyncio
import contextlib
import random
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from engine.game import Game, GameOptions
from engine.redaction import snapshot
from engine.view import eyes_of
from server.config import Choose
from server.limits.fair_thread import FairThread
from server.limits.rate_limits import RateLimiter
from server.monitoring.failures import Tasks
from server.thinking.messages import Question, Thought, pack_frame
from server.thinking.processes import ThinkingFailed, ThinkingProcesses
from tests.games import played
from tests.server.peer import TIMEOUT, eventually
from tests.server.thinking.brains import Waiting, babbling, ending, hanging, steady

WHOLE = 1.0  # processor
GAME = played(GameOptions(2, random_layout=True), 1, 3)


def thinkers() -> list[psutil.Process]:
    """Return the processes that think for this one."""
    found = []
    for process in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):
            if "server.thinking.worker" in process.cmdline():
                found.append(process)
    return found


def ask_in(game: Game, brain: Choose, seed: int = 1) -> bytes:
    """Return the question what the seat to move should do."""
    legal = game.legal()
    assert legal is not None
    return pack_frame(Question(brain, snapshot(game.view, eyes_of(legal.seat)), legal, seed))


@contextlib.asynccontextmanager
async def processes(
    share: float = WHOLE, seconds: float = TIMEOUT, idle_seconds: float = TIMEOUT
) -> AsyncIterator[ThinkingProcesses]:
    """Answer questions while the context lasts; no process is left after it."""
    async with Tasks() as tasks:
        thinking = ThinkingProcesses(tasks, share, seconds, idle_seconds)
        yield thinking
        thinking.close()
    # With uvloop, one whose start was cancelled has been killed, but may take a moment to end.
    await eventually(lambda: not thinkers())


async def test_a_process_answers_as_the_brain_does_here_and_is_kept() -> None:
    """It has the same view and chance, comes after the server for the processor, and stays for the next."""
    legal = GAME.legal()
    assert legal is not None
    pids = set()
    async with processes() as thinking:
        for seed in (1, 2):
            answer = await thinking.ask(ask_in(GAME, steady, seed), "a")
            there = snapshot(GAME.view, eyes_of(legal.seat))
            assert answer.command == steady(there, legal, random.Random(seed))
            (process,) = thinkers()
            if sys.platform != "win32":
                assert process.nice() == min(psutil.Process().nice() + 10, 19)
            pids.add(process.pid)
    assert len(pids) == 1


def test_what_was_not_used_lately_may_be_used_at_once() -> None:
    """Up to what 60 seconds save; after that everything has to be waited for."""
    processor = RateLimiter(30.0, 0.5)
    assert processor.wait(100.0, 30.0) == 0.0
    assert processor.wait(100.0, 2.0) == pytest.approx(4.0)
    assert processor.wait(104.0, 0.0) == 0.0
    assert processor.wait(1104.0, 31.0) == pytest.approx(2.0)


@pytest.mark.slow
async def test_a_larger_share_has_more_processes(tmp_path: Path) -> None:
    brain = Waiting(tmp_path)
    async with processes(share=1.5) as thinking:
        answers = [thinking.ask(ask_in(GAME, brain), asker) for asker in "abc"]
        await eventually(lambda: len(brain.thinkers()) == 2)
        assert sorted(brain.thinkers()) == sorted(each.pid for each in thinkers())
        brain.go_on()
        assert len({answer.command for answer in await asyncio.gather(*answers)}) == 1
        assert len(thinkers()) == 2


async def test_what_nobody_waits_for_is_not_begun(tmp_path: Path) -> None:
    brain = Waiting(tmp_path)
    async with processes() as thinking:
        first = thinking.ask(ask_in(GAME, brain), "a")
        unwanted, last = (thinking.ask(ask_in(GAME, brain), "a") for _ in range(2))
        await eventually(lambda: bool(brain.thinkers()))
        unwanted.cancel()
        first.cancel()  # it has begun: its answer is dropped
        brain.go_on()
        await last
        assert len(brain.thinkers()) == 2


async def test_a_process_that_dies_is_replaced(tmp_path: Path) -> None:
    brain = Waiting(tmp_path)
    async with processes() as thinking:
        answer = thinking.ask(ask_in(GAME, brain), "a")
        await eventually(lambda: len(brain.thinkers()) == 1)
        psutil.Process(brain.thinkers()[0]).kill()
        await eventually(lambda: len(brain.thinkers()) == 2)
        brain.go_on()
        assert (await answer).command
        (process,) = thinkers()
        assert process.pid == brain.thinkers()[1]
        process.kill()
        assert (await thinking.ask(ask_in(GAME, steady), "a")).command


@pytest.mark.slow
@pytest.mark.parametrize("brain", [ending, hanging, babbling])
async def test_a_question_is_given_up_after_two_processes(brain: Choose) -> None:
    """None of them is left, and the next question is answered."""
    async with processes(seconds=0.3 if brain is hanging else TIMEOUT) as thinking:
        with pytest.raises(ThinkingFailed):
            await thinking.ask(ask_in(GAME, brain), "a")
        await eventually(lambda: not thinkers())
        if brain is not hanging:  # else a process may take too long to start
            assert (await thinking.ask(ask_in(GAME, steady), "a")).command


@pytest.mark.slow
async def test_a_process_without_questions_ends_and_the_next_one_has_another() -> None:
    async with processes(idle_seconds=0.05) as thinking:
        await thinking.ask(ask_in(GAME, steady), "a")
        await eventually(lambda: not thinkers())
        assert (await thinking.ask(ask_in(GAME, steady), "a")).command


@pytest.mark.slow
async def test_what_is_asked_just_as_a_process_has_been_idle_for_too_long_is_answered() -> None:
    """Its task has been woken up and has not run yet."""
    loop = asyncio.get_running_loop()
    asked: list[asyncio.Future[Thought]] = []
    failed: list[BaseException] = []

    def ask_in_that_moment() -> None:
        if not any(task.cancelling() for task in asyncio.all_tasks()):
            loop.call_soon(ask_in_that_moment)
            return
        try:
            asked.append(thinking.ask(ask_in(GAME, steady), "a"))
        except asyncio.InvalidStateError as error:
            failed.append(error)

    async with processes(idle_seconds=0.05) as thinking:
        await thinking.ask(ask_in(GAME, steady), "a")
        ask_in_that_moment()
        await eventually(lambda: bool(asked or failed))
        assert not failed
        async with asyncio.timeout(TIMEOUT):
            assert (await asked[0]).command


async def test_the_end_leaves_no_process(tmp_path: Path) -> None:
    brain = Waiting(tmp_path)
    async with processes() as thinking:
        answer = thinking.ask(ask_in(GAME, brain), "a")
        await eventually(lambda: bool(brain.thinkers()))
    assert not answer.done()
    async with processes() as thinking:
        thinking.ask(ask_in(GAME, brain), "a")
        await asyncio.sleep(0)
    assert thinking.ask(ask_in(GAME, brain), "a").cancelled()


@pytest.fixture
def thread() -> Iterator[FairThread[str]]:
    fair: FairThread[str] = FairThread("test", 1.0)
    yield fair
    fair.close()


async def test_askers_take_turns_at_a_thread(thread: FairThread[str]) -> None:
    go, order = threading.Event(), list[str]()

    def work(name: str) -> str:
        order.append(name)
        return name

    first = thread.do(lambda: str(go.wait()), "many")
    many = [thread.do(partial(work, f"many {number}"), "many") for number in range(3)]
    one = thread.do(lambda: work("one"), "other")
    go.set()
    assert await asyncio.gather(first, *many, one) == ["True", "many 0", "many 1", "many 2", "one"]
    assert order == ["one", "many 0", "many 1", "many 2"]


async def test_what_is_cancelled_or_comes_to_the_end_is_not_begun(thread: FairThread[str]) -> None:
    """And a failure reaches the asker, and nobody else."""

    def fail() -> str:
        raise ValueError("no")

    go = threading.Event()
    first = thread.do(lambda: str(go.wait()), "a")
    unwanted = thread.do(lambda: pytest.fail("begun"), "a")
    failed, last = thread.do(fail, "a"), thread.do(lambda: "done", "a")
    unwanted.cancel()
    first.cancel()  # it has begun: its result is dropped
    go.set()
    with pytest.raises(ValueError, match="no"):
        await failed
    assert await last == "done"
    go.clear()
    thread.do(lambda: str(go.wait()), "a")
    waiting = thread.do(lambda: pytest.fail("begun"), "a")
    thread.close()
    go.set()
    await asyncio.sleep(0)
    assert not waiting.done()


async def test_no_more_than_its_share_of_the_processor_is_used() -> None:
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
