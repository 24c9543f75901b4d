"""How a game stands, for players who are not there: told to whoever proves that a seat is theirs."""

import random
from pathlib import Path

from protocol.absence import MoveClock
from protocol.codes import Code
from protocol.messages import AskTurn, Ping, Remove, Turn
from server.app import running
from server.config import Config, Limits
from server.net.tokens import token_hash
from tests.server.peer import Peer, connected, eventually, full_table, game, memory_server, play_on


async def turn(peer: Peer, code: str, token: str) -> Turn:
    """Return how the game stands for the holder of a token, who asks over another connection."""
    answer = await peer.ask(AskTurn(peer.next_id(), code, token_hash(token)))
    assert isinstance(answer, Turn)
    return answer


async def test_a_player_learns_whose_turn_it_is_before_during_and_after_the_game() -> None:
    async with memory_server() as server, connected(server.port) as asker:
        async with connected(server.port) as host:
            code = (await host.open(2)).table
            answer = await turn(asker, code, host.token)
            assert (answer.stage, answer.seat, answer.turn) == ("gathering", 0, None)
        async with game(server.port, 2, absence=MoveClock(60)) as peers:
            for peer in peers:
                answer = await turn(asker, peer.code, peer.token)
                assert peer.view is not None
                on_turn = peer.view.turn
                assert on_turn is not None
                assert answer.clock is not None
                assert 0 < answer.clock <= 60_000
                known = Turn(answer.id, "playing", peer.seat, on_turn, f"Player {on_turn}", answer.clock)
                assert answer == known
            await play_on(peers, random.Random(1))
            answer = await turn(asker, peers[1].code, peers[1].token)
            assert answer == Turn(answer.id, "over", 1)


async def test_nothing_is_told_without_the_seats_own_token() -> None:
    """Not to the holder of another table's seat, nor to a removed player; a question is noticed by nobody."""
    async with (
        memory_server() as server,
        full_table(server.port, 2, private=True) as peers,
        connected(server.port) as other,
        connected(server.port) as stranger,
    ):
        await other.open(2)
        for token in ("x", other.token):
            question = AskTurn(7, peers[0].code, token_hash(token))
            assert (await stranger.refused(question)).code == Code.BAD_TOKEN
            assert question.proof not in repr(question)
        before = [len(peer.frames) for peer in peers]
        await turn(stranger, peers[0].code, peers[1].token)
        for peer in peers:
            await peer.ask(Ping(peer.next_id()))
        assert [len(peer.frames) for peer in peers] == [number + 1 for number in before]
        await peers[0].done(Remove(peers[0].next_id(), 1))
        refused = await stranger.refused(AskTurn(7, peers[0].code, token_hash(peers[1].token)))
        assert refused.code == Code.BAD_TOKEN


async def test_an_archived_game_stays_in_the_archive(tmp_path: Path) -> None:
    limits = Limits(unattended_seconds=0.01, tables_per_connection=2)
    async with running(Config(data=tmp_path, limits=limits)) as server, connected(server.port) as asker:
        async with game(server.port, 2) as (host, _):
            pass
        await eventually(lambda: not server.lobby.tables)
        wrong = await asker.refused(AskTurn(7, host.code, token_hash("x")))
        assert wrong.code == Code.BAD_TOKEN
        for _ in range(2):
            answer = await turn(asker, host.code, host.token)
            assert answer == Turn(answer.id, "playing", archived=True)
        assert not server.lobby.tables
        too_often = await asker.refused(AskTurn(7, host.code, token_hash(host.token)))
        assert too_often.code == Code.TOO_SOON
