"""Slow players: the clocks of moves and games, and what falls due."""

import random
from pathlib import Path

from hypothesis import assume, given
from hypothesis import strategies as st

from engine.game import Game, GameOptions
from engine.pieces import Seat
from engine.redaction import snapshot
from engine.view import SPECTATOR
from protocol.absence import ByBot, GameClock, LongClock, MoveClock
from protocol.codes import Code
from protocol.messages import Done, Events, Leave, PlacePiece, Refused, SeatSummary, Sync, TableState
from server.tables.absence.stand_in import Pace
from server.tables.state.clocks import Clocks
from tests.games import games, played, seeds
from tests.server.manual_clock import ManualClock
from tests.server.peer import (
    all_caught_up,
    check_views,
    connected,
    eventually,
    game,
    play_on,
    queued_requests,
    table_of,
)
from tests.server.storage.test_journal import resumed
from tests.server.tables.hosted import LONG_PAUSE, disconnect, next_state_where, policy_of, served


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
        assert await peers[0].refusal(peers[0].random_move(random.Random(1))) == Code.TIME_UP
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


async def test_the_clock_is_read_when_a_move_is_handled() -> None:
    """A move is too late if its time ran out while it was queued at the table."""
    time = ManualClock()
    async with (
        served(pause=LONG_PAUSE, time=time) as server,
        game(server.port, 2, absence=MoveClock(5)) as peers,
    ):
        table, move = table_of(server, peers), peers[0].random_move(random.Random(1))
        await table._lock.acquire()
        await peers[0].send(move)
        await eventually(lambda: queued_requests(table) == 1)
        time.advance(5)
        table._lock.release()
        refused = await peers[0].until(Refused)
        assert (refused.id, refused.code) == (move.id, Code.TIME_UP)


async def test_timers_are_handled_before_queued_requests() -> None:
    """A spectator who syncs when an absent player's time is up does not delay the bot."""
    time = ManualClock()
    async with (
        served(pause=LONG_PAUSE, time=time) as server,
        game(server.port, 2, watched=True, absence=ByBot(60)) as (_, absent, spectator),
    ):
        table = table_of(server, [spectator])
        await disconnect(absent, spectator)
        await table._lock.acquire()
        await spectator.send(Sync(spectator.next_id(), 0))
        await eventually(lambda: queued_requests(table) == 1)
        time.advance(60)
        await eventually(lambda: queued_requests(table) > 1)
        table._lock.release()
        state = await spectator.until(TableState)
        while not state.seats[1].bot:
            assert not any(isinstance(message, Done) for message in spectator.received), (
                "a request was handled first"
            )
            state = await spectator.until(TableState)
        await spectator.until(Done)


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
        await next_state_where(
            host, lambda state: state.seats[1].name is not None and not state.seats[1].here
        )
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


@given(games(), seeds)
def test_the_pace_is_drawn_and_tells_nothing(game: Game, seed: int) -> None:
    """Who sees no hidden piece would draw the same time from the same chance; it is 1.5 to 4 seconds."""
    assume(not game.over)
    public = snapshot(game.view, SPECTATOR)
    pauses = [Pace(1.0, seed, human=True).pause(view, among_people=True) for view in (game.view, public)]
    assert pauses[0] == pauses[1]
    assert 1.5 <= pauses[0] <= 4.0


def test_a_bot_alone_with_a_person_or_in_a_hurry_takes_no_more_than_it_must() -> None:
    view = played(GameOptions(2), 1, 1).view
    assert Pace(1.0, 1, human=True).pause(view, among_people=False) == 1.0
    assert Pace(1.0, 1, human=False).pause(view, among_people=True) == 1.0
    assert Pace(0.0, 1, human=True).pause(view, among_people=True) == 0.0
    assert Pace(1.0, 1, human=True).pause(view, among_people=False, late=True) == 0.0


def test_moves_differ_in_their_time() -> None:
    view, pace = played(GameOptions(3), 1, 8).view, Pace(1.0, 1, human=True)
    for late in (False, True):  # at once, a late move would show when it was chosen
        drawn = {pace.pause(view, among_people=True, late=late) for _ in range(10)}
        assert len(drawn) == 10
        assert min(drawn) >= 1.5
