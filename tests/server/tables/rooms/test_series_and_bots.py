"""Bots of the server in a series of games."""

from engine.board import FIELDS
from protocol import messages
from tests.server.peer import state_where
from tests.server.playing import game, rematch
from tests.server.tables.absence.test_clocks import latest, served_in_processes
from tests.server.tables.hosted import play_to_the_end, served
from tests.server.thinking.brains import Keeping, Learning


async def test_bots_play_again() -> None:
    async with served() as server, game(server.port, 3, bots={1: "random", 2: "random"}) as (host,):
        await play_to_the_end([host])
        state = await latest(host)
        assert len({each.name for each in state.seats}) == 3
        answer = await host.answer(messages.Seated, messages.Rematch)
        host.view, host.seq, host.legal = None, 0, None
        again = await state_where(host, lambda each: each.table == answer.table)
        assert [each.name for each in again.seats] == [each.name for each in state.seats]
        assert [(each.level, each.kept) for each in again.seats] == [(None, False), *[("random", False)] * 2]
        assert [each.standing for each in again.seats] == [each.standing for each in state.seats]
        await host.done(messages.StartGame)
        await play_to_the_end([host])


async def test_a_bot_learns_from_game_to_game() -> None:
    async with served_in_processes(Learning()) as server, game(server.port, 2, bots={1: "slow"}) as peers:
        (host,) = peers
        await play_to_the_end(peers)
        assert next(field for field, seat in host.sight.owners.items() if seat == 1) in {"A1", "A2"}
        await rematch(host)
        await host.done(messages.StartGame)
        while host.legal is None:
            await host.news()
        assert host.sight.owners == {"G6": 1}


async def test_a_bot_keeps_things_within_a_game() -> None:
    bots = {1: "slow", 2: "slow"}
    async with served_in_processes(Keeping()) as server, game(server.port, 3, bots=bots) as peers:
        (host,) = peers
        await play_to_the_end(peers)
        for bot in bots:
            first, second, *_others = [field for field, seat in host.sight.owners.items() if seat == bot]
            assert FIELDS.index(first) < FIELDS.index(second)
