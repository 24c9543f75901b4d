"""Seats that the league lends to players: what they may do, and how they lose."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator

import pytest

from client.bots.arena.lending import LentSeat, lent_seat
from client.bots.brain import BrainFailed, Forfeit
from client.network.transport import ServerAddress
from protocol import messages
from protocol.codec import encode
from protocol.messages import NEW
from tests.server.peer import Peer, connected, memory_server, play_on

LONG = 600.0
NOT_IN_HAND = encode(messages.PlacePiece(1, "Am", "A1"))


@contextlib.asynccontextmanager
async def league_game(move_seconds: float = LONG) -> AsyncIterator[tuple[list[LentSeat], list[Peer]]]:
    """Lend two seats of a table whose tiles are laid, and start its game; the first player is on turn."""
    async with memory_server() as server, contextlib.AsyncExitStack() as stack:
        address = ServerAddress(f"ws://127.0.0.1:{server.port}", "league")
        lent = [await stack.enter_async_context(lent_seat(name, address, move_seconds)) for name in "AB"]
        seats = [seat for seat, _url in lent]
        opened = messages.OpenTable(NEW, 2, "A", random_layout=True, starting=0, program=True)
        code = await seats[0].take(opened)
        await seats[1].take(messages.JoinTable(NEW, code, "B", 1, program=True))
        peers = []
        for seat, url in lent:
            peer = await stack.enter_async_context(connected(int(url.rpartition(":")[2])))
            await peer.join(code, "any name")
            assert seat.joined.is_set()
            peers.append(peer)
        await seats[0].ask(messages.StartGame(NEW), messages.Events)
        for peer in peers:
            while peer.seq == 0:
                await peer.receive()
        yield seats, peers


async def test_a_game_as_at_a_server() -> None:
    """The players need not start it; the host's powers are the league's, and it can read the record."""
    async with league_game() as (seats, peers):
        states = [each for peer in peers for each in peer.received if isinstance(each, messages.TableState)]
        assert all(state.stage == "playing" for state in states)
        await peers[0].refused(messages.EndGame(peers[0].next_id()))
        await play_on(peers, random.Random(1))
        results = [await seat.result for seat in seats]
        assert results[0] == results[1]
        record = await seats[0].ask(messages.GetRecord(NEW), messages.Record)
        assert "# seat 1 is B\n" in record.text
        assert [len(seat.times) for seat in seats] == [16, 16]


@pytest.mark.parametrize(
    ("sent", "kind", "told"),
    [
        (NOT_IN_HAND, Forfeit.ILLEGAL, "A made a move that is not allowed: There is no Am in your hand."),
        (b"\xc1", Forfeit.ILLEGAL, "A sent what is not a message: "),
        (None, Forfeit.LATE, "A took longer than 0.2 s for a move."),
        (None, Forfeit.SILENT, "A closed its connection and did not come back."),
    ],
)
async def test_how_a_player_loses(sent: bytes | None, kind: Forfeit, told: str) -> None:
    move_seconds = 0.2 if kind in {Forfeit.LATE, Forfeit.SILENT} else LONG
    async with league_game(move_seconds) as (seats, peers):
        if sent is not None:
            await peers[0].socket.send(sent)
        elif kind is Forfeit.SILENT:
            await peers[0].socket.close()
        with pytest.raises(BrainFailed, match=told) as failed:
            await seats[0].result
        assert failed.value.kind is kind
        assert not seats[1].result.done()


async def test_a_player_comes_back_to_its_seat() -> None:
    """With its token, or as if for the first time; the connection that it had before ends."""
    async with league_game() as (seats, peers):
        port = peers[0].socket.remote_address[1]
        before = peers[0]
        async with connected(port) as again:
            await again.resume(before.code, before.token)
            assert (await before.closed())[0] == 4000
            while again.legal is None:
                await again.receive()
            await again.done(again.random_move(random.Random(1)))
            await peers[1].caught_up(again.seq)
            async with connected(port) as third:
                await third.join(before.code, "somebody")
                while third.seq < again.seq:
                    await third.receive()
                await play_on([third, peers[1]], random.Random(1))
        assert await asyncio.wait_for(seats[0].result, 60) == await seats[1].result
