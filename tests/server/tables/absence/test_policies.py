"""Players who are away: the seats that bots get, over real sockets and restarts."""

import asyncio
import contextlib
import logging
import random
import re
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from client.bots.brains import at_random
from engine.events import Command
from engine.legal import Legal
from engine.view import View
from protocol.absence import WAIT, Absence, ByBot, ByVote, GameClock, MoveClock
from protocol.codes import Code
from protocol.messages import Events, Ping, Pong, Say, SeatSummary, Snapshot, Sync, TableState
from server.config import Choose
from server.errors import JournalError
from server.storage.entries import Entry, StoodIn
from server.tables.absence.deadlines import RETRY_SECONDS
from tests.server.manual_clock import ManualClock
from tests.server.peer import TIMEOUT, Peer, check_views, connected, eventually, game, play_on, table_of
from tests.server.storage.test_journal import resumed
from tests.server.tables.hosted import (
    disconnect,
    game_of,
    held_by_bot,
    next_state_where,
    play_to_the_end,
    policy_of,
    served,
    tally,
    vote,
)
from tests.server.thinking.brains import cheating, raising


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
        bot_moves = await play_to_the_end(rest, seed=2)
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
            assert [each.stood_in for each in again.told(Events)] == [numbers]


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


async def test_retries_do_not_multiply(tmp_path: Path) -> None:
    """While the journal fails, one attempt a second is made for all the seats that are due together."""
    time = ManualClock()
    async with served(tmp_path, time=time) as server, game(server.port, 4, absence=ByBot(0)) as peers:
        table = table_of(server, peers)
        journal, attempts = table._context.lobby.journal, asyncio.Queue[int]()

        async def failing(_code: str, _first: int, entries: Sequence[Entry], *_ended: object) -> None:
            attempts.put_nowait(len(entries))
            raise JournalError("the disk is full")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(journal, "append", failing)
            for peer in peers[1:]:
                await disconnect(peer, peers[0])
            while await attempts.get() < 3:
                assert not table.state.bot_seats, "nothing changes before it is stored"
            for _ in range(5):
                await peers[0].done(Sync)  # what is due by now has had its turn
                while not attempts.empty():
                    attempts.get_nowait()
                time.advance(RETRY_SECONDS)
                assert await attempts.get() == 3
                await peers[0].done(Sync)
                assert attempts.empty()
        time.advance(RETRY_SECONDS)
        await next_state_where(peers[0], held_by_bot(3))
        assert table.state.bot_seats == {1, 2, 3}


async def test_a_stand_in_waits_until_the_journal_can_be_written(tmp_path: Path) -> None:
    """A move that cannot be stored is not sent; it is made once it can be stored."""
    async with served(tmp_path) as server, game(server.port, 2, absence=ByBot(0)) as peers:
        journal, tried = table_of(server, peers)._context.lobby.journal, asyncio.Event()
        append = journal.append

        async def failing(code: str, first: int, entries: Sequence[Entry], *ended: int | None) -> None:
            if isinstance(entries[0], StoodIn):
                tried.set()
                raise JournalError("the disk is full")
            await append(code, first, entries, *ended)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(journal, "append", failing)
            await disconnect(peers[0], peers[1])
            await tried.wait()
            await peers[1].send(Ping(7))
            while not isinstance(message := await peers[1].receive(), Pong):
                assert isinstance(message, TableState)
        assert (await peers[1].until(Events)).by == "bot"
        check_views(table_of(server, peers), peers[1:])


@pytest.mark.parametrize("policy", [WAIT, MoveClock(600), GameClock(1800), ByVote(600), ByBot(600)])
async def test_a_bot_plays_at_once_for_an_absent_program(policy: Absence) -> None:
    """Under every policy it visibly holds the seat until the program is back."""
    async with served() as server, game(server.port, 2, programs={1}, absence=policy) as peers:
        anna, program = peers
        await play_on(peers, random.Random(1), moves=1)
        assert (await disconnect(program, anna)).seats[1].bot
        for _ in range(2):
            assert (await anna.until(Events)).by == "bot"
            await anna.done(anna.random_move(random.Random(1)))
        async with resumed(server.port, program) as (again,):
            state = await next_state_where(anna, lambda state: state.seats[1].here)
            assert not state.seats[1].bot
            await again.caught_up(len(game_of(server, peers).events))
            await play_on([anna, again], random.Random(2), moves=3)
            check_views(table_of(server, peers), [anna, again])


async def test_programs_do_not_play_an_abandoned_game() -> None:
    """Without a person present no bot moves for a program; when one returns the game goes on."""
    async with served() as server, game(server.port, 3, programs={1, 2}) as peers:
        anna, *_ = peers
        await play_on(peers, random.Random(1), moves=1)
        await disconnect(anna, peers[1])
        await disconnect(peers[1], peers[2])
        await eventually(lambda: len(table_of(server, peers).audience.seated) == 1)
        assert policy_of(server, peers)._substitute_move is None
        async with resumed(server.port, anna) as (anna,):
            assert (await anna.until(Events)).by == "bot"


async def test_a_game_of_programs_alone_goes_on() -> None:
    """When one of them leaves, the stand-in plays for it."""
    async with served() as server, game(server.port, 2, programs={0, 1}) as peers:
        await disconnect(peers[1], peers[0])
        await play_to_the_end(peers[:1])


async def test_programs_neither_vote_nor_are_voted_on(tmp_path: Path) -> None:
    """More than half of the people present is enough, also after a restart."""
    async with served(tmp_path) as server, game(server.port, 4, programs={1, 2}, absence=ByVote(0)) as peers:
        anna, program, other, dario = peers
        await disconnect(dario, anna)
        state = await next_state_where(anna, lambda state: state.seats[3].seconds_left == 0)
        assert tally(state, 3) == ([], 1)
        assert await program.refusal(vote(program, 3)) == Code.PROGRAMS_DO_NOT_VOTE
        await disconnect(other, anna)
        await anna.done(vote(anna, 2))  # as good as done
        assert await anna.refusal(vote(anna, 2, agree=False)) == Code.BOT_PLAYS_ALREADY
        assert await anna.refusal(vote(anna, 1)) == Code.NOT_AWAY
    async with served(tmp_path) as server, resumed(server.port, anna, program) as (anna, program):
        await eventually(lambda: 3 in policy_of(server, peers)._overdue)
        await anna.done(vote(anna, 3))
        assert table_of(server, peers).state.bot_seats == {3}
        await play_to_the_end([anna, program])


@pytest.mark.parametrize("brain", [raising, cheating])
async def test_a_stand_in_that_fails_moves_at_random(caplog: pytest.LogCaptureFixture, brain: Choose) -> None:
    """The game is played to the end; one log line says so, without the failing brain's message."""
    caplog.set_level(logging.INFO)
    async with served(stand_in=brain) as server, game(server.port, 2, absence=ByBot(0)) as peers:
        await disconnect(peers[1], peers[0])
        await play_to_the_end(peers[:1])
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
            await peers[1].done(Say, "Are you still there?")
            policy = policy_of(server, peers)
            move = policy._substitute_move
            assert move is not None
        await eventually(move.command.done)
        await peers[1].done(Say, "It has chosen.")
        time.advance(1.4)
        await peers[1].done(Say, "Nothing to be seen.")
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
            await peers[1].done(Say, "Are you still there?")
            async with resumed(server.port, peers[0]) as (again,):
                await again.done(again.random_move(random.Random(1)))
                assert (await peers[1].until(Events)).by is None
                await peers[1].done(peers[1].random_move(random.Random(2)))
                assert (await again.until(Events)).by is None
        await eventually(lambda: policy_of(server, peers)._substitute_move is not None)
        time.advance(1.0)
        assert (await peers[1].until(Events)).by == "bot"
