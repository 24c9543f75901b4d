"""Bots of the server that think in processes: they play whatever becomes of these, and delay nobody."""

import contextlib
import logging
import random
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from client.bots.brains import at_random
from engine.events import Command
from engine.legal import Legal
from engine.pieces import Seat
from engine.view import View
from protocol.codes import Code
from protocol.messages import SeatBot
from server.app import Running, running
from server.config import Brain, Choose, Config, InProcess, Limits
from server.logs import describe
from tests.server.manual_clock import ManualClock
from tests.server.peer import Peer, check_views, eventually, game, table_of
from tests.server.process import serving
from tests.server.storage.test_journal import resumed
from tests.server.tables.absence.test_bots import play_to_the_end
from tests.server.thinking.brains import Waiting, cheating, ending, hanging, raising, steady
from tests.server.thinking.test_processes import thinkers


@contextlib.asynccontextmanager
async def served(brain: Choose, **limits: float) -> AsyncIterator[Running]:
    """Run a server whose bots of level `slow` think in processes, with as many as they like."""
    brains: dict[str, Brain] = {"quick": at_random, "slow": InProcess(brain)}
    allowed = Limits(stand_in_seconds=0, bots_cpu=1.0, **limits)  # type: ignore[arg-type]
    config = Config(brains=brains, stand_in=InProcess(brain), seed=1, limits=allowed, timers=ManualClock)
    async with running(config) as server:
        yield server


async def play_rounds(host: Peer, rounds: int) -> None:
    """Have the host and a bot move in turn."""
    chooser = random.Random(1)
    for _ in range(rounds):
        await host.done(host.random_move(chooser))
        while host.legal is None:
            await host.news()


async def test_a_process_is_started_with_the_first_move_and_ends_with_the_server() -> None:
    """A bot that needs none plays without; all of a game is played with one."""
    async with served(steady) as server:
        async with game(server.port, 2, bots={1: "quick"}) as (host,):
            await play_rounds(host, 2)
            assert not thinkers()
        async with game(server.port, 2, bots={1: "slow"}) as peers:
            await play_to_the_end(peers)
            check_views(table_of(server, peers), peers)
            assert len(thinkers()) == 1
    assert not thinkers()


@pytest.mark.parametrize("brain", [raising, cheating, lambda *_: None])
async def test_a_bot_whose_brain_fails_moves_all_the_same(
    brain: Choose, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says so once, and nothing of what the brain knew."""
    async with served(brain) as server, game(server.port, 2, bots={1: "slow"}) as (host,):
        await play_rounds(host, 2)
    told = [each for each in caplog.records if each.name.startswith("server.tables.absence")]
    assert [each.levelno for each in told] == [logging.WARNING]
    assert describe(told[0]).startswith("a bot failed and a simpler one moves for it: reason=")
    assert not re.search(r"[A-Z][mfs]\*?", describe(told[0]).partition(":")[2])


@pytest.mark.parametrize(("brain", "seconds"), [(hanging, 0.6), (ending, 60.0)])
async def test_a_bot_whose_process_is_lost_moves_all_the_same(brain: Choose, seconds: float) -> None:
    """Nobody waits for it for long, and no process is left."""
    async with (
        served(brain, bots_seconds=seconds) as server,
        game(server.port, 2, bots={1: "slow"}) as (host,),
    ):
        await play_rounds(host, 1)
        await eventually(lambda: not thinkers())


async def test_a_bot_that_thinks_delays_no_other_table(tmp_path: Path) -> None:
    """Neither people nor quick bots; and when it has thought, it moves."""
    brain = Waiting(tmp_path)
    async with served(brain) as server, game(server.port, 2, bots={1: "slow"}) as (host,):
        await host.done(host.random_move(random.Random(1)))
        await eventually(lambda: bool(brain.thinkers()))
        async with game(server.port, 2, bots={1: "quick"}) as others:
            await play_to_the_end(others)
        assert len(brain.thinkers()) == 1
        brain.go_on()
        while host.legal is None:
            await host.news()


async def test_bots_of_levels_that_are_no_longer_offered_play_as_ever(tmp_path: Path) -> None:
    """Those of a journal from before; nobody seats new ones."""
    with_former = Config(data=tmp_path, seed=1, timers=ManualClock, limits=Limits(stand_in_seconds=0))
    async with (
        running(replace(with_former, brains={"greedy": steady})) as server,
        game(server.port, 2, bots={1: "greedy"}) as (host,),
    ):
        await play_rounds(host, 1)
    asked: list[Seat] = []

    def as_ever(view: View, legal: Legal, rng: random.Random) -> Command:
        asked.append(legal.seat)
        return at_random(view, legal, rng)

    now = replace(with_former, brains={"new": steady}, former_brains={"greedy": as_ever})
    async with running(now) as server, resumed(server.port, host) as (back,):
        assert (await back.refused(SeatBot(back.next_id(), "greedy"))).code == Code.ALREADY_STARTED
        await play_to_the_end([back])
        assert set(asked) == {1}


async def test_a_server_that_is_killed_leaves_no_process() -> None:
    """Not even while these think, for seconds."""
    async with (
        serving("--memory", "--bots-cpu", "2") as server,
        game(server.port, 3, bots={1: "consul", 2: "consul"}) as (host,),
    ):
        process = psutil.Process(server.process.pid)
        assert not process.children()
        await host.done(host.random_move(random.Random(1)))
        await eventually(lambda: len(process.children()) > 0)
        thinking = process.children()
        process.kill()
        await eventually(lambda: not any(map(lives, thinking)))


def lives(process: psutil.Process) -> bool:
    """Tell whether the process has not ended; a zombie has."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
