"""Looking back on a finished game while its players play again."""

import random

from protocol import messages
from protocol.messages import Show, Shown
from tests.server.peer import all_connected, next_state_where
from tests.server.playing import finished_game, memory_server, play_on, rematch


async def test_who_plays_again_leads_no_more() -> None:
    """They have the same seat at the next table."""
    async with memory_server() as server, finished_game(server, 2) as (first, second):
        await second.done(Show, 9)
        await next_state_where(first, lambda state: state.shown == Shown(9, 1))
        await rematch(second)
        await next_state_where(first, lambda state: state.shown is None)


async def test_after_a_study_follows_a_game() -> None:
    async with (
        memory_server() as server,
        finished_game(server, 2) as peers,
        all_connected(server.port, 2) as players,
    ):
        await peers[0].done(messages.Study, 12)
        studied = peers[0].told(messages.TableState)[-1].studied
        assert studied is not None
        for seat, player in enumerate(players):
            assert (await player.join(studied.table, f"Player {seat}")).seat == seat
            await player.news()
        await play_on(players, random.Random(2))
        await next_state_where(players[0], lambda state: state.stage == "over")
        again = (await rematch(players[0])).table
        assert not server.lobby.tables[again].state.study
