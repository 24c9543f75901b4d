"""What becomes of notices when holidays begin, also at the end of a pause."""

import time
from pathlib import Path

import pytest

from protocol import messages
from protocol.absence import MoveClock
from server.app import running
from tests.server.manual_clock import BEGUN
from tests.server.peer import eventually
from tests.server.storage.test_journal import resumed
from tests.server.tables.calling import GRACE, HOUR, away_on_turn, called_by_url, nobody_is_called
from tests.server.tables.hosted import disconnect


@pytest.mark.parametrize("paused", [False, True])
async def test_a_holiday_that_begins_as_a_notice_arrives_brings_no_second_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, paused: bool
) -> None:
    """Whether of the turn or of the end of a pause, and even if the server is restarted in the meantime."""
    async with called_by_url(tmp_path) as called:
        clock, receiver = called.clock, called.receiver
        monkeypatch.setattr(time, "time", lambda: BEGUN + clock.time())
        async with (
            running(called.config) as server,
            away_on_turn(server, called, MoveClock(12 * HOUR)) as (away, here),
        ):
            left = away
            if paused:
                await here.done(messages.AskPause, on=True, until=int(time.time()) + HOUR)
                async with resumed(server.port, left) as (left,):
                    await left.done(messages.AskPause, on=True)
                await disconnect(left, here)
                clock.advance(HOUR)
                await eventually(lambda: server.lobby.tables[here.code].state.paused is None)
            receiver.may_answer.clear()
            clock.advance(GRACE)
            await receiver.next()
            async with resumed(server.port, left) as (left,):
                await left.done(messages.TakeHoliday, on=True)
            await disconnect(left, here)
            receiver.may_answer.set()
            await eventually(lambda: not server.lobby.tables[away.code]._context.post.is_busy)
        async with running(called.config) as server, resumed(server.port, here) as (here,):
            clock.advance(7 * 24 * HOUR)
            await eventually(lambda: not server.lobby.tables[away.code].state.stopped)
            if paused:
                clock.advance(GRACE)
                assert "your turn" in await receiver.next()
            else:
                await nobody_is_called(called, here, GRACE)
    keys = [line for head in receiver.heads for line in head.splitlines() if "Idemp" in line]
    assert len(keys) == len(set(keys))
