"""Private tables: in no list, and found by their code alone."""

import asyncio
import random
from pathlib import Path

from protocol import messages
from protocol.absence import MoveClock
from protocol.codec import encode
from protocol.codes import Code
from protocol.limits import CODE_LENGTH, PRIVATE_CODE_LENGTH
from protocol.settings import Private, Title
from server.app import running
from server.config import Config, Limits
from server.net.tokens import token_hash
from tests.server.manual_clock import ManualClock
from tests.server.peer import Peer, connected, eventually, full_table, game, memory_server, play_on
from tests.server.tables.hosted import changed


async def listed(peer: Peer) -> bytes:
    """Return the list of tables as it is sent to the peer."""
    peer.id = 0
    answer = await peer.answer(messages.Tables, messages.ListTables)
    return encode(answer)


async def test_private_tables_change_no_byte_of_the_list() -> None:
    """Neither when they are opened, nor while they are played, nor by their number or order."""
    async with memory_server() as server, connected(server.port) as stranger, connected(server.port) as other:
        await other.open(3, "Olga")
        before = await listed(stranger)
        async with game(server.port, 2, private=True) as peers:
            assert await listed(stranger) == before
            await changed(peers[0], Title("Secret"))
            await play_on(peers, random.Random(1))
            assert await listed(stranger) == before
            await changed(peers[0], Private(on=False))
            assert await listed(stranger) != before


async def test_codes_of_private_tables_cannot_be_found_by_trying() -> None:
    """After too many wrong codes, a right and a wrong one are answered alike; listed tables are found."""
    async with memory_server() as server, connected(server.port) as host, connected(server.port) as public:
        private = (await host.open(3, private=True)).table
        listed_table = (await public.open(3)).table
        async with connected(server.port) as stranger:
            most = Limits().wrong_codes_per_address
            for number in range(most):
                wrong = (
                    messages.Watch(number, "AAAA"),
                    messages.Resume(number, "AAAA", "x"),
                    messages.AskTurn(number, "AAAA", token_hash("x")),
                )[number % 3]
                assert await stranger.refusal(wrong) == Code.NO_SUCH_TABLE
            answers = [
                await stranger.refused(message)
                for code in (private, "AAAA")
                for message in (
                    messages.Watch(7, code),
                    messages.JoinTable(7, code, "X"),
                    messages.Resume(7, code, "x"),
                    messages.AskTurn(7, code, token_hash("x")),
                )
            ]
            assert len({encode(answer) for answer in answers}) == 1
            assert answers[0].code == Code.TOO_MANY_GUESSES
            await stranger.join(listed_table, "Late")
        await host.socket.close()
        async with connected(server.port) as back:
            await back.resume(private, host.token)


async def test_how_long_it_takes_to_refuse_a_code_says_nothing() -> None:
    """A refusal after too many wrong codes is delayed at random, by more than it takes to find a table."""
    clock = ManualClock()
    config = Config(timers=lambda: clock, limits=Limits(wrong_codes_per_address=1))
    async with running(config) as server, connected(server.port) as host, connected(server.port) as stranger:
        private = (await host.open(2, private=True)).table
        assert await stranger.refusal(messages.Watch, "AAAA") == Code.NO_SUCH_TABLE
        before = clock.waiting
        for code in (private, "AAAA"):
            refused = asyncio.create_task(stranger.refused(messages.Watch, code))
            await eventually(lambda: clock.waiting == before + 1)
            assert not refused.done()
            clock.advance(1.0)
            assert (await refused).code == Code.TOO_MANY_GUESSES


async def test_the_archive_is_not_looked_at_for_codes_that_are_tried(tmp_path: Path) -> None:
    """That takes longer than finding nothing; so after too many wrong codes its own players wait, too."""
    limits = Limits(unattended_seconds=0.01, wrong_codes_per_address=2)
    async with running(Config(data=tmp_path, limits=limits)) as server:
        async with game(server.port, 2, private=True) as (host, _):
            pass
        await eventually(lambda: not server.lobby.tables)
        async with connected(server.port) as stranger:
            for number in range(2):
                await stranger.refused(messages.Resume(number, "AAAA", "x"))
            refusals = [
                await stranger.refused(message)
                for code, token in ((host.code, host.token), (host.code, "x"), ("AAAA", "x"))
                for message in (messages.Resume(7, code, token), messages.AskTurn(7, code, token_hash(token)))
            ]
            assert len({encode(refusal) for refusal in refusals}) == 1
            assert refusals[0].code == Code.TOO_MANY_GUESSES


async def test_codes_of_private_tables_are_long() -> None:
    """So is that of the table where they play again; a table that becomes private keeps its code."""
    async with memory_server() as server, game(server.port, 2, private=True) as peers:
        assert len(peers[0].code) == PRIVATE_CODE_LENGTH
        await play_on(peers, random.Random(1))
        again = await peers[0].answer(messages.Seated, messages.Rematch)
        assert len(again.table) == PRIVATE_CODE_LENGTH
        async with connected(server.port) as host, connected(server.port) as guest:
            code = (await host.open(2)).table
            assert len(code) == CODE_LENGTH
            await changed(host, Private(on=True))
            await guest.join(code, "Guest")


# -- how a game stands, for players who are not there ----------------------------------------------------


async def turn(peer: Peer, code: str, token: str) -> messages.Turn:
    """Return how the game stands for the holder of a token, who asks over another connection."""
    return await peer.answer(messages.Turn, messages.AskTurn, code, token_hash(token))


async def test_a_player_learns_whose_turn_it_is_before_during_and_after_the_game() -> None:
    async with memory_server() as server, connected(server.port) as asker:
        async with connected(server.port) as host:
            code = (await host.open(2)).table
            answer = await turn(asker, code, host.token)
            assert (answer.stage, answer.seat, answer.turn) == ("gathering", 0, None)
        async with game(server.port, 2, absence=MoveClock(60)) as peers:
            for peer in peers:
                answer = await turn(asker, peer.code, peer.token)
                on_turn = peer.sight.turn
                assert on_turn is not None
                assert answer.clock is not None
                assert 0 < answer.clock <= 60_000
                known = messages.Turn(
                    answer.id, "playing", peer.seat, on_turn, f"Player {on_turn}", answer.clock
                )
                assert answer == known
            await play_on(peers, random.Random(1))
            answer = await turn(asker, peers[1].code, peers[1].token)
            assert answer == messages.Turn(answer.id, "over", 1)


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
            question = messages.AskTurn(7, peers[0].code, token_hash(token))
            assert await stranger.refusal(question) == Code.BAD_TOKEN
            assert question.proof not in repr(question)
        before = [len(peer.frames) for peer in peers]
        await turn(stranger, peers[0].code, peers[1].token)
        for peer in peers:
            await peer.ask(messages.Ping)
        assert [len(peer.frames) for peer in peers] == [number + 1 for number in before]
        await peers[0].done(messages.Remove, 1)
        assert (
            await stranger.refusal(messages.AskTurn, peers[0].code, token_hash(peers[1].token))
            == Code.BAD_TOKEN
        )


async def test_an_archived_game_stays_in_the_archive(tmp_path: Path) -> None:
    limits = Limits(unattended_seconds=0.01, tables_per_connection=2)
    async with running(Config(data=tmp_path, limits=limits)) as server, connected(server.port) as asker:
        async with game(server.port, 2) as (host, _):
            pass
        await eventually(lambda: not server.lobby.tables)
        assert await asker.refusal(messages.AskTurn, host.code, token_hash("x")) == Code.BAD_TOKEN
        for _ in range(2):
            answer = await turn(asker, host.code, host.token)
            assert answer == messages.Turn(answer.id, "playing", archived=True)
        assert not server.lobby.tables
        assert await asker.refusal(messages.AskTurn, host.code, token_hash(host.token)) == Code.TOO_SOON
