"""A server whose hosts use their powers."""

import contextlib
import random
from collections.abc import AsyncIterator
from pathlib import Path

from client.bots.brains import at_random
from protocol.messages import (
    ChangeSetting,
    Events,
)
from protocol.settings import Setting
from server.app import Running, running
from server.config import Config, Limits
from tests.server.manual_clock import ManualClock
from tests.server.peer import (
    Peer,
    all_caught_up,
    peer_on_turn,
)


@contextlib.asynccontextmanager
async def served(data: Path | None = None, time: ManualClock | None = None) -> AsyncIterator[Running]:
    """Run a server with a quick stand-in, on a clock that only the test advances."""
    clock = time or ManualClock()
    config = Config(
        data=data, stand_in=at_random, limits=Limits(stand_in_seconds=0), timers=lambda: clock, seed=1
    )
    async with running(config) as server:
        yield server


async def changed(host: Peer, *settings: Setting) -> None:
    """Have the host change settings."""
    for setting in settings:
        await host.done(ChangeSetting(host.next_id(), setting))


async def play_to_the_end(peers: list[Peer]) -> None:
    """Play with whatever else moves until the game is over."""
    rng = random.Random(1)
    while peers[0].view is None or peers[0].view.result is None:
        if (mover := peer_on_turn(peers)) is not None:
            await mover.done(mover.random_move(rng))
            await all_caught_up(peers, mover.seq)
        else:
            await peers[0].until(Events)
            await all_caught_up(peers, peers[0].seq)


async def play_moves_of_stand_in(peers: list[Peer], moves: int) -> None:
    for _ in range(moves):
        while not (await peers[0].until(Events)).events:
            pass
        await all_caught_up(peers[1:], peers[0].seq)
