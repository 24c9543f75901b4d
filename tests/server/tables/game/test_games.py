"""Whole games over real sockets: every peer's fold is what its seat may know, event by event."""

import asyncio
import random

from protocol.messages import TableState
from tests.server.peer import (
    check_views,
    game,
    memory_server,
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


async def test_a_move_costs_each_seat_less_than_100_bytes() -> None:
    """This is the average, without the start and the scoring."""
    async with memory_server() as server, game(server.port, 4, watched=True) as peers:
        before = [len(peer.frames) for peer in peers]
        await play_on(peers, random.Random(7), moves=28)
        for peer, start in zip(peers, before, strict=True):
            sizes = [len(frame) for frame in peer.frames[start:]]
            assert sum(sizes) / len(sizes) < 100
