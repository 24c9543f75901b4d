"""Slow players and their clocks; bots of the server: who seats them, and how they play."""

import contextlib
import logging
import random
import re
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from client.bots.brains import at_random
from engine.events import Command
from engine.game import Game, GameOptions
from engine.legal import Legal
from engine.pieces import Piece, Seat
from engine.redaction import snapshot
from engine.view import SPECTATOR, View
from protocol import messages
from protocol.absence import WAIT, Absence, GameClock, LongClock, MoveClock
from protocol.bot_names import PERSONS, level_of, person_of
from protocol.bot_pace import LEAST_SECONDS
from protocol.codes import Code
from protocol.messages import Done, Events, Leave, PlacePiece, Refused, SeatSummary, Sync, TableState
from server.app import Running, running
from server.config import Brain, Choose, Config, InProcess, Limits
from server.monitoring.logs import describe
from server.tables.absence.stand_in import Pace
from server.tables.clocks import Clocks
from tests.games import games, played, seeds
from tests.server.manual_clock import ManualClock
from tests.server.peer import Peer, all_connected, connected, eventually, next_state_where, state_where
from tests.server.playing import (
    all_caught_up,
    check_views,
    full_table,
    game,
    play_on,
    rearranged,
    removed,
    table_of,
)
from tests.server.process import serving
from tests.server.storage.test_journal import resumed
from tests.server.tables.hosted import (
    LONG_PAUSE,
    disconnect,
    play_to_the_end,
    policy_of,
    queued_requests,
    served,
)
from tests.server.thinking.brains import Waiting, hanging, raising, steady
from tests.server.thinking.test_processes import thinkers


async def test_the_stand_in_moves_when_the_move_clock_runs_out() -> None:
    time = ManualClock()
    async with (
        served(pause=LONG_PAUSE, time=time) as server,
        game(server.port, 2, absence=MoveClock(5)) as peers,
    ):
        time.advance(4.999)
        assert policy_of(server, peers)._substitute_move is None
        table, move = table_of(server, peers), peers[0].random_move(random.Random(1))
        await table._lock.acquire()
        await peers[0].send(move)
        await eventually(lambda: queued_requests(table) == 1)
        time.advance(0.001)
        table._lock.release()  # the clock is read when a move is handled
        refused = await peers[0].until(Refused)
        assert (refused.id, refused.code) == (move.id, Code.TIME_UP)
        await eventually(lambda: policy_of(server, peers)._substitute_move is not None)
        assert await peers[1].refusal(PlacePiece, "Em", "A1") == "not-your-turn"
    async with served(time=time) as server, game(server.port, 2, absence=MoveClock(5)) as peers:
        moves = []
        for _ in range(6):
            time.advance(5)
            moves.append(await peers[0].until(Events))
        assert {events.by for events in moves} == {"clock"}
        assert [events.turn for events in moves] == [1, 0] * 3
        assert {events.clock for events in moves} == {5000}
        assert all(events.legal is not None for events in moves[1::2])
        await peers[1].done(Leave)
        state = await next_state_where(peers[0], lambda state: not state.seats[1].here)
        assert state.seats[1] == SeatSummary("Player 1", removable_in=60)


async def test_timers_are_handled_before_queued_requests() -> None:
    """A spectator who syncs when the host has been away for too long does not delay the next one."""
    time = ManualClock()
    async with (
        served(time=time) as server,
        game(server.port, 2, watched=True) as (host, _, spectator),
    ):
        table = table_of(server, [spectator])
        await disconnect(host, spectator)
        await table._lock.acquire()
        await spectator.send(Sync(spectator.next_id(), 0))
        await eventually(lambda: queued_requests(table) == 1)
        time.advance(60)
        await eventually(lambda: queued_requests(table) > 1)
        table._lock.release()
        state = await spectator.until(TableState)
        while state.host != 1:
            assert not spectator.told(Done), "a request was handled first"
            state = await spectator.until(TableState)
        await spectator.until(Done)


async def test_players_whose_game_clocks_have_run_out_may_watch() -> None:
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
    async with served(tmp_path, time=time) as server, game(server.port, 2, absence=GameClock(600)) as peers:
        for seconds in (1.0, 10.0, 2.0, 20.0, 0.5, 0.25):
            time.advance(seconds)
            await play_on(peers, random.Random(1), moves=1)
        clocks = table_of(server, peers).state.clocks
        left = [clocks.left(Seat(seat)) for seat in (0, 1)]
        assert left == [596_500, 569_750]
        time.advance(100)
        await peers[0].done(Leave)
        state = await next_state_where(peers[1], lambda state: not state.seats[0].here)
        assert [seat.clock for seat in state.seats][1] == left[1]
    async with served(tmp_path) as server, resumed(server.port, *peers) as again:
        clocks = table_of(server, again).state.clocks
        assert [clocks.left(Seat(seat)) for seat in (0, 1)] == left
        assert policy_of(server, again).time_left() == left[0]


_DAY = 86_400


async def test_turns_that_take_longer_use_up_the_reserve() -> None:
    """Each turn has the whole time and what is left of the reserve, which no other turn gives back."""
    time = ManualClock()
    async with served(time=time) as server, game(server.port, 2, absence=LongClock(2 * _DAY, _DAY)) as peers:
        clocks, left = table_of(server, peers).state.clocks, []
        for days in (1.0, 2.5, 2.5, 2.0):
            time.advance(days * _DAY)
            await play_on(peers, random.Random(1), moves=1)
            left.append((clocks.reserve(Seat(0)) / 1000 / _DAY, clocks.reserve(Seat(1)) / 1000 / _DAY))
        assert left == [(1.0, 1.0), (1.0, 0.5), (0.5, 0.5), (0.5, 0.5)]
        assert policy_of(server, peers).time_left() == 2.5 * _DAY * 1000
        state = table_of(server, peers).as_seen()
        assert state.seats[1].clock == 0.5 * _DAY * 1000
        assert (state.absence, state.policy) == (MoveClock(_DAY), LongClock(2 * _DAY, _DAY))
        time.advance(2.5 * _DAY)
        assert (await peers[0].until(Events)).by == "clock"
        assert clocks.reserve(Seat(0)) == 0


async def test_a_restart_gives_an_hour_of_a_long_turn_at_most(tmp_path: Path) -> None:
    """The reserve that earlier turns have used is not given back either."""
    time, policy = ManualClock(), LongClock(2 * _DAY, _DAY)
    async with served(tmp_path, time=time) as server, game(server.port, 2, absence=policy) as peers:
        time.advance(2.5 * _DAY)
        await play_on(peers, random.Random(1), moves=2)
        table = table_of(server, peers)
        for _ in range(30):
            entries = table.state.entry_count
            time.advance(3600)
            await eventually(lambda: table.state.entry_count > entries)  # noqa: B023 - waited for at once
        time.advance(1800)
    async with served(tmp_path) as server, resumed(server.port, *peers) as again:
        left = policy_of(server, again).time_left()
        assert left == (2.5 * _DAY - 30 * 3600) * 1000


async def test_a_game_by_letters_waits_for_players_who_are_all_away() -> None:
    """Its clock runs, and it is archived only when the stand-in has moved for everybody."""
    time = ManualClock()
    async with served(time=time) as server:
        async with game(server.port, 2, absence=MoveClock(_DAY)) as peers:
            code = peers[0].code
            await play_on(peers, random.Random(1), moves=14)
        table = server.lobby.tables[code]
        await eventually(lambda: table.unattended_since is not None)
        for moved in (1, 2):
            time.advance(_DAY - 10)
            assert code in server.lobby.tables
            time.advance(10)
            await eventually(lambda: len(table.state.stood_in) == moved)  # noqa: B023 - waited for at once
        time.advance(3600)
        await eventually(lambda: code not in server.lobby.tables)


async def test_seats_are_kept_for_days_before_a_game_by_letters() -> None:
    """Nor does somebody else become host, or may a player be removed, after a minute."""
    time = ManualClock()
    async with served(time=time) as server, connected(server.port) as host:
        await host.open(3, absence=MoveClock(_DAY))
        async with connected(server.port) as guest:
            await guest.join(host.code, "Bruno")
        await next_state_where(host, lambda state: bool(state.seats[1].name) and not state.seats[1].here)
        time.advance(_DAY - 1)
        await host.done(Sync, 0)
        assert server.lobby.tables[host.code].state.players[1] is not None
        time.advance(1)
        await next_state_where(host, lambda state: state.seats[1].name is None)


async def test_a_move_while_the_server_stops_is_charged_like_any_other() -> None:
    """Nothing falls due any more, but nobody gets time for nothing, and the clock is told."""
    time = ManualClock()
    async with served(time=time) as server, game(server.port, 2, absence=GameClock(60)) as peers:
        time.advance(20)
        server.lobby.stop()
        await play_on(peers, random.Random(1), moves=1)
        news = peers[1].told(Events)[-1]
        assert news.clock == 60_000
        assert table_of(server, peers).state.clocks.left(Seat(0)) == 40_000
        time.advance(60)
        assert await peers[1].refusal(peers[1].random_move(random.Random(1))) == Code.TIME_UP


@given(st.integers(30, 600), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 200_000))))
def test_a_game_clock_runs_down_seat_by_seat(seconds: int, turns: list[tuple[int, int]]) -> None:
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


def test_a_shorter_clock_leaves_no_less_than_nothing() -> None:
    """Time already used stays used, even if it is more than the new clock gives."""
    clocks = Clocks(GameClock(60), 2)
    clocks.charge(Seat(0), 50_000)
    clocks.change_policy(GameClock(30), in_game=False)
    assert [clocks.left(Seat(seat)) for seat in (0, 1)] == [0, 30_000]
    assert clocks.used_up(Seat(0))


@given(games(), seeds)
def test_the_pace_is_drawn_and_tells_nothing(game: Game, seed: int) -> None:
    """Who sees no hidden piece would draw the same time from the same chance."""
    assume(not game.over)
    public = snapshot(game.view, SPECTATOR)
    pauses = [Pace(1.0, seed, human=True).pause(view, with_people=True) for view in (game.view, public)]
    assert pauses[0] == pauses[1]


def test_a_bot_takes_a_drawn_time_with_people_and_else_no_more_than_it_must() -> None:
    view, pace = played(GameOptions(3), 1, 8).view, Pace(1.0, 1, human=True)
    assert pace.pause(view, with_people=False) == 1.0
    assert pace.pause(view, with_people=False, late=True) == 0.0
    assert Pace(1.0, 1, human=False).pause(view, with_people=True) == 1.0
    assert Pace(0.0, 1, human=True).pause(view, with_people=True) == 0.0
    for late in (False, True):  # at once, a late move would show when it was chosen
        drawn = {pace.pause(view, with_people=True, late=late) for _ in range(10)}
        assert len(drawn) == 10
        assert min(drawn) >= LEAST_SECONDS


PAUSE = 1.0


async def seated_bot(host: Peer, level: str = "random", seat: int | None = None) -> messages.TableState:
    """Have the host seat a bot; return the table as it is then."""
    before = sum(each.level is not None for each in (await latest(host)).seats)
    await host.done(messages.SeatBot, level, seat)
    return await state_where(host, lambda state: sum(each.level is not None for each in state.seats) > before)


async def latest(peer: Peer) -> messages.TableState:
    """Return the last state of the table that the peer was sent."""
    await peer.ask(messages.Ping)
    return peer.told(messages.TableState)[-1]


async def test_the_host_seats_bots() -> None:
    """They take the first free seat or the one that is named, are here, and no name looks like another."""
    async with served() as server, connected(server.port) as host, connected(server.port) as other:
        await host.open(5)
        await other.ask(messages.Watch, host.code, name="LIVlA")
        await seated_bot(host, "greedy", 3)
        await seated_bot(host)
        state = await seated_bot(host, "greedy")
        names = [str(each.name) for each in state.seats]
        persons = {person_of(name) for name in names[1:4]}
        assert len(persons - {"Livia"}) == 3
        assert persons <= {*PERSONS}
        assert [level_of(name) for name in names[1:4]] == ["random", "greedy", "greedy"]
        assert [each.level for each in state.seats] == [None, "random", "greedy", "greedy", None]
        assert [each.here for each in state.seats] == [*[True] * 4, False]
        await other.done(messages.Leave)
        assert await other.refusal(messages.JoinTable, host.code, names[3].upper()) == Code.NAME_TAKEN
        tables = await other.answer(messages.Tables, messages.ListTables)
        assert (tables.tables[0].taken, tables.tables[0].bots) == (4, 3)
        assert [each.levels for each in host.told(messages.Welcome)] == [["random", "greedy"]]
        await removed(server, host, Seat(1))
        assert (await latest(host)).seats[1].name is None


async def test_a_person_can_take_the_seat_of_a_bot_before_the_game() -> None:
    """Free seats go first; programs take none, and nobody takes a seat from a person."""
    async with served() as server, all_connected(server.port, 4) as (host, ben, carla, dario):
        await host.open(3)
        await seated_bot(host)
        refusal = await dario.refused(messages.JoinTable, host.code, "Dario", 1, program=True)
        assert (refusal.code, refusal.about) == (Code.SEAT_TAKEN, {"seat": "1", "free_seats": "2"})
        assert (await ben.join(host.code, "Ben")).seat == 2
        assert await dario.refusal(messages.JoinTable, host.code, "Dario", program=True) == Code.TABLE_FULL
        name = str((await latest(host)).seats[1].name)
        assert (await carla.join(host.code, name)).seat == 1  # the name that it had is free with it
        state = await state_where(host, lambda state: not any(each.level for each in state.seats))
        assert [each.name for each in state.seats] == ["Anna", name, "Ben"]
        assert await dario.refusal(messages.JoinTable, host.code, "Dario") == Code.TABLE_FULL


async def test_bots_go_along_when_seats_are_given_in_another_order() -> None:
    async with served() as server, full_table(server.port, 3, bots={1: "greedy"}) as (host, other):
        await rearranged(server, host, 1, 2, 0)
        state = await latest(host)
        assert [each.level for each in state.seats] == ["greedy", None, None]
        assert (state.host, host.seat) == (2, 2)
        await host.done(messages.StartGame)
        await play_to_the_end([host, other])


@pytest.mark.parametrize("leaves", [True, False])
async def test_bots_alone_do_not_keep_a_table(leaves: bool) -> None:
    clock = ManualClock()
    async with served(time=clock) as server, connected(server.port) as host:
        await host.open(2)
        await seated_bot(host)
        if leaves:
            await host.done(messages.Leave)
        else:
            await host.socket.close()
            await eventually(lambda: not table_of(server, [host]).audience.seated)
            clock.advance(Limits().waiting_seat_seconds)
        await eventually(lambda: not server.lobby.tables)


async def test_a_bot_keeps_its_seat_however_long_the_game_does_not_begin(tmp_path: Path) -> None:
    """Also in the seat of somebody who was away, and after a restart: it is never away itself."""
    clock = ManualClock()
    async with served(tmp_path, clock) as server, full_table(server.port, 2) as (host, other):
        await other.socket.close()
        await state_where(host, lambda state: not state.seats[1].here and state.seats[1].name is not None)
        await removed(server, host, Seat(1))
        await seated_bot(host)
        clock.advance(2 * Limits().waiting_seat_seconds)
        assert (await latest(host)).seats[1].level == "random"
    later = ManualClock()
    async with served(tmp_path, later) as server, resumed(server.port, host) as (back,):
        later.advance(2 * Limits().waiting_seat_seconds)
        assert (await latest(back)).seats[1].level == "random"


@pytest.mark.parametrize("absence", [WAIT, MoveClock(60), GameClock(600)])
async def test_a_game_with_bots_is_played(absence: Absence) -> None:
    views: list[tuple[Seat, View]] = []

    def watched(view: View, legal: Legal, rng: random.Random) -> Command:
        views.append((legal.seat, view))
        return at_random(view, legal, rng)

    bots = {1: "watched", 2: "watched"}
    async with (
        served(brains={"watched": watched}) as server,
        game(server.port, 3, bots=bots, watched=True, absence=absence) as peers,
    ):
        host = peers[0]
        await play_to_the_end(peers)
        check_views(table_of(server, peers), peers)
        moves = host.told(messages.Events)
        assert all(each.by is None for each in moves)
        assert all(each.clock is None for each in moves if each.turn in bots)
        state = await latest(host)
        assert [each.level for each in state.seats] == [None, "watched", "watched"]
        assert [each.standing.games for each in state.seats] == [1, 1, 1]
        assert not table_of(server, peers).state.played
        for seat, view in views:
            assert view.eyes == {seat}
            assert set(view.hands) == {seat}
            others = [piece for field, piece in view.placed.items() if view.owners[field] != seat]
            assert not [piece for piece in others if isinstance(piece, Piece) and piece.wolf]


async def test_a_restart_in_the_middle_changes_nothing(tmp_path: Path) -> None:
    """Bots keep their seats; those of levels that are no longer seated play as before or as the stand-in."""
    asked: set[Seat] = set()

    def as_before(view: View, legal: Legal, rng: random.Random) -> Command:
        asked.add(legal.seat)
        return at_random(view, legal, rng)

    async with served(tmp_path) as server, game(server.port, 3, bots={1: "random", 2: "greedy"}) as (host,):
        await host.done(host.random_move(random.Random(1)))
        while host.legal is None:
            await host.news()
        await host.socket.close()
    limits, former = Limits(stand_in_seconds=0), {"greedy": as_before}
    config = Config(data=tmp_path, limits=limits, former_brains=former)
    async with running(config) as server, resumed(server.port, host) as (back,):
        await play_to_the_end([back])
        check_views(table_of(server, [back]), [back])
    assert asked == {2}


async def test_a_token_of_before_does_not_bring_back_a_table_where_a_bot_sits(tmp_path: Path) -> None:
    """Who left a seat before the game has no part in it, even when it is in the archive."""
    clock = ManualClock()
    async with (
        served(tmp_path, clock) as server,
        full_table(server.port, 2, random_layout=True) as (host, ben),
    ):
        await ben.done(messages.Leave)
        await seated_bot(host)
        await host.done(messages.StartGame)
        await host.socket.close()
        await eventually(lambda: not table_of(server, [host]).audience.seated)
        clock.advance(Limits().unattended_seconds)
        await eventually(lambda: not server.lobby.tables)
        assert await ben.refusal(messages.Resume, host.code, ben.token) == Code.BAD_TOKEN
        assert not server.lobby.tables


@pytest.mark.parametrize("people", [1, 2])
async def test_a_game_counts_as_played_if_two_people_or_more_have_moved(people: int) -> None:
    """Bots do not count: otherwise anybody could push the games of others out of the archive."""
    bots = dict.fromkeys(range(people, 3), "random")
    async with served() as server, game(server.port, 3, bots=bots) as peers:
        await play_to_the_end(peers)
        assert table_of(server, peers).state.played == (people == 2)


@contextlib.asynccontextmanager
async def served_in_processes(brain: Choose, **limits: float) -> AsyncIterator[Running]:
    """Run a server whose bots of level `slow` think in processes, with as many as they like."""
    brains: dict[str, Brain] = {"quick": at_random, "slow": InProcess(brain)}
    allowed = Limits(stand_in_seconds=0, bots_cpu=1.0, **limits)  # type: ignore[arg-type]
    config = Config(brains=brains, stand_in=InProcess(brain), seed=1, limits=allowed, timers=ManualClock)
    async with running(config) as server:
        yield server


async def play_rounds(host: Peer, rounds: int) -> None:
    chooser = random.Random(1)
    for _ in range(rounds):
        await host.done(host.random_move(chooser))
        while host.legal is None:
            await host.news()


async def test_a_process_is_started_with_the_first_move_and_ends_with_the_server() -> None:
    async with served_in_processes(steady) as server:
        async with game(server.port, 2, bots={1: "quick"}) as (host,):
            await play_rounds(host, 2)
            assert not thinkers()
        async with game(server.port, 2, bots={1: "slow"}) as peers:
            await play_to_the_end(peers)
            check_views(table_of(server, peers), peers)
            assert len(thinkers()) == 1
    assert not thinkers()


@pytest.mark.parametrize("brain", [raising, lambda *_: None])
async def test_a_bot_whose_brain_fails_still_moves(brain: Choose, caplog: pytest.LogCaptureFixture) -> None:
    async with served_in_processes(brain) as server, game(server.port, 2, bots={1: "slow"}) as (host,):
        await play_rounds(host, 2)
    told = [each for each in caplog.records if each.name.startswith("server.tables.absence")]
    assert [each.levelno for each in told] == [logging.WARNING]
    assert describe(told[0]).startswith("a bot failed and a simpler one moves for it: reason=")
    assert not re.search(r"[A-Z][mfs]\*?", describe(told[0]).partition(":")[2])


@pytest.mark.slow
async def test_a_bot_whose_process_is_lost_moves_all_the_same() -> None:
    async with (
        served_in_processes(hanging, bots_seconds=0.6) as server,
        game(server.port, 2, bots={1: "slow"}) as (host,),
    ):
        await play_rounds(host, 1)
        await eventually(lambda: not thinkers())


async def test_a_bot_that_thinks_delays_no_other_table(tmp_path: Path) -> None:
    brain = Waiting(tmp_path)
    async with served_in_processes(brain) as server, game(server.port, 2, bots={1: "slow"}) as (host,):
        await host.done(host.random_move(random.Random(1)))
        await eventually(lambda: bool(brain.thinkers()))
        async with game(server.port, 2, bots={1: "quick"}) as others:
            await play_to_the_end(others)
        assert len(brain.thinkers()) == 1
        brain.go_on()
        while host.legal is None:
            await host.news()


@pytest.mark.slow
async def test_a_server_that_is_killed_leaves_no_process() -> None:
    async with (
        serving("--memory", "--bots-cpu", "2") as server,
        game(server.port, 3, bots={1: "consul", 2: "consul"}) as (host,),
    ):
        process = psutil.Process(server.process.pid)
        assert not process.children()
        await host.done(host.random_move(random.Random(1)))
        await eventually(lambda: len(process.children()) > 0)
        thinking = process.children()
        process.kill()
        await eventually(lambda: not any(map(lives, thinking)))


def lives(process: psutil.Process) -> bool:
    """Tell whether the process has not ended; a zombie has."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
