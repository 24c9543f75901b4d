"""The stand-in: what it sees, when it fails, and when it thinks for long."""

import asyncio
import contextlib
import logging
import random
import re
import threading
from collections.abc import AsyncIterator, Sequence

import pytest

from client.bots.brains import at_random
from engine.events import Command
from engine.legal import Legal
from engine.view import View
from protocol.absence import ByBot
from protocol.messages import Events, Say
from server.config import Choose
from tests.server.manual_clock import ManualClock
from tests.server.peer import TIMEOUT, Peer, check_views, eventually, game, table_of
from tests.server.storage.test_journal import resumed
from tests.server.tables.absence.absent import disconnect, play_with_stand_in, policy_of, served
from tests.server.thinking.brains import cheating, raising


@pytest.mark.parametrize("brain", [raising, cheating, lambda *_: None])
async def test_a_stand_in_that_fails_moves_at_random(caplog: pytest.LogCaptureFixture, brain: Choose) -> None:
    """The game is played to the end; one log line says so, without the failing brain's message."""
    caplog.set_level(logging.INFO)
    async with served(stand_in=brain) as server, game(server.port, 2, absence=ByBot(0)) as peers:
        await disconnect(peers[1], peers[0])
        await play_with_stand_in(peers[:1], random.Random(1))
        check_views(table_of(server, peers), peers[:1])
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == 1
    assert "at random" in warnings[0].getMessage()
    assert not re.search(r"[A-Z][mfs]\*", caplog.text)


def held_brain() -> tuple[Choose, asyncio.Event, threading.Event]:
    """Return a brain that chooses when it may, what is set when it thinks, and what lets it choose."""
    thinks, may_move = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def brain(view: View, legal: Legal, rng: random.Random) -> Command:
        loop.call_soon_threadsafe(thinks.set)
        may_move.wait(TIMEOUT)
        return at_random(view, legal, rng)

    return brain, thinks, may_move


@contextlib.asynccontextmanager
async def thinking_for(
    peers: Sequence[Peer], thinks: asyncio.Event, may_move: threading.Event
) -> AsyncIterator[None]:
    """Have the first of them disconnect, and a held brain think for it until the context ends."""
    try:
        await disconnect(peers[0], peers[1])
        await thinks.wait()
        yield
    finally:
        may_move.set()


async def test_a_late_stand_in_does_not_show_when_it_has_chosen() -> None:
    """Several people see its move: it comes another drawn time after the choice."""
    slow_brain, thinks, may_move = held_brain()
    time = ManualClock()
    async with (
        served(stand_in=slow_brain, pause=1.0, time=time) as server,
        game(server.port, 3, absence=ByBot(0)) as peers,
    ):
        async with thinking_for(peers, thinks, may_move):
            time.advance(4.0)  # as long as it may take at most
            await peers[1].done(Say(peers[1].next_id(), "Are you still there?"))
            policy = policy_of(server, peers)
            move = policy._substitute_move
            assert move is not None
        await eventually(move.command.done)
        await peers[1].done(Say(peers[1].next_id(), "It has chosen."))
        time.advance(1.4)
        await peers[1].done(Say(peers[1].next_id(), "Nothing to be seen."))
        assert policy._substitute_move is move
        time.advance(4.0)
        assert (await peers[1].until(Events)).by == "bot"


async def test_a_stand_in_that_thinks_for_long_delays_no_player_at_its_table() -> None:
    """The others chat in the meantime, and a player who returns makes the move."""
    slow_brain, thinks, may_move = held_brain()
    time = ManualClock()
    async with (
        served(stand_in=slow_brain, pause=1.0, time=time) as server,
        game(server.port, 2, absence=ByBot(0)) as peers,
    ):
        async with thinking_for(peers, thinks, may_move):
            time.advance(1.0)
            await peers[1].done(Say(peers[1].next_id(), "Are you still there?"))
            async with resumed(server.port, peers[0]) as (again,):
                await again.done(again.random_move(random.Random(1)))
                assert (await peers[1].until(Events)).by is None
                await peers[1].done(peers[1].random_move(random.Random(2)))
                assert (await again.until(Events)).by is None
        await eventually(lambda: policy_of(server, peers)._substitute_move is not None)
        time.advance(1.0)
        assert (await peers[1].until(Events)).by == "bot"
