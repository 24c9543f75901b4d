"""Votes on absent players: who may vote, and what counts."""

import asyncio
import contextlib
import random
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.bots.brains import at_random
from engine.game import RandomChance
from engine.pieces import Seat
from protocol.absence import ByBot, ByVote
from protocol.codes import CloseCode, Code
from protocol.messages import SeatSummary, StartGame, Sync
from server.config import Config
from server.monitoring.counts import Counts
from server.monitoring.failures import Tasks
from server.net.session import Session
from server.storage.entries import Entry, GivenToBot, Opened, Played, Returned, Taken, Voted
from server.tables.absence.deadlines import Deadlines
from server.tables.absence.policy import AbsencePolicy
from server.tables.absence.stand_in import StandIn
from server.tables.state.persistent_state import PersistentState
from tests.examples import examples
from tests.games import begun
from tests.server.manual_clock import ManualClock
from tests.server.peer import connected, full_table, game, table_of
from tests.server.tables.hosted import disconnect, held_by_bot, next_state_where, served, tally, vote

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
            assert table_of(server, peers).state.votes == {}


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
        assert tables[peers[0].code].state.votes == {3: {2}}
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

        codes = [await peers[0].refusal(vote(peers[0], seat)) for seat in range(5)]
        assert codes == [Code.TOO_EARLY if seat == 2 else Code.NOT_AWAY for seat in range(5)]
        assert await peers[3].refusal(vote(peers[3], 2)) == Code.NOT_A_PLAYER
        for peer in (waiting[0], others[0], without_policy[0]):
            assert await peer.refusal(vote(peer, 1)) == Code.NO_VOTE
        assert not table_of(server, peers).state.votes


steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["comes", "goes", "is overdue"]), seat_numbers),
        st.tuples(st.sampled_from(["agrees on", "no longer agrees on"]), seat_numbers, seat_numbers),
    ),
    max_size=30,
)


async def fail_if_due(*_: object) -> None:
    pytest.fail("something is due within a test that takes no time")


@examples(30)
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
        tasks = Tasks()
        stand_in = StandIn(Config(stand_in=at_random), tasks)
        deadlines = Deadlines(asyncio.get_running_loop(), tasks, Counts(), fail_if_due)
        policy = AbsencePolicy(state, here, stand_in, deadlines)
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
        policy.stop()
        stand_in.close()

    asyncio.run(check())
