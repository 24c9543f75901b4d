"""What becomes of notices when a game goes on after a pause."""

import time
from pathlib import Path

import pytest

from protocol import messages
from protocol.absence import MoveClock
from server.app import running
from tests.server.manual_clock import BEGUN
from tests.server.peer import eventually
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
    """After a pause until a moment: even who was called for this turn before, and who is not on turn."""
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
                assert f"the game at table {here.code} goes on" in await called.receiver.next()
            await eventually(lambda: notices(server, here).resumed == {0: 1, 1: 1})
        async with running(called.config) as server, resumed(server.port, here) as (here,):
            await nobody_is_called(called, here, 2 * HOUR)
