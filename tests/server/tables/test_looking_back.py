"""What remains of a finished game: its record, and the standings over several games."""

import gc
import random
from pathlib import Path

from engine.game import Game
from engine.record import names_in, replayed
from protocol.messages import GetRecord, Record, Standing, StartGame, TableState
from server.app import running
from server.config import Config
from tests.server.peer import (
    Peer,
    all_caught_up,
    check_views,
    connected,
    eventually,
    game,
    memory_server,
    play_on,
    rematch,
    table_of,
)
from tests.server.tables.states import next_state_where
from tests.server.tables.test_rematch import finished_game


async def record_for(peer: Peer) -> str:
    """Return the record of the finished game at the peer's table."""
    answer = await peer.ask(GetRecord(peer.next_id()))
    assert isinstance(answer, Record), answer
    return "\n".join(answer.lines) + "\n"


def standings(state: TableState) -> list[Standing]:
    """Return the players' standings by seat."""
    return [seat.standing for seat in state.seats]


async def test_everybody_at_the_table_gets_the_record_of_its_finished_game() -> None:
    """It replays to the result that all have seen, with everybody's name, for a late spectator too."""
    async with memory_server() as server, finished_game(server, 3, watched=True) as peers:
        texts = {await record_for(peer) for peer in peers}
        async with connected(server.port) as late:
            await late.watch(peers[0].code)
            texts.add(await record_for(late))
        (text,) = texts
        again = replayed(text)
        assert peers[0].view is not None
        assert again.view.result == peers[0].view.result
        assert names_in(text) == {seat: f"Player {seat}" for seat in range(3)}


async def test_a_finished_game_that_everybody_has_left_takes_little_memory() -> None:
    """Until somebody comes back: then it is all there, for its players, for spectators and for a rematch."""

    def games() -> int:
        return sum(type(each) is Game for each in gc.get_objects())

    async with memory_server() as server:
        before = games()
        async with finished_game(server, 3) as peers:
            text = await record_for(peers[0])
            table = table_of(server, peers)
        await eventually(lambda: not table.players_here)
        await eventually(lambda: games() <= before)
        assert table.summary().stage == "over"
        async with connected(server.port) as again, connected(server.port) as late:
            await again.resume(peers[1].code, peers[1].token)
            await late.watch(peers[1].code)
            for peer in (again, late):
                await peer.news()
                assert peer.view is not None
                assert peers[1].view is not None
                assert peer.view.result == peers[1].view.result
                assert await record_for(peer) == text
            check_views(table, [again, late])
            await rematch(again)


async def test_standings_add_up_over_the_games_of_an_evening(tmp_path: Path) -> None:
    """Each table's standings are those before, and its own result once there is one; a restart keeps them."""
    async with running(Config(data=tmp_path)) as server, game(server.port, 2) as peers:
        expected = [Standing(), Standing()]
        for number in range(3):
            if number:
                for peer in peers:
                    await rematch(peer)
                assert (
                    standings(await next_state_where(peers[0], lambda state: bool(state.seats[1].here)))
                    == expected
                )
                await peers[0].done(StartGame(peers[0].next_id()))
                await all_caught_up(peers, peers[0].seq)
            await play_on(peers, random.Random(number))
            state = await next_state_where(peers[0], lambda state: state.stage == "over")
            assert peers[0].view is not None
            result = peers[0].view.result
            assert result is not None
            expected = [
                Standing(each.games + 1, each.wins + (seat in result.winners), each.points + tally.points)
                for seat, (each, tally) in enumerate(zip(expected, result.tallies, strict=True))
            ]
            assert standings(state) == expected
        code = (await rematch(peers[1])).table
    async with running(Config(data=tmp_path)) as server, connected(server.port) as back:
        await back.resume(code, peers[0].token)
        assert standings(await back.until(TableState)) == expected
