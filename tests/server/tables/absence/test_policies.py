"""Players who are away: the seats that bots get, over real sockets and restarts."""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.pieces import Seat
from protocol.absence import ByBot
from protocol.messages import Events, Leave, Ping, Pong, SeatSummary, Snapshot, StartGame, Sync, TableState
from server.errors import JournalError
from server.storage.entries import Entry, StoodIn
from server.tables.context import RETRY_SECONDS
from tests.server.manual_clock import ManualClock
from tests.server.peer import check_views, connected, eventually, full_table, game, play_on, table_of
from tests.server.storage.test_journal import resumed
from tests.server.tables.absence.absent import disconnect, held_by_bot, play_with_stand_in, policy_of, served
from tests.server.tables.states import next_state_where


async def test_a_bot_plays_for_an_absent_player(tmp_path: Path) -> None:
    """Everybody sees that it holds the seat, its moves are marked, and the game is played to the end."""
    async with (
        served(tmp_path) as server,
        game(server.port, 3, watched=True, absence=ByBot(0), random_layout=False) as peers,
    ):
        await play_on(peers, random.Random(1), moves=7)
        state = await disconnect(peers[1], peers[0])
        if not state.seats[1].bot:
            state = await next_state_where(peers[0], held_by_bot(1))
        assert state.seats[1] == SeatSummary("Player 1", here=False, bot=True, removable_in=60)
        rest = [peers[0], peers[2], peers[3]]
        bot_moves = await play_with_stand_in(rest, random.Random(2))
        assert {events.by for events in bot_moves} == {"bot"}
        assert {content["seat"] for events in bot_moves for content in events.events[:1]} == {1}
        check_views(table_of(server, peers), rest)
        assert not any(seat.bot for seat in (await peers[0].until(TableState)).seats)
    async with served(tmp_path) as server, connected(server.port) as late:
        assert server.lobby.tables[peers[0].code].state.stage == "over"
        numbers = [events.seq for events in bot_moves]
        await late.watch(peers[0].code)
        assert (await late.until(Snapshot)).stood_in == numbers
        async with resumed(server.port, peers[1]) as (again,):
            assert [each.stood_in for each in again.received if isinstance(each, Events)] == [numbers]


async def test_bots_do_not_play_among_themselves() -> None:
    """With only spectators present the game stops; it goes on with the first player to return."""
    async with served() as server, game(server.port, 2, watched=True, absence=ByBot(0)) as peers:
        table = table_of(server, peers)
        await disconnect(peers[1], peers[2])
        await disconnect(peers[0], peers[2])
        await eventually(lambda: table.state.bot_seats == {0, 1})
        assert policy_of(server, peers)._substitute_move is None
        async with connected(server.port) as again:
            await again.resume(peers[1].code, peers[1].token)
            assert (await peers[2].until(Events)).by == "bot"


async def test_a_player_absent_at_the_start_is_replaced() -> None:
    async with served() as server, full_table(server.port, 2, absence=ByBot(0)) as peers:
        await disconnect(peers[1], peers[0])
        await peers[0].done(StartGame(peers[0].next_id()))
        await next_state_where(peers[0], held_by_bot(1))


async def test_a_restart_keeps_the_seats_of_bots(tmp_path: Path) -> None:
    """A bot keeps its seat, and newly absent players get the full time again."""
    async with served(tmp_path) as server, game(server.port, 3, absence=ByBot(600)) as peers:
        await disconnect(peers[1], peers[0])
        table = table_of(server, peers)
        policy_of(server, peers).mark_overdue(Seat(1))
        await table._context.give_seats_to_bots()
        assert table.state.bot_seats == {1}
    async with served(tmp_path) as server, resumed(server.port, peers[0]) as (anna,):
        assert server.lobby.tables[anna.code].state.bot_seats == {1}
        state = await anna.ask(Leave(anna.next_id()))
        await anna.resume(anna.code, anna.token, anna.seq)
        state = await anna.until(TableState)
        assert state.seats[1] == SeatSummary("Player 1", bot=True, removable_in=60)
        assert state.seats[2].seconds_left == 600
        async with resumed(server.port, peers[1]):
            assert server.lobby.tables[anna.code].state.bot_seats == set()


async def test_retries_do_not_multiply(tmp_path: Path) -> None:
    """While the journal fails, one attempt a second is made for all the seats that are due together."""
    time = ManualClock()
    async with served(tmp_path, time=time) as server, game(server.port, 4, absence=ByBot(0)) as peers:
        table = table_of(server, peers)
        journal, attempts = table._context.journal, asyncio.Queue[int]()

        async def failing(_code: str, _first: int, entries: Sequence[Entry]) -> None:
            attempts.put_nowait(len(entries))
            raise JournalError("the disk is full")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(journal, "append", failing)
            for peer in peers[1:]:
                await disconnect(peer, peers[0])
            while await attempts.get() < 3:
                assert not table.state.bot_seats, "nothing changes before it is stored"
            for _ in range(5):
                await peers[0].done(Sync(peers[0].next_id()))  # what is due by now has had its turn
                while not attempts.empty():
                    attempts.get_nowait()
                time.advance(RETRY_SECONDS)
                assert await attempts.get() == 3
                await peers[0].done(Sync(peers[0].next_id()))
                assert attempts.empty()
        time.advance(RETRY_SECONDS)
        await next_state_where(peers[0], held_by_bot(3))
        assert table.state.bot_seats == {1, 2, 3}


async def test_a_stand_in_waits_until_the_journal_can_be_written(tmp_path: Path) -> None:
    """A move that cannot be stored is not sent; it is made once it can be stored."""
    async with served(tmp_path) as server, game(server.port, 2, absence=ByBot(0)) as peers:
        table = table_of(server, peers)
        journal, tried = table._context.journal, asyncio.Event()
        append = journal.append

        async def failing(code: str, first: int, entries: Sequence[Entry]) -> None:
            if isinstance(entries[0], StoodIn):
                tried.set()
                raise JournalError("the disk is full")
            await append(code, first, entries)

        journal.append = failing  # type: ignore[method-assign]
        await disconnect(peers[0], peers[1])
        await tried.wait()
        await peers[1].send(Ping(7))
        while not isinstance(message := await peers[1].receive(), Pong):
            assert isinstance(message, TableState)
        journal.append = append  # type: ignore[method-assign]
        assert (await peers[1].until(Events)).by == "bot"
        check_views(table, peers[1:])
