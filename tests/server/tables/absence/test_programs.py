"""Programs at the seats: a bot plays at once for one that is away."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.game import Game
from protocol.absence import WAIT, Absence, ByBot, ByVote, GameClock, MoveClock
from protocol.codes import Code
from protocol.messages import (
    Events,
)
from server.app import Running
from tests.server.peer import (
    Peer,
    check_views,
    eventually,
    game,
    play_on,
    table_of,
)
from tests.server.storage.test_journal import resumed
from tests.server.tables.absence.absent import (
    disconnect,
    play_with_stand_in,
    policy_of,
    served,
    tally,
    vote,
)
from tests.server.tables.states import next_state_where


def table_game(server: Running, peers: Sequence[Peer]) -> Game:
    game = table_of(server, peers).state.game
    assert game is not None
    return game


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
            state = await next_state_where(anna, lambda state: state.seats[1].here)
            assert not state.seats[1].bot
            await again.caught_up(len(table_game(server, peers).events))
            await play_on([anna, again], random.Random(2))
            check_views(table_of(server, peers), [anna, again])


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
        state = await next_state_where(anna, lambda state: state.seats[3].seconds_left == 0)
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
