"""Players who are away or slow: what each policy does about them, over real sockets and restarts."""

import asyncio
import contextlib
import logging
import random
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client.bots.brains import at_random
from engine.events import Command, LayTile, Place
from engine.game import Game, RandomChance
from engine.legal import Legal, LegalLays
from engine.pieces import Piece, Seat, Wolf
from engine.view import View
from protocol.absence import WAIT, Absence, ByBot, ByVote, GameClock, MoveClock
from protocol.codec import encode
from protocol.codes import CloseCode, Code
from protocol.messages import (
    Done,
    Events,
    Leave,
    ListTables,
    Ping,
    PlacePiece,
    Pong,
    Refused,
    Say,
    SeatSummary,
    Snapshot,
    StartGame,
    Sync,
    Tables,
    TableState,
    Vote,
)
from server.app import Running, running
from server.config import Choose, Config, Limits
from server.errors import JournalError
from server.net.session import Session
from server.storage.entries import (
    Entry,
    GivenToBot,
    Kept,
    Opened,
    Played,
    Returned,
    StoodIn,
    Taken,
    Voted,
    entry_of,
    entry_text,
)
from server.tables.absence.internal_messages import InternalMessage, Scheduler
from server.tables.absence.policy import ActingPolicy, WaitingPolicy, votes_needed
from server.tables.absence.stand_in import StandIn
from server.tables.context import RETRY_SECONDS
from server.tables.state.clocks import Clocks
from server.tables.state.persistent_state import PersistentState
from tests.games import begun
from tests.server.manual_clock import ManualClock
from tests.server.peer import (
    TIMEOUT,
    Peer,
    all_caught_up,
    check_views,
    connected,
    eventually,
    full_table,
    game,
    peer_on_turn,
    play_on,
    queued_requests,
    table_of,
)
from tests.server.process import serving
from tests.server.storage.test_journal import resumed

seat_numbers = st.integers(0, 3)

LONG_PAUSE = 3600.0


@contextlib.asynccontextmanager
async def served(
    data: Path | None = None,
    stand_in: Choose = at_random,
    *,
    pause: float = 0.0,
    time: ManualClock | None = None,
) -> AsyncIterator[Running]:
    """Run a server on a clock that only the test advances."""
    limits, clock = Limits(stand_in_seconds=pause), time or ManualClock()
    async with running(Config(data=data, stand_in=stand_in, limits=limits, timers=lambda: clock)) as server:
        yield server


async def state_where(peer: Peer, condition: Callable[[TableState], bool]) -> TableState:
    """Return the next state of the table that meets the condition."""
    while not condition(state := await peer.until(TableState)):
        pass
    return state


def held_by_bot(seat: int) -> Callable[[TableState], bool]:
    return lambda state: state.seats[seat].bot


async def play_with_stand_in(peers: Sequence[Peer], chooser: random.Random) -> list[Events]:
    """Play to the end with the stand-in for all seats not among `peers`; return the events of its moves."""
    events_of_stand_in: list[Events] = []
    while peers[0].view is None or peers[0].view.result is None:
        if (mover := peer_on_turn(peers)) is not None:
            await mover.done(mover.random_move(chooser))
            await all_caught_up(peers, mover.seq)
        else:
            events = await peers[0].until(Events)
            events_of_stand_in.append(events)
            await all_caught_up(peers, peers[0].seq)
    return events_of_stand_in


def policy_of(server: Running, peers: Sequence[Peer]) -> ActingPolicy:
    policy = table_of(server, peers)._context.policy
    assert isinstance(policy, ActingPolicy)
    return policy


def table_game(server: Running, peers: Sequence[Peer]) -> Game:
    game = table_of(server, peers).state.game
    assert game is not None
    return game


async def disconnect(peer: Peer, among: Peer) -> TableState:
    """Break the peer's connection; return the state in which `among` sees it."""
    seat = peer.seat
    assert seat is not None
    await peer.socket.close()
    return await state_where(among, lambda state: not state.seats[seat].here)


def encode_key(name: str) -> bytes:
    """Return a key as encoded in a msgpack map."""
    return bytes([0xA0 | len(name)]) + name.encode()


# -- waiting --------------------------------------------------------------------------------------


async def test_a_table_with_the_waiting_policy_sends_nothing_of_policies() -> None:
    """Neither the policy nor a clock is sent, nor anything about absent players."""
    async with served() as server, game(server.port, 2) as peers:
        await play_on(peers, random.Random(1), moves=3)
        assert isinstance(table_of(server, peers)._context.policy, WaitingPolicy)
        await disconnect(peers[1], peers[0])
        keys = [encode_key(name) for name in ("absence", "clock", "by", "bot", "seconds_left", "votes")]
        assert not [key for key in keys for frame in peers[0].frames if key in frame]


async def test_the_policy_is_shown_and_kept(tmp_path: Path) -> None:
    """It is part of the table's state, of the list and of the journal; `wait` is not sent."""
    for policy in (WAIT, MoveClock(60), GameClock(1800), ByVote(0), ByBot(86400)):
        data = tmp_path / policy.__struct_config__.tag  # type: ignore[operator]
        async with served(data) as server, full_table(server.port, 2, absence=policy) as peers:
            table = table_of(server, peers)
            assert peers[0].received[-1].absence == policy  # type: ignore[union-attr]
        async with served(data) as server, connected(server.port) as late:
            tables = await late.ask(ListTables(late.next_id()))
            assert isinstance(tables, Tables)
            assert [line.absence for line in tables.tables] == [policy]
            assert (b"absence" in encode(tables)) == (policy != WAIT)
            assert server.lobby.tables[table.code].state.absence == policy


def test_a_journal_without_policies_can_be_read() -> None:
    """Missing entries mean the waiting policy and no time used."""
    assert entry_of('{"t":"opened","players":2,"random_layout":true,"starting":null}') == Opened(
        2, True, None
    )
    played = entry_of('{"t":"played","seat":0,"move":{"t":"start","id":7},"events":[]}')
    assert played == Played(0, StartGame(7), [])
    taken: list[Taken | Kept] = [Taken(0, "Anna", "hash"), Kept(0, "Anna", "hash")]
    for entry in taken:
        assert "program" not in entry_text(entry)
        assert entry_of(entry_text(entry)) == entry
        assert not entry.program


# -- a bot for absent players ---------------------------------------------------------------------


async def test_a_bot_plays_for_an_absent_player(tmp_path: Path) -> None:
    """Everybody sees that it holds the seat, its moves are marked, and the game is played to the end."""
    async with (
        served(tmp_path) as server,
        game(server.port, 3, watched=True, absence=ByBot(0), random_layout=False) as peers,
    ):
        await play_on(peers, random.Random(1), moves=7)
        state = await disconnect(peers[1], peers[0])
        if not state.seats[1].bot:
            state = await state_where(peers[0], held_by_bot(1))
        assert state.seats[1] == SeatSummary("Player 1", here=False, bot=True)
        rest = [peers[0], peers[2], peers[3]]
        bot_moves = await play_with_stand_in(rest, random.Random(2))
        assert {events.by for events in bot_moves} == {"bot"}
        assert {content["seat"] for events in bot_moves for content in events.events[:1]} == {1}
        check_views(table_of(server, peers), rest)
        assert not any(seat.bot for seat in (await peers[0].until(TableState)).seats)
    async with served(tmp_path) as server:
        assert server.lobby.tables[peers[0].code].state.stage == "over"


async def test_the_time_until_a_bot_takes_over_is_sent() -> None:
    """Each state has the time left; it starts again whenever the player returns."""
    async with served() as server, game(server.port, 2, absence=ByBot(600)) as peers:
        state = await disconnect(peers[1], peers[0])
        assert state.seats[1].seconds_left == 600
        assert not state.seats[1].bot
        async with connected(server.port) as again:
            await again.resume(peers[1].code, peers[1].token)
            state = await state_where(peers[0], lambda state: state.seats[1].here)
            assert state.seats[1] == SeatSummary("Player 1", here=True)
            await again.done(Leave(again.next_id()))
            state = await state_where(peers[0], lambda state: not state.seats[1].here)
            assert state.seats[1].seconds_left == 600


async def test_a_player_who_returns_takes_the_seat_back_from_a_thinking_bot() -> None:
    """If the player returns during the bot's pause, the player moves and the bot does not."""
    async with served(pause=LONG_PAUSE) as server, game(server.port, 2, absence=ByBot(0)) as peers:
        await disconnect(peers[0], peers[1])
        await eventually(lambda: policy_of(server, peers)._substitute_move is not None)
        async with connected(server.port) as again:
            await again.resume(peers[0].code, peers[0].token)
            assert isinstance(await again.news(), Snapshot)
            assert again.legal is not None
            assert policy_of(server, peers)._substitute_move is None
            await again.done(again.random_move(random.Random(1)))
            events = await peers[1].until(Events)
            assert events.by is None
            assert table_of(server, peers).state.bot_seats == set()


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
        await state_where(peers[0], held_by_bot(1))


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
        assert state.seats[1] == SeatSummary("Player 1", bot=True)
        assert state.seats[2].seconds_left == 600
        async with resumed(server.port, peers[1]):
            assert server.lobby.tables[anna.code].state.bot_seats == set()


async def test_a_killed_server_keeps_the_seats_of_bots(tmp_path: Path) -> None:
    """Its stand-in goes on playing for absent players as soon as one player is back."""
    async with serving("--data", str(tmp_path)) as server, game(server.port, 2, absence=ByBot(0)) as peers:
        anna, bruno = peers
        await play_on(peers, random.Random(1), moves=3)
        await bruno.done(Leave(bruno.next_id()))
        await state_where(anna, held_by_bot(1))
        server.process.kill()
        await anna.closed()
    async with serving("--data", str(tmp_path)) as server, resumed(server.port, anna) as (anna,):
        assert anna.seq in {6, 7}  # the stand-in may have been as quick as the kill
        if anna.legal is None:
            assert (await anna.until(Events)).by == "bot"
        await anna.done(anna.random_move(random.Random(2)))
        assert (await anna.until(Events)).by == "bot"


async def test_a_killed_server_keeps_the_clocks(tmp_path: Path) -> None:
    """They are exact for waiting players; the interrupted turn begins anew."""
    async with (
        serving("--data", str(tmp_path)) as server,
        game(server.port, 3, absence=GameClock(600)) as peers,
    ):
        await play_on(peers, random.Random(1), moves=4)
        anna, bruno, carla = peers
        await carla.done(Leave(carla.next_id()))
        state = await state_where(anna, lambda state: not state.seats[2].here)
        clocks = [seat.clock or 0 for seat in state.seats]
        assert all(590_000 < clock <= 600_000 for clock in clocks)
        server.process.kill()
        await anna.closed()
    async with serving("--data", str(tmp_path)) as server, resumed(server.port, anna, bruno) as (anna, bruno):
        state = await state_where(anna, lambda state: state.seats[1].here)
        again = [seat.clock or 0 for seat in state.seats]
        assert anna.view is not None
        assert anna.view.turn == 1
        assert (again[0], again[2]) == (clocks[0], clocks[2])
        assert 590_000 < again[1] <= 600_000


async def test_giving_a_seat_to_a_bot_is_retried(tmp_path: Path) -> None:
    """When the journal fails, the server tries again later."""
    time = ManualClock()
    async with served(tmp_path, time=time) as server, game(server.port, 2, absence=ByBot(0)) as peers:
        table = table_of(server, peers)
        journal = table._context.journal
        append, failures = journal.append, iter(range(3))

        async def failing(code: str, first: int, entries: Sequence[Entry]) -> None:
            if next(failures, None) is not None:
                raise JournalError("the disk is full")
            await append(code, first, entries)

        journal.append = failing  # type: ignore[method-assign]
        await disconnect(peers[1], peers[0])

        def given_after_retry() -> bool:
            time.advance(RETRY_SECONDS)
            return table.state.bot_seats == {1}

        await eventually(given_after_retry)
        await state_where(peers[0], held_by_bot(1))
        assert next(failures, None) is None


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
                pass
            for _ in range(5):
                await peers[0].done(Sync(peers[0].next_id()))  # what is due by now has had its turn
                while not attempts.empty():
                    attempts.get_nowait()
                time.advance(RETRY_SECONDS)
                assert await attempts.get() == 3
                await peers[0].done(Sync(peers[0].next_id()))
                assert attempts.empty()
        time.advance(RETRY_SECONDS)
        await state_where(peers[0], held_by_bot(3))
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


# -- votes ----------------------------------------------------------------------------------------


def vote(peer: Peer, seat: int, *, agree: bool = True) -> Vote:
    return Vote(peer.next_id(), seat, agree)


def tally(state: TableState, seat: int) -> tuple[list[int], int]:
    return state.seats[seat].votes, state.seats[seat].votes_needed


async def test_more_than_half_of_the_others_replace_an_absent_player(tmp_path: Path) -> None:
    """Votes are shown and may be withdrawn, only present players vote, and the player may return."""
    async with (
        served(tmp_path) as server,
        game(server.port, 4, watched=True, absence=ByVote(0)) as peers,
    ):
        anna, bruno, carla, dario, viewer = peers
        await disconnect(dario, anna)
        state = await state_where(anna, lambda state: state.seats[3].seconds_left == 0)
        assert tally(state, 3) == ([], 2)
        await anna.done(vote(anna, 3))
        assert tally(await state_where(viewer, lambda state: bool(state.seats[3].votes)), 3) == ([0], 2)
        await anna.done(vote(anna, 3, agree=False))
        assert tally(await state_where(viewer, lambda state: not state.seats[3].votes), 3) == ([], 2)
        await carla.done(vote(carla, 3))
        await carla.done(vote(carla, 3))  # once is enough, and twice no more
        assert not table_of(server, peers).state.bot_seats
        await bruno.done(vote(bruno, 3))
        await state_where(viewer, held_by_bot(3))
        await anna.done(vote(anna, 3))  # as good as done
        assert (await anna.refused(vote(anna, 3, agree=False))).code == Code.BOT_PLAYS_ALREADY
        async with connected(server.port) as again:
            await again.resume(dario.code, dario.token)
            state = await state_where(viewer, lambda state: state.seats[3].here)
            assert state.seats[3] == SeatSummary("Player 3", here=True)
            assert table_of(server, peers).state.votes == {}


async def test_votes_count_while_their_voters_are_present(tmp_path: Path) -> None:
    """An absent player is not asked and has no vote, also after a restart."""
    async with served(tmp_path) as server, game(server.port, 4, absence=ByVote(0)) as peers:
        anna, bruno, carla, dario = peers
        await disconnect(dario, anna)
        await state_where(anna, lambda state: state.seats[3].seconds_left == 0)
        await bruno.done(vote(bruno, 3))
        state = await disconnect(bruno, anna)
        assert tally(state, 3) == ([], 2)
        await carla.done(vote(carla, 3))
    async with served(tmp_path) as server, resumed(server.port, anna, carla) as (anna, carla):
        await eventually(lambda: {1, 3} <= policy_of(server, [anna])._overdue)
        assert server.lobby.tables[anna.code].state.votes == {3: {1, 2}}
        await anna.socket.close()
        await state_where(carla, held_by_bot(3))
        assert server.lobby.tables[anna.code].state.bot_seats == {3}


async def test_a_stopping_server_gives_no_seat_to_bots(tmp_path: Path) -> None:
    """Players it disconnects have not left: no bot replaces them, and one vote does not become a majority."""
    async with contextlib.AsyncExitStack() as clients:
        async with served(tmp_path) as server:
            peers = await clients.enter_async_context(game(server.port, 4, absence=ByVote(0)))
            others = await clients.enter_async_context(game(server.port, 5, absence=ByBot(0)))
            await disconnect(peers[3], peers[0])
            await state_where(peers[0], lambda state: state.seats[3].seconds_left == 0)
            await peers[2].done(vote(peers[2], 3))
        for peer in (*peers[:3], *others):
            assert (await peer.closed())[0] == CloseCode.GOING_AWAY
    async with served(tmp_path) as server:
        tables = server.lobby.tables
        assert tables[peers[0].code].state.votes == {3: {2}}
        assert tables[peers[0].code].state.bot_seats == tables[others[0].code].state.bot_seats == set()


async def test_nothing_falls_due_at_a_table_opened_while_the_server_stops() -> None:
    time = ManualClock()
    async with served(time=time) as server:
        server.lobby.stop_timers()
        async with game(server.port, 3, absence=ByBot(0)) as peers:
            table = table_of(server, peers)
            await disconnect(peers[1], peers[0])
            await peers[0].done(Sync(peers[0].next_id()))
            assert table.state.bot_seats == set()
        time.advance(10**6)
        assert server.lobby.tables == {table.code: table}


async def test_nothing_falls_due_after_the_server_has_stopped() -> None:
    """No timer fires, though the program and its clock go on."""
    time = ManualClock()
    async with contextlib.AsyncExitStack() as clients:
        async with served(time=time) as server:
            await clients.enter_async_context(full_table(server.port, 3))
            for policy in (WAIT, ByBot(600), ByVote(600), MoveClock(60), GameClock(600)):
                await clients.enter_async_context(game(server.port, 3, programs={1}, absence=policy))
        time.advance(10**6)


async def test_an_invalid_vote_is_refused() -> None:
    """On present players, oneself or no seat; too early, by spectators, without votes, or before the game."""
    async with (
        served() as server,
        game(server.port, 3, watched=True, absence=ByVote(600)) as peers,
        full_table(server.port, 2, absence=ByVote(0)) as waiting,
        game(server.port, 2, absence=ByBot(600)) as others,
        game(server.port, 2) as without_policy,
    ):
        await disconnect(peers[2], peers[0])
        await disconnect(waiting[1], waiting[0])
        await disconnect(others[1], others[0])
        await disconnect(without_policy[1], without_policy[0])

        async def code(peer: Peer, seat: int) -> str:
            return (await peer.refused(vote(peer, seat))).code

        assert [await code(peers[0], seat) for seat in range(5)] == [
            Code.NOT_AWAY,
            Code.NOT_AWAY,
            Code.TOO_EARLY,
            Code.NOT_AWAY,
            Code.NOT_AWAY,
        ]
        assert await code(peers[3], 2) == Code.NOT_A_PLAYER
        for peer in (waiting[0], others[0], without_policy[0]):
            assert await code(peer, 1) == Code.NO_VOTE
        assert not table_of(server, peers).state.votes


steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["comes", "goes", "is overdue"]), seat_numbers),
        st.tuples(st.sampled_from(["agrees on", "no longer agrees on"]), seat_numbers, seat_numbers),
    ),
    max_size=30,
)


async def fail_if_due(message: InternalMessage) -> None:
    pytest.fail(f"{message} is due within a test that takes no time")


@settings(max_examples=60)
@given(steps, st.sets(seat_numbers))
def test_any_sequence_of_absences_and_votes(
    steps: list[tuple[str, int, int] | tuple[str, int]], programs: set[int]
) -> None:
    """A bot gets a seat if and only if its player is overdue and more than half of the people present agree.

    Programs neither vote nor are voted on.
    """

    async def check() -> None:
        entries: list[Entry] = [Opened(4, True, 0, ByVote(600))]
        entries += [Taken(seat, f"Player {seat}", "", seat in programs) for seat in range(4)]
        state = PersistentState(entries, RandomChance(random.Random(1)))
        state.fold_move(Played(0, StartGame(1), []), begun(state.options, 1).events)
        here: dict[Seat, Session] = {}
        tasks = asyncio.TaskGroup()
        stand_in = StandIn(Config(stand_in=at_random), tasks)
        scheduler = Scheduler(asyncio.get_running_loop(), tasks, fail_if_due)
        policy = ActingPolicy(state, here, stand_in, scheduler)
        overdue: set[int] = set()
        for what, number, *on in steps:
            seat = Seat(number)
            match what:
                case "comes":
                    here[seat] = cast("Session", object())
                    overdue.discard(seat)
                    state.fold(Returned(seat))
                    policy.player_came(seat)
                case "goes":
                    here.pop(seat, None)
                    policy.player_went(seat)
                case "is overdue":
                    policy.mark_overdue(seat)
                    overdue |= {seat} - here.keys() - programs
                case _:
                    state.fold(Voted(on[0], seat, what == "agrees on"))
            due = [
                each
                for each in sorted(overdue - state.bot_seats)
                if 2 * len(state.votes.get(Seat(each), set()) & here.keys() - programs)
                > len(here.keys() - programs)
            ]
            assert policy.seats_for_bots() == due
            for each in due:
                state.fold(GivenToBot(each))
            assert not policy.seats_for_bots()
        policy.stop_timers()
        stand_in.close()

    asyncio.run(check())


@given(st.integers(0, 5))
def test_a_vote_needs_more_than_half(voters: int) -> None:
    needed = votes_needed(voters)
    assert 2 * needed > voters >= 2 * (needed - 1)


# -- clocks ---------------------------------------------------------------------------------------


async def test_the_stand_in_moves_when_the_move_clock_runs_out() -> None:
    """Each turn has its own time, and a slow player keeps the seat."""
    time = ManualClock()
    async with (
        served(pause=LONG_PAUSE, time=time) as server,
        game(server.port, 2, absence=MoveClock(5)) as peers,
    ):
        time.advance(4.999)
        assert policy_of(server, peers)._substitute_move is None
        time.advance(0.001)
        await eventually(lambda: policy_of(server, peers)._substitute_move is not None)
        assert (await peers[0].refused(peers[0].random_move(random.Random(1)))).code == Code.TIME_UP
        assert (await peers[1].refused(PlacePiece(peers[1].next_id(), "Em", "A1"))).code == "not-your-turn"
    async with served(time=time) as server, game(server.port, 2, absence=MoveClock(5)) as peers:
        moves = []
        for _ in range(6):
            time.advance(5)
            moves.append(await peers[0].until(Events))
        assert {events.by for events in moves} == {"clock"}
        assert [events.turn for events in moves] == [1, 0] * 3
        assert {events.clock for events in moves} == {5000}
        assert all(events.legal is not None for events in moves[1::2])
        await peers[1].done(Leave(peers[1].next_id()))
        state = await state_where(peers[0], lambda state: not state.seats[1].here)
        assert state.seats[1] == SeatSummary("Player 1")


async def test_everybody_is_told_when_a_game_clock_has_run_out() -> None:
    """From then on the stand-in plays for that seat, though its player is here."""
    time = ManualClock()
    async with served(time=time) as server, game(server.port, 2, absence=GameClock(30)) as peers:
        time.advance(30)
        for peer in peers:
            state = await state_where(peer, lambda state: state.seats[0].bot)
            assert [(seat.bot, seat.here) for seat in state.seats] == [(True, True), (False, True)]
            assert state == table_of(server, peers).as_seen()


async def test_the_clock_is_read_when_a_move_is_handled() -> None:
    """A move is too late if its time ran out while it was queued at the table."""
    time = ManualClock()
    async with (
        served(pause=LONG_PAUSE, time=time) as server,
        game(server.port, 2, absence=MoveClock(5)) as peers,
    ):
        table, move = table_of(server, peers), peers[0].random_move(random.Random(1))
        async with table._lock:
            await peers[0].send(move)
            await eventually(lambda: queued_requests(table) == 1)
            time.advance(5)
        refused = await peers[0].until(Refused)
        assert (refused.id, refused.code) == (move.id, Code.TIME_UP)


async def test_timers_are_handled_before_queued_requests() -> None:
    """Spectators who sync when an absent player's time is up do not delay the bot."""
    time = ManualClock()
    async with (
        served(pause=LONG_PAUSE, time=time) as server,
        game(server.port, 2, watched=True, absence=ByBot(60)) as peers,
        contextlib.AsyncExitStack() as stack,
    ):
        table, spectator = table_of(server, peers), peers[2]
        crowd = [await stack.enter_async_context(connected(server.port)) for _ in range(20)]
        for newcomer in crowd:
            await newcomer.watch(peers[0].code)
        await disconnect(peers[1], spectator)
        async with table._lock:
            asked = [Sync(peer.next_id(), 0) for peer in (*crowd, spectator)]
            for peer, sync in zip((*crowd, spectator), asked, strict=True):
                await peer.send(sync)
            await eventually(lambda: queued_requests(table) == len(asked))
            time.advance(60)
            await eventually(lambda: queued_requests(table) > len(asked))
        state = await spectator.until(TableState)
        while not state.seats[1].bot:
            assert not any(isinstance(message, Done) for message in spectator.received), (
                "a request was handled first"
            )
            state = await spectator.until(TableState)
        await spectator.until(Done)


async def test_a_move_in_time_starts_the_next_clock() -> None:
    """Moves and snapshots carry the time left, and the stand-in makes no move."""
    time = ManualClock()
    async with (
        served(time=time) as server,
        game(server.port, 2, watched=True, absence=MoveClock(600)) as peers,
    ):
        await play_on(peers, random.Random(1), moves=4)
        moves = [events for events in peers[2].received if isinstance(events, Events)]
        assert len(moves) >= 5
        assert all(events.by is None for events in moves)
        assert {events.clock for events in moves} == {600_000}
        time.advance(60)
        async with connected(server.port) as late:
            await late.watch(peers[0].code)
            snapshot = await late.news()
            assert snapshot.clock == 540_000


async def test_players_whose_game_clocks_have_run_out_may_watch() -> None:
    """The stand-in moves for them to the end, and they are sent no legal moves."""
    time = ManualClock()
    async with served(time=time) as server, game(server.port, 2, absence=GameClock(30)) as peers:
        moves = []
        while peers[0].view is None or peers[0].view.result is None:
            time.advance(30)
            moves.append(await peers[0].until(Events))
        await all_caught_up(peers, peers[0].seq)
        assert {events.by for events in moves} == {"clock"}
        assert moves[0].clock == 30_000
        assert {events.clock for events in moves[2:-1]} == {0}
        assert all(events.legal is None for events in moves[2:])
        check_views(table_of(server, peers), peers)


async def test_used_time_survives_a_restart(tmp_path: Path) -> None:
    """Completed moves are charged; the time in between and the interrupted turn are not."""
    time = ManualClock()
    async with (
        served(tmp_path, time=time) as server,
        game(server.port, 2, absence=GameClock(600)) as peers,
    ):
        for seconds in (1.0, 10.0, 2.0, 20.0, 0.5, 0.25):
            time.advance(seconds)
            await play_on(peers, random.Random(1), moves=1)
        clocks = table_of(server, peers).state.clocks
        left = [clocks.left(Seat(seat)) for seat in (0, 1)]
        assert left == [596_500, 569_750]
        time.advance(100)
        await peers[0].done(Leave(peers[0].next_id()))
        state = await state_where(peers[1], lambda state: not state.seats[0].here)
        assert [seat.clock for seat in state.seats][1] == left[1]
    async with served(tmp_path) as server, resumed(server.port, *peers) as again:
        clocks = table_of(server, again).state.clocks
        assert [clocks.left(Seat(seat)) for seat in (0, 1)] == left
        assert policy_of(server, again).time_left() == left[0]


async def test_a_move_while_the_server_stops_is_charged_like_any_other() -> None:
    """Nothing falls due any more, but nobody gets time for nothing, and the clock is told."""
    time = ManualClock()
    async with served(time=time) as server, game(server.port, 2, absence=GameClock(60)) as peers:
        time.advance(20)
        server.lobby.stop_timers()
        await play_on(peers, random.Random(1), moves=1)
        news = next(each for each in reversed(peers[1].received) if isinstance(each, Events))
        assert news.clock == 60_000
        assert table_of(server, peers).state.clocks.left(Seat(0)) == 40_000
        time.advance(60)
        refused = await peers[1].refused(peers[1].random_move(random.Random(1)))
        assert refused.code == Code.TIME_UP


@given(st.integers(30, 600), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 200_000))))
def test_a_game_clock_runs_down_seat_by_seat(seconds: int, turns: list[tuple[int, int]]) -> None:
    """A seat's time left is its allowance less its used time, and never negative."""
    clocks = Clocks(GameClock(seconds), 4)
    used = [0] * 4
    for number, taken in turns:
        seat = Seat(number)
        allowance = clocks.allowance(seat)
        assert allowance is not None
        clocks.charge(seat, min(taken, allowance))
        used[seat] += taken
    for seat in map(Seat, range(4)):
        assert clocks.left(seat) == max(0, 1000 * seconds - used[seat])
        assert clocks.used_up(seat) == (used[seat] >= 1000 * seconds)


@given(st.sampled_from([WAIT, ByVote(0), ByBot(0), MoveClock(7)]), st.integers(0, 10**9))
def test_other_policies_have_no_game_clock(policy: Absence, taken: int) -> None:
    clocks = Clocks(policy, 2)
    clocks.charge(Seat(0), taken)
    assert clocks.left(Seat(0)) is None
    assert not clocks.used_up(Seat(0))
    assert clocks.allowance(Seat(0)) == (7000 if policy == MoveClock(7) else None)


# -- programs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [WAIT, MoveClock(600), GameClock(1800), ByVote(600), ByBot(600)])
async def test_a_bot_plays_at_once_for_an_absent_program(policy: Absence) -> None:
    """Under every policy it visibly holds the seat until the program is back."""
    async with (
        served() as server,
        game(server.port, 2, programs={1}, absence=policy) as peers,
    ):
        anna, program = peers
        await play_on(peers, random.Random(1), moves=1)
        assert (await disconnect(program, anna)).seats[1].bot
        for _ in range(2):
            assert (await anna.until(Events)).by == "bot"
            await anna.done(anna.random_move(random.Random(1)))
        async with resumed(server.port, program) as (again,):
            state = await state_where(anna, lambda state: state.seats[1].here)
            assert not state.seats[1].bot
            await again.caught_up(len(table_game(server, peers).events))
            await play_on([anna, again], random.Random(2))
            check_views(table_of(server, peers), [anna, again])


async def test_a_program_that_returns_takes_the_seat_back_from_a_thinking_bot() -> None:
    """Its move clock ran on meanwhile, and still ends the turn."""
    time = ManualClock()
    async with (
        served(pause=LONG_PAUSE, time=time) as server,
        game(server.port, 2, programs={0}, absence=MoveClock(600)) as peers,
    ):
        policy = policy_of(server, peers)
        await disconnect(peers[0], peers[1])
        assert policy._substitute_move is not None
        time.advance(200)
        assert policy.time_left() == 400_000
        async with resumed(server.port, peers[0]) as (again,):
            assert policy._substitute_move is None
            time.advance(400)
            await eventually(lambda: policy._substitute_move is not None)
            assert (await again.refused(again.random_move(random.Random(1)))).code == Code.TIME_UP


async def test_a_game_with_programs_is_played_to_the_end_after_a_restart(tmp_path: Path) -> None:
    """When its programs ended with the server, the game goes on as soon as a person returns."""
    async with served(tmp_path) as server, game(server.port, 3, programs={1, 2}) as peers:
        await play_on(peers, random.Random(1), moves=4)
        await disconnect(peers[0], peers[1])
    async with served(tmp_path) as server:
        assert policy_of(server, peers)._substitute_move is None
        assert len(table_game(server, peers).events) == peers[0].seq
        async with resumed(server.port, peers[0]) as (anna,):
            assert {events.by for events in await play_with_stand_in([anna], random.Random(2))} == {"bot"}
            check_views(table_of(server, peers), [anna])


async def test_programs_do_not_play_an_abandoned_game() -> None:
    """Without a person present no bot moves for a program; when one returns the game goes on."""
    async with served() as server, game(server.port, 3, programs={1, 2}) as peers:
        anna, *_ = peers
        await play_on(peers, random.Random(1), moves=1)
        await disconnect(anna, peers[1])
        await disconnect(peers[1], peers[2])
        await eventually(lambda: table_of(server, peers).players_here == 1)
        assert policy_of(server, peers)._substitute_move is None
        async with resumed(server.port, anna) as (anna,):
            assert (await anna.until(Events)).by == "bot"


async def test_a_game_of_programs_alone_goes_on() -> None:
    """When one of them leaves, the stand-in plays for it."""
    async with served() as server, game(server.port, 2, programs={0, 1}) as peers:
        await disconnect(peers[1], peers[0])
        await play_with_stand_in(peers[:1], random.Random(1))


async def test_programs_neither_vote_nor_are_voted_on(tmp_path: Path) -> None:
    """More than half of the people present is enough, also after a restart."""
    async with (
        served(tmp_path) as server,
        game(server.port, 4, programs={1, 2}, absence=ByVote(0)) as peers,
    ):
        anna, program, other, dario = peers
        await disconnect(dario, anna)
        state = await state_where(anna, lambda state: state.seats[3].seconds_left == 0)
        assert tally(state, 3) == ([], 1)
        assert (await program.refused(vote(program, 3))).code == Code.PROGRAMS_DO_NOT_VOTE
        await disconnect(other, anna)
        await anna.done(vote(anna, 2))  # as good as done
        assert (await anna.refused(vote(anna, 2, agree=False))).code == Code.BOT_PLAYS_ALREADY
        assert (await anna.refused(vote(anna, 1))).code == Code.NOT_AWAY
    async with served(tmp_path) as server, resumed(server.port, anna, program) as (anna, program):
        await eventually(lambda: 3 in policy_of(server, peers)._overdue)
        await anna.done(vote(anna, 3))
        assert table_of(server, peers).state.bot_seats == {3}
        await play_with_stand_in([anna, program], random.Random(1))


# -- the stand-in ---------------------------------------------------------------------------------


async def test_the_stand_in_sees_what_its_seat_sees() -> None:
    """It sees with its seat's eyes alone: no other hand, and others' wolves without their kind."""
    views: list[View] = []

    def recording_brain(view: View, legal: Legal, rng: random.Random) -> Command:
        views.append(view)
        return at_random(view, legal, rng)

    async with served(stand_in=recording_brain) as server, game(server.port, 3, absence=ByBot(0)) as peers:
        await disconnect(peers[2], peers[0])
        await play_with_stand_in(peers[:2], random.Random(1))
    assert len(views) == 12
    for view in views:
        assert view.eyes == {2}
        assert set(view.hands) == {2}
        others = [piece for field, piece in view.placed.items() if view.owners[field] != 2]
        assert not [piece for piece in others if isinstance(piece, Piece) and piece.wolf]
    assert any(isinstance(piece, Wolf) for piece in views[-1].placed.values())


def raising(_view: View, _legal: Legal, _rng: random.Random) -> Command:
    raise RuntimeError("Em* is in my hand")


def cheating(_view: View, legal: Legal, _rng: random.Random) -> Command:
    if isinstance(legal, LegalLays):
        return LayTile(legal.seat, 0, 9)
    return Place(Seat((legal.seat + 1) % 2), legal.pieces[0], legal.fields[0])


def returning_none(_view: View, _legal: Legal, _rng: random.Random) -> Command:
    return None  # type: ignore[return-value]


@pytest.mark.parametrize("brain", [raising, cheating, returning_none])
async def test_a_stand_in_that_fails_moves_at_random(caplog: pytest.LogCaptureFixture, brain: Choose) -> None:
    """The game is played to the end; one log line says so, without the failing brain's message."""
    caplog.set_level(logging.INFO)
    async with (
        served(stand_in=brain) as server,
        game(server.port, 2, absence=ByBot(0), random_layout=False) as peers,
    ):
        await disconnect(peers[1], peers[0])
        await play_with_stand_in(peers[:1], random.Random(1))
        check_views(table_of(server, peers), peers[:1])
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == 1
    assert "at random" in warnings[0].getMessage()
    assert "Em*" not in caplog.text


def held_brain() -> tuple[Choose, asyncio.Event, threading.Event]:
    """Return a brain that chooses when it may, what is set when it thinks, and what lets it choose."""
    thinks, may_move = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def brain(view: View, legal: Legal, rng: random.Random) -> Command:
        loop.call_soon_threadsafe(thinks.set)
        may_move.wait(TIMEOUT)
        return at_random(view, legal, rng)

    return brain, thinks, may_move


async def test_a_thinking_stand_in_delays_nobody() -> None:
    """While it thinks for one table, other tables play on."""
    slow_brain, thinks, may_move = held_brain()
    async with served(stand_in=slow_brain) as server, game(server.port, 2, absence=ByBot(0)) as peers:
        try:
            await disconnect(peers[0], peers[1])
            await thinks.wait()
            async with game(server.port, 2) as others:
                await play_on(others, random.Random(1), moves=2)
        finally:
            may_move.set()
        assert (await peers[1].until(Events)).by == "bot"


async def test_a_late_stand_in_does_not_show_when_it_has_chosen() -> None:
    """Several people see its move: it comes another drawn time after the choice."""
    slow_brain, thinks, may_move = held_brain()
    time = ManualClock()
    async with (
        served(stand_in=slow_brain, pause=1.0, time=time) as server,
        game(server.port, 3, absence=ByBot(0)) as peers,
    ):
        try:
            await disconnect(peers[0], peers[1])
            await thinks.wait()
            time.advance(4.0)  # as long as it may take at most
            await peers[1].done(Say(peers[1].next_id(), "Are you still there?"))
            policy = policy_of(server, peers)
            move = policy._substitute_move
            assert move is not None
        finally:
            may_move.set()
        await eventually(move.command.done)
        await peers[1].done(Say(peers[1].next_id(), "It has chosen."))
        time.advance(1.4)
        await peers[1].done(Say(peers[1].next_id(), "Nothing to be seen."))
        assert policy._substitute_move is move
        time.advance(4.0)
        assert (await peers[1].until(Events)).by == "bot"


async def test_a_stand_in_that_thinks_for_long_delays_no_player_at_its_table() -> None:
    """The others chat meanwhile, and a player who returns makes the move."""
    slow_brain, thinks, may_move = held_brain()
    time = ManualClock()
    async with (
        served(stand_in=slow_brain, pause=1.0, time=time) as server,
        game(server.port, 2, absence=ByBot(0)) as peers,
    ):
        try:
            await disconnect(peers[0], peers[1])
            await thinks.wait()
            time.advance(1.0)
            await peers[1].done(Say(peers[1].next_id(), "Are you still there?"))
            async with resumed(server.port, peers[0]) as (again,):
                await again.done(again.random_move(random.Random(1)))
                assert (await peers[1].until(Events)).by is None
                await peers[1].done(peers[1].random_move(random.Random(2)))
                assert (await again.until(Events)).by is None
        finally:
            may_move.set()
        await eventually(lambda: policy_of(server, peers)._substitute_move is not None)
        time.advance(1.0)
        assert (await peers[1].until(Events)).by == "bot"
