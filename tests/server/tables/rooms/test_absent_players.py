"""Players who are away: the seats that bots get, and votes on them."""

import asyncio
import contextlib
import logging
import random
import re
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from unittest.mock import AsyncMock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.bots.brains import at_random
from engine.events import Command
from engine.game import RandomChance
from engine.legal import Legal
from engine.pieces import Seat
from engine.view import View
from protocol.absence import WAIT, Absence, ByBot, ByVote, GameClock, MoveClock
from protocol.bot_pace import LEAST_SECONDS, MOST_SECONDS
from protocol.codes import CloseCode, Code
from protocol.messages import (
    Events,
    Ping,
    Pong,
    Refused,
    SeatSummary,
    Snapshot,
    StartGame,
    Sync,
    TableState,
    Vote,
)
from protocol.settings import AbsenceSetting
from server.config import Choose, Config
from server.errors import JournalError
from server.monitoring.counts import Counts
from server.monitoring.failures import Tasks
from server.storage.entries import Entry, GivenToBot, Opened, Played, Returned, StoodIn, Taken, Voted
from server.tables.absence.deadlines import RETRY_SECONDS, Deadlines
from server.tables.absence.policy import AbsencePolicy
from server.tables.absence.stand_in import StandIn
from server.tables.feature import Moment
from server.tables.rooms.absent_players import AbsentPlayers
from server.tables.state.persistent_state import PersistentState
from server.tables.table import Table
from tests.games import begun, examples, played
from tests.server.manual_clock import ManualClock
from tests.server.peer import TIMEOUT, Peer, connected, eventually, next_state_where, state_where
from tests.server.playing import (
    changed,
    check_views,
    full_table,
    game,
    memory_server,
    play_on,
    removed,
    table_of,
)
from tests.server.storage.test_journal import resumed
from tests.server.tables.hosted import (
    disconnect,
    game_of,
    has_chosen,
    held_by_bot,
    play_to_the_end,
    policy_of,
    served,
    tally,
    vote,
)
from tests.server.thinking.brains import cheating, raising


async def test_a_bot_plays_for_an_absent_player(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(("absence", "programs"), [(ByBot(0), set()), (WAIT, {1, 2})])
async def test_bots_play_neither_among_themselves_nor_with_programs(
    absence: Absence, programs: set[int]
) -> None:
    """Without a person present the game stops, whoever watches; it goes on with the first one to return."""
    async with (
        served() as server,
        game(server.port, 3, watched=True, absence=absence, programs=programs) as peers,
    ):
        table = table_of(server, peers)
        await play_on(peers, random.Random(1), moves=1)
        for gone in (0, 1) if programs else (0, 2, 1):  # the one to move last
            await disconnect(peers[gone], peers[3])
        await eventually(lambda: len(table.audience.seated) == bool(programs))
        await eventually(lambda: table.state.bot_seats == (set() if programs else {0, 1, 2}))
        await peers[3].done(Sync, 0)  # what is due by now has had its turn
        assert policy_of(server, peers)._substitute_move is None
        assert len(game_of(server, peers).events) == peers[0].seq
        async with resumed(server.port, peers[0]):
            assert (await peers[3].until(Events)).by == "bot"


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


async def test_whoever_comes_back_plays_though_that_cannot_be_stored_yet() -> None:
    time = ManualClock()
    async with served(time=time) as server, game(server.port, 3, absence=ByBot(0)) as peers:
        table = table_of(server, peers)
        await disconnect(peers[1], peers[0])
        await next_state_where(peers[0], held_by_bot(1))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(table._context.lobby.journal, "append", AsyncMock(side_effect=JournalError("full")))
            async with resumed(server.port, peers[1]) as (back,):
                await next_state_where(peers[0], lambda state: not state.seats[1].bot)
                assert table.state.bot_seats == {1}, "nothing changes before it is stored"
                patch.undo()
                time.advance(RETRY_SECONDS)
                await eventually(lambda: not table.state.bot_seats)
                await back.done(Sync)


@contextlib.contextmanager
def no_move_of_the_stand_in_stored(table: Table) -> Iterator[asyncio.Event]:
    """Have the journal refuse what the stand-in does; yield an event that is set once it has."""
    journal, tried = table._context.lobby.journal, asyncio.Event()
    append = journal.append

    async def failing(code: str, first: int, entries: Sequence[Entry], *ended: int | None) -> None:
        if isinstance(entries[0], StoodIn):
            tried.set()
            raise JournalError("the disk is full")
        await append(code, first, entries, *ended)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "append", failing)
        yield tried


async def test_a_stand_in_waits_until_the_journal_can_be_written(tmp_path: Path) -> None:
    time = ManualClock()
    async with served(tmp_path, time=time) as server, game(server.port, 2, absence=ByBot(0)) as peers:
        with no_move_of_the_stand_in_stored(table_of(server, peers)) as tried:
            await disconnect(peers[0], peers[1])
            await tried.wait()
            await peers[1].send(Ping(7))
            while not isinstance(message := await peers[1].receive(), Pong):
                assert isinstance(message, TableState)
            await peers[1].done(Sync)  # what is due by now has had its turn
        time.advance(RETRY_SECONDS)
        assert (await peers[1].until(Events)).by == "bot"
        check_views(table_of(server, peers), peers[1:])


async def test_time_that_is_up_stays_so_until_the_stand_ins_move_can_be_stored(tmp_path: Path) -> None:
    time = ManualClock()
    async with served(tmp_path, time=time) as server, game(server.port, 2, absence=MoveClock(5)) as peers:
        with no_move_of_the_stand_in_stored(table_of(server, peers)) as tried:
            time.advance(5)
            await tried.wait()
            move = peers[0].random_move(random.Random(1))
            await peers[0].send(move)
            assert (await peers[0].until(Refused)).code == Code.TIME_UP
        time.advance(RETRY_SECONDS)
        moved = await peers[1].until(Events)
        assert (moved.by, moved.clock) == ("clock", 5000)


@pytest.mark.parametrize("policy", [WAIT, MoveClock(600), GameClock(1800), ByVote(600), ByBot(600)])
async def test_a_bot_plays_at_once_for_an_absent_program(policy: Absence) -> None:
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


async def test_a_bot_plays_for_an_absent_program_that_took_a_seat_over() -> None:
    """Though until it came nobody could be replaced, because the others only wait."""
    time = ManualClock()
    async with served(time=time) as server, game(server.port, 2) as peers, connected(server.port) as program:
        anna, bruno = peers
        await disconnect(bruno, anna)
        await state_where(anna, lambda state: state.seats[1].removable_in == 60)
        time.advance(60)
        await removed(server, anna, Seat(1))
        await program.join(anna.code, "Numa", program=True)
        await program.until(Snapshot)
        await play_on([anna, program], random.Random(1), moves=3)
        state = await disconnect(program, anna)
        assert state.seats[1].bot
        await play_to_the_end([anna])


async def test_a_game_of_programs_alone_goes_on() -> None:
    async with served() as server, game(server.port, 2, programs={0, 1}) as peers:
        await disconnect(peers[1], peers[0])
        await play_to_the_end(peers[:1])


async def test_programs_neither_vote_nor_are_voted_on(tmp_path: Path) -> None:
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
            time.advance(MOST_SECONDS)
            await peers[1].done(Sync, 0)
            policy = policy_of(server, peers)
            move = policy._substitute_move
            assert move is not None
        await eventually(move.command.done)
        await peers[1].done(Sync, 0)  # it has chosen
        time.advance(LEAST_SECONDS - 0.1)
        await peers[1].done(Sync, 0)  # nothing to be seen
        assert policy._substitute_move is move
        time.advance(MOST_SECONDS)
        assert (await peers[1].until(Events)).by == "bot"


async def test_a_stand_in_that_thinks_for_long_delays_no_player_at_its_table() -> None:
    slow_brain, thinks, may_move = held_brain()
    time = ManualClock()
    async with (
        served(stand_in=slow_brain, pause=1.0, time=time) as server,
        game(server.port, 2, absence=ByBot(0)) as peers,
    ):
        async with thinking_for(peers, thinks, may_move):
            time.advance(1.0)
            await peers[1].done(Sync, 0)
            async with resumed(server.port, peers[0]) as (again,):
                await again.done(again.random_move(random.Random(1)))
                assert (await peers[1].until(Events)).by is None
                await peers[1].done(peers[1].random_move(random.Random(2)))
                assert (await again.until(Events)).by is None
        await eventually(lambda: has_chosen(policy_of(server, peers)))
        time.advance(MOST_SECONDS)
        assert (await peers[1].until(Events)).by == "bot"


seat_numbers = st.integers(0, 3)


async def test_more_than_half_of_the_others_replace_an_absent_player(tmp_path: Path) -> None:
    """Votes are shown and may be withdrawn, only present players vote, and the player may return."""
    async with served(tmp_path) as server, game(server.port, 4, watched=True, absence=ByVote(0)) as peers:
        anna, bruno, carla, dario, viewer = peers
        await disconnect(dario, anna)
        state = await next_state_where(anna, lambda state: state.seats[3].seconds_left == 0)
        assert tally(state, 3) == ([], 2)
        await anna.done(vote(anna, 3))
        assert tally(await next_state_where(viewer, lambda state: bool(state.seats[3].votes)), 3) == ([0], 2)
        await anna.done(vote(anna, 3, agree=False))
        assert tally(await next_state_where(viewer, lambda state: not state.seats[3].votes), 3) == ([], 2)
        await carla.done(vote(carla, 3))
        await carla.done(vote(carla, 3))  # once is enough, and twice no more
        assert not table_of(server, peers).state.bot_seats
        await bruno.done(vote(bruno, 3))
        await next_state_where(viewer, held_by_bot(3))
        await anna.done(vote(anna, 3))  # as good as done
        assert await anna.refusal(vote(anna, 3, agree=False)) == Code.BOT_PLAYS_ALREADY
        async with connected(server.port) as again:
            await again.resume(dario.code, dario.token)
            state = await next_state_where(viewer, lambda state: state.seats[3].here)
            assert state.seats[3] == SeatSummary("Player 3", here=True)
            assert votes_at(table_of(server, peers).state).votes == {}


async def test_a_stopping_server_gives_no_seat_to_bots(tmp_path: Path) -> None:
    """Players it disconnects have not left: no bot replaces them, and one vote does not become a majority."""
    async with contextlib.AsyncExitStack() as clients:
        async with served(tmp_path) as server:
            peers = await clients.enter_async_context(game(server.port, 4, absence=ByVote(0)))
            others = await clients.enter_async_context(game(server.port, 5, absence=ByBot(0)))
            await disconnect(peers[3], peers[0])
            await next_state_where(peers[0], lambda state: state.seats[3].seconds_left == 0)
            await peers[2].done(vote(peers[2], 3))
        for peer in (*peers[:3], *others):
            assert (await peer.closed())[0] == CloseCode.GOING_AWAY
    async with served(tmp_path) as server:
        tables = server.lobby.tables
        assert votes_at(tables[peers[0].code].state).votes == {3: {2}}
        assert tables[peers[0].code].state.bot_seats == tables[others[0].code].state.bot_seats == set()


async def test_nothing_falls_due_at_a_table_opened_while_the_server_stops() -> None:
    time = ManualClock()
    async with served(time=time) as server:
        server.lobby.stop()
        async with game(server.port, 3, absence=ByBot(0)) as peers:
            table = table_of(server, peers)
            await disconnect(peers[1], peers[0])
            await peers[0].done(Sync)
            assert table.state.bot_seats == set()
        time.advance(10**6)
        assert server.lobby.tables == {table.code: table}


async def test_an_invalid_vote_is_refused() -> None:
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

        codes = [await peers[0].refusal(vote(peers[0], seat)) for seat in range(5)]
        assert codes == [Code.TOO_EARLY if seat == 2 else Code.NOT_AWAY for seat in range(5)]
        assert await peers[3].refusal(vote(peers[3], 2)) == Code.NOT_A_PLAYER
        for peer in (waiting[0], others[0], without_policy[0]):
            assert await peer.refusal(vote(peer, 1)) == Code.NO_VOTE
        assert not votes_at(table_of(server, peers).state).votes


async def test_nothing_is_due_once_a_game_is_over() -> None:
    """The seat of a player who was away when it ended is not given to a bot later."""
    entries: list[Entry] = [Opened(2, True, 0, ByBot(600)), Taken(0, "Ann", ""), Taken(1, "Bob", "")]
    state = PersistentState(entries, RandomChance(random.Random(1)))
    whole, start = played(state.options, 1), begun(state.options, 1)
    state.fold_move(Played(0, StartGame(1), []), start.events)
    async with Tasks() as tasks:
        deadlines = Deadlines(asyncio.get_running_loop(), tasks, Counts(), AsyncMock(side_effect=pytest.fail))
        stand_in = StandIn(Config(stand_in=at_random), tasks)
        policy = AbsencePolicy(state, {}, stand_in, deadlines)
        assert deadlines._running
        state.fold_move(Played(0, StartGame(2), []), whole.events[len(start.events) :])
        policy.turn_began()
        assert not deadlines._running
        stand_in.close()


def votes_at(state: PersistentState) -> AbsentPlayers:
    room = state.rooms[AbsentPlayers]
    assert isinstance(room, AbsentPlayers)
    return room


visits = st.tuples(st.sampled_from(["comes", "goes", "is overdue"]), seat_numbers)
votes = st.tuples(st.sampled_from(["agrees on", "no longer agrees on"]), seat_numbers, seat_numbers)
steps = st.lists(visits | votes, max_size=30)


@examples(10)
@given(steps, st.sets(seat_numbers))
def test_any_sequence_of_absences_and_votes(
    steps: list[tuple[str, int, int] | tuple[str, int]], programs: set[int]
) -> None:
    """A bot gets a seat if and only if its player is overdue and more than half of the people present agree.

    Programs neither vote nor are voted on.
    """

    entries: list[Entry] = [Opened(4, True, 0, ByVote(600))]
    entries += [Taken(seat, f"Player {seat}", "", seat in programs) for seat in range(4)]
    state = PersistentState(entries, RandomChance(random.Random(1)))
    state.fold_move(Played(0, StartGame(1), []), begun(state.options, 1).events)
    room = votes_at(state)
    seated, absent = set[Seat](), {Seat(seat): 600 for seat in range(4) if seat not in programs}
    for what, number, *on in steps:
        seat = Seat(number)
        match what:
            case "comes":
                seated.add(seat)
                absent.pop(seat, None)
                state.fold(Returned(seat))
            case "goes" if seat in seated:
                seated.remove(seat)
                if seat not in programs:
                    absent[seat] = 600
            case "is overdue" if seat in absent:
                absent[seat] = 0
            case "agrees on" | "no longer agrees on":
                state.fold(Voted(on[0], seat, what == "agrees on"))
        moment = Moment(seated=seated, people_here=lambda: seated - programs, absent=absent)
        overdue = {seat for seat, left in absent.items() if not left} - state.bot_seats
        agreed = {seat: room.votes.get(seat, set()) & moment.people_here() for seat in overdue}
        due = sorted(seat for seat, voters in agreed.items() if 2 * len(voters) > len(moment.people_here()))
        follows = room.follow(moment)
        assert [each.seat for each in follows if isinstance(each, GivenToBot)] == due
        for each in follows:
            assert isinstance(each, GivenToBot | Returned)
            state.fold(each)
        assert not room.follow(moment)


async def test_the_policy_changes_in_a_running_game() -> None:
    async with served() as server, game(server.port, 2) as peers:
        await disconnect(peers[1], peers[0])
        await changed(server, peers[0], AbsenceSetting(ByBot(0)))
        await play_to_the_end(peers[:1])


async def test_nobody_votes_on_a_bot_that_plays_for_a_removed_player() -> None:
    async with memory_server(stand_in_seconds=0) as server, game(server.port, 2, absence=ByVote(0)) as peers:
        assert await server.lobby.registry.table(peers[0].code).remove_player(Seat(0))
        assert (await peers[1].until(Events)).by == "bot"
        assert await peers[1].refusal(Vote, 0, agree=False) == Code.BOT_PLAYS_ALREADY
