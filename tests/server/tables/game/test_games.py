"""Whole games over real sockets: every peer's fold is what its seat may know, event by event."""

import asyncio
import random

from protocol.messages import Events, Snapshot, TableState
from tests.server.peer import (
    check_views,
    connected,
    game,
    memory_server,
    peer_on_turn,
    play_on,
    table_of,
)


async def test_many_tables_play_at_once_without_mixing() -> None:
    """Each table's peers receive only their own game."""

    async def play_one_game(port: int, number: int) -> None:
        async with game(port, 2 + number % 4) as peers:
            await play_on(peers, random.Random(number))
            check_views(table_of(server, peers), peers)
            assert {message.table for message in peers[0].received if isinstance(message, TableState)} == {
                peers[0].code
            }

    async with memory_server() as server, asyncio.TaskGroup() as tables:
        for number in range(8):
            tables.create_task(play_one_game(server.port, number))


async def test_a_late_spectator_sees_the_same_game() -> None:
    """At any moment a spectator gets a snapshot and goes on from it."""
    async with memory_server() as server, game(server.port, 2, random_layout=False) as peers:
        table = table_of(server, peers)
        chooser = random.Random(5)
        while peer_on_turn(peers) is not None:
            async with connected(server.port) as late:
                await late.watch(peers[0].code)
                await late.until(Snapshot)
                check_views(table, [late])
                await play_on(peers, chooser, moves=2)
                await late.caught_up(peers[0].seq)
                check_views(table, [late])


async def test_a_disconnected_player_resumes_the_game() -> None:
    """Only the missing events are sent, and the game goes on."""
    async with memory_server() as server, game(server.port, 2) as peers:
        table = table_of(server, peers)
        chooser = random.Random(6)
        await play_on(peers, chooser, moves=3)
        gone = peers[1]
        await gone.socket.close()
        await play_on(peers[:1], chooser, moves=1)
        async with connected(server.port) as again:
            again.view, again.seq, again.seat = gone.view, gone.seq, gone.seat
            await again.resume(gone.code, gone.token, after=gone.seq)
            await again.caught_up(peers[0].seq)
            if again.legal is None and peers[0].legal is None:
                await again.until(Events)
            await play_on([peers[0], again], chooser)
            check_views(table, [peers[0], again])


async def test_a_move_costs_each_seat_less_than_100_bytes() -> None:
    """This is the average, without the start and the scoring."""
    async with memory_server() as server, game(server.port, 4, watched=True) as peers:
        before = [len(peer.frames) for peer in peers]
        await play_on(peers, random.Random(7), moves=28)
        for peer, start in zip(peers, before, strict=True):
            sizes = [len(frame) for frame in peer.frames[start:]]
            assert sum(sizes) / len(sizes) < 100
