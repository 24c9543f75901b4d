"""Holidays in correspondence games: clocks, days and ends."""

import random
from pathlib import Path

import pytest

from protocol.absence import WAIT, MoveClock
from protocol.codes import Code
from protocol.messages import BesideMoves, Events, Leave, Resume, Seated, TableState, TakeHoliday
from protocol.settings import Holidays
from server.app import running
from server.config import Config
from server.storage.entries import EndedByHost
from tests.server.manual_clock import BEGUN, DAY, clock_of_day
from tests.server.peer import Peer, connected, eventually, state_where
from tests.server.playing import changed, game, happen, play_on, table_of
from tests.server.storage.test_journal import resumed
from tests.server.tables.hosted import served
from tests.server.tables.test_answers import repeated

LETTERS = MoveClock(DAY)


async def holiday(peer: Peer, *, on: bool = True) -> None:
    await peer.done(TakeHoliday, on)


def days_left(state: TableState, seat: int) -> int:
    return state.seats[seat].holidays


async def test_the_clock_stands_on_a_holiday(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = clock_of_day(monkeypatch)
    async with (
        served(tmp_path, clock) as server,
        game(server.port, 2, absence=LETTERS, watched=True) as peers,
    ):
        clock.advance(3600)
        await holiday(peers[0])
        await holiday(peers[0])
        for peer in peers:
            state = await state_where(peer, lambda state: state.seats[0].holiday_until is not None)
            assert state.seats[0].holiday_until == BEGUN + 3600 + 7 * DAY
            assert (state.holidays, days_left(state, 0), days_left(state, 1)) == (7, 7, 7)
        await peers[0].done(Leave)
        state = await state_where(peers[1], lambda state: not state.seats[0].here)
        assert state.seats[0].removable_in == 8 * DAY
        clock.advance(3 * DAY)
    async with served(tmp_path, clock) as server:
        table = server.lobby.tables[peers[0].code]
        clock.advance(4 * DAY - 1)
        assert table.state.stopped == (0,)
        clock.advance(1)
        await eventually(lambda: not table.state.stopped)
        async with resumed(server.port, *peers[:2]) as again:
            news = again[0].told(Events)[-1]
            assert news.clock == 1000 * (DAY - 3600)
            assert await again[0].refusal(TakeHoliday, on=True) == Code.NO_HOLIDAYS
            clock.advance(DAY - 3600 + 1)
            while again[1].view is None or again[1].view.turn != 1:
                await again[1].news()  # the stand-in moves: the time is up


async def test_a_holiday_ends_with_a_move_or_when_its_player_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Days that have begun count; it begins before one's turn, too, and a plan ends it like any move."""
    clock = clock_of_day(monkeypatch)
    async with served(time=clock) as server, game(server.port, 2, absence=LETTERS) as peers:
        await holiday(peers[1])
        clock.advance(DAY // 2)
        await holiday(peers[1], on=False)
        state = await state_where(peers[0], lambda state: days_left(state, 1) == 6)
        assert state.seats[1].holiday_until is None
        await holiday(peers[1], on=False)
        await holiday(peers[1])
        await play_on(peers, random.Random(1), moves=1)
        news = peers[1].told(Events)[-1]
        assert news.clock == 1000 * DAY
        clock.advance(2 * DAY + 60)
        await play_on(peers, random.Random(1), moves=1)
        state = await state_where(peers[0], lambda state: days_left(state, 1) == 3)
        assert state.seats[1].holiday_until is None


async def test_the_host_sets_the_days_and_games_without_days_have_none() -> None:
    async with served() as server, game(server.port, 2, absence=LETTERS) as peers:
        await changed(server, peers[0], Holidays(0))
        await state_where(peers[1], lambda state: state.holidays == 0)
        assert await peers[1].refusal(TakeHoliday, on=True) == Code.NO_HOLIDAYS
        await changed(server, peers[0], Holidays(2))
        await holiday(peers[1])
    async with served() as server, game(server.port, 2, absence=WAIT) as peers:
        assert await peers[1].refusal(TakeHoliday, on=True) == Code.NO_HOLIDAYS


async def test_a_holiday_stays_when_a_player_gets_a_new_token() -> None:
    async with served() as server, game(server.port, 2, absence=LETTERS) as peers:
        await holiday(peers[1])
        async with connected(server.port) as again:
            await again.answer(Seated, Resume, peers[0].code, peers[1].token, new_token="N" * 43)
            assert table_of(server, peers).state.stopped == (1,)


async def test_after_the_game_no_holiday_is_waited_for() -> None:
    """Nothing ends it then: it would fall due again at once, for ever."""
    async with served() as server, game(server.port, 2, absence=LETTERS) as peers:
        await holiday(peers[1])
        context = table_of(server, peers)._context
        assert context.room_due
        await happen(server, peers[0], EndedByHost())
        assert not context.room_due


async def test_no_holiday_is_taken_twice(tmp_path: Path) -> None:
    """A request that comes again after a restart, because its answer was lost, does nothing."""
    config = Config(data=tmp_path)
    async with running(config) as server, game(server.port, 2, absence=LETTERS) as peers:
        asked: list[tuple[Peer, BesideMoves]] = [
            (peers[0], TakeHoliday(peers[0].next_id(), on)) for on in (True, False)
        ]
        for peer, request in asked:
            await peer.done(request)
    await repeated(config, peers, asked)
