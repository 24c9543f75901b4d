"""What becomes of notices during holidays."""

import time

import pytest

from protocol.absence import MoveClock
from server.app import running
from tests.server.manual_clock import BEGUN
from tests.server.peer import eventually
from tests.server.tables.calling import GRACE, HOUR, away_on_turn, called_by_url, nobody_is_called
from tests.server.tables.rooms.test_holidays import holiday


async def test_who_is_on_holiday_is_called_when_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    async with called_by_url() as called, running(called.config) as server:
        clock = called.clock
        monkeypatch.setattr(time, "time", lambda: BEGUN + clock.time())
        async with away_on_turn(server, called, MoveClock(12 * HOUR), last=holiday) as (_away, here):
            await nobody_is_called(called, here, 7 * 24 * HOUR - 1)
            clock.advance(1)
            await eventually(lambda: not server.lobby.tables[here.code].state.stopped)
            clock.advance(GRACE)
            assert "your turn" in await called.receiver.next()
