"""Whole games over real sockets: every peer's fold is what its seat may know, event by event."""

import random

from tests.server.peer import game, memory_server, play_on


async def test_a_move_costs_each_seat_less_than_100_bytes() -> None:
    """This is the average, without the start and the scoring."""
    async with memory_server() as server, game(server.port, 4, watched=True) as peers:
        before = [len(peer.frames) for peer in peers]
        await play_on(peers, random.Random(7), moves=28)
        for peer, start in zip(peers, before, strict=True):
            sizes = [len(frame) for frame in peer.frames[start:]]
            assert sum(sizes) / len(sizes) < 100
