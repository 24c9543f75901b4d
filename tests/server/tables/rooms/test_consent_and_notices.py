"""What becomes of notices when a game goes on after a pause."""

import random
import time
from pathlib import Path

import pytest

from protocol import messages
from protocol.absence import MoveClock
from server.app import running
from tests.server.manual_clock import BEGUN
from tests.server.peer import eventually
from tests.server.playing import game, peer_on_turn, table_of
from tests.server.storage.test_journal import resumed
from tests.server.tables.calling import (
    GRACE,
    HOUR,
    away_on_turn,
    called_by_url,
    leave_address,
    nobody_is_called,
)
from tests.server.tables.hosted import disconnect
from tests.server.tables.rooms.test_notices import knows_of_the_turn, notices


async def test_all_are_called_once_when_a_game_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a pause until a moment: even those who were called for this turn before, and the others."""
    async with called_by_url(tmp_path) as called:
        clock = called.clock
        monkeypatch.setattr(time, "time", lambda: BEGUN + clock.time())
        async with (
            running(called.config) as server,
            away_on_turn(server, called, MoveClock(12 * HOUR)) as (away, here),
        ):
            clock.advance(GRACE)
            assert "your turn" in await called.receiver.next()
            await eventually(lambda: knows_of_the_turn(server, away))
            await leave_address(here, called)
            until = int(time.time()) + 10 * HOUR
            await here.done(messages.AskPause, on=True, until=until)
            async with resumed(server.port, away) as (back,):
                await back.done(messages.AskPause, on=True)
            await disconnect(back, here)
        async with running(called.config) as server, resumed(server.port, here) as (here,):
            await nobody_is_called(called, here, 10 * HOUR - 1)
        async with running(called.config) as server:
            clock.advance(1)
            await eventually(lambda: server.lobby.tables[here.code].state.paused is None)
            clock.advance(GRACE)
            for _ in range(2):
                assert f"the game at table {here.code} continues" in await called.receiver.next()
            await eventually(lambda: notices(server, here).resumed == {0: 1, 1: 1})
        async with running(called.config) as server, resumed(server.port, here) as (here,):
            await nobody_is_called(called, here, 2 * HOUR)


async def test_a_turn_that_begins_while_a_notice_is_under_way_has_one_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The notice that the game goes on was written before it."""
    async with called_by_url() as called:
        clock, receiver = called.clock, called.receiver
        monkeypatch.setattr(time, "time", lambda: BEGUN + clock.time())
        async with (
            running(called.config) as server,
            game(server.port, 2, absence=MoveClock(12 * HOUR)) as peers,
        ):
            here = peer_on_turn(peers)
            assert here is not None
            away = peers[1 - peers.index(here)]
            await leave_address(away, called)
            for each in peers:
                await each.done(messages.AskPause, on=True, until=int(time.time()) + HOUR)
            await disconnect(away, here)
            clock.advance(HOUR)
            await eventually(lambda: table_of(server, peers).state.paused is None)
            receiver.may_answer.clear()
            clock.advance(GRACE)
            assert "continues" in await receiver.next()
            await here.done(messages.Sync, 0)
            assert here.legal is not None
            while here.legal is not None:
                await here.done(here.random_move(random.Random(1)))
            receiver.may_answer.set()
            await eventually(lambda: not table_of(server, peers)._context.post.is_busy)
            await here.done(messages.Sync, 0)  # what has followed is done
            clock.advance(GRACE)
            assert "your turn" in await receiver.next()
