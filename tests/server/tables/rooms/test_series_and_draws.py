"""Each game of a series has draws of its own."""

import random

from engine.draws import Share, pledge_of
from protocol import messages
from tests.server.playing import memory_server, play_on
from tests.server.tables.game.test_game_start import begin, draws_of, sharers


async def test_the_next_game_has_a_new_commitment() -> None:
    async with memory_server() as server, sharers(server.port, 2) as seated:
        await begin(seated)
        first = draws_of(seated[0].peer)
        peers = [each.peer for each in seated]
        await play_on(peers, random.Random(1))
        for number, each in enumerate(seated):
            each.share = Share(str(number) * 64)
            await each.peer.answer(messages.Seated, messages.Rematch, pledge_of(each.share))
            each.peer.view, each.peer.seq, each.peer.seen = None, 0, []
        await begin(seated)
        second = draws_of(peers[0])
        assert second.commitment != first.commitment
        assert second.shares == (Share("0" * 64), Share("1" * 64))
        assert not second.starting  # the next player clockwise starts
