"""Players who are away, for the tests of what is done about them."""

import contextlib
import random
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from client.bots.brains import at_random
from protocol.messages import (
    Events,
    TableState,
    Vote,
)
from server.app import Running, running
from server.config import Choose, Config, Limits
from server.tables.absence.policy import ActingPolicy
from tests.server.manual_clock import ManualClock
from tests.server.peer import (
    Peer,
    all_caught_up,
    peer_on_turn,
    table_of,
)
from tests.server.tables.states import next_state_where

LONG_PAUSE = 3600.0


@contextlib.asynccontextmanager
async def served(
    data: Path | None = None,
    stand_in: Choose = at_random,
    *,
    pause: float = 0.0,
    time: ManualClock | None = None,
) -> AsyncIterator[Running]:
    """Run a server on a clock that only the test advances."""
    limits, clock = Limits(stand_in_seconds=pause), time or ManualClock()
    async with running(Config(data=data, stand_in=stand_in, limits=limits, timers=lambda: clock)) as server:
        yield server


def held_by_bot(seat: int) -> Callable[[TableState], bool]:
    return lambda state: state.seats[seat].bot


async def play_with_stand_in(peers: Sequence[Peer], chooser: random.Random) -> list[Events]:
    """Play to the end with the stand-in for all seats not among `peers`; return the events of its moves."""
    events_of_stand_in: list[Events] = []
    while peers[0].view is None or peers[0].view.result is None:
        if (mover := peer_on_turn(peers)) is not None:
            await mover.done(mover.random_move(chooser))
            await all_caught_up(peers, mover.seq)
        else:
            events = await peers[0].until(Events)
            events_of_stand_in.append(events)
            await all_caught_up(peers, peers[0].seq)
    return events_of_stand_in


def policy_of(server: Running, peers: Sequence[Peer]) -> ActingPolicy:
    policy = table_of(server, peers)._context.policy
    assert isinstance(policy, ActingPolicy)
    return policy


async def disconnect(peer: Peer, among: Peer) -> TableState:
    """Break the peer's connection; return the state in which `among` sees it."""
    seat = peer.seat
    assert seat is not None
    await peer.socket.close()
    return await next_state_where(among, lambda state: not state.seats[seat].here)


def vote(peer: Peer, seat: int, *, agree: bool = True) -> Vote:
    return Vote(peer.next_id(), seat, agree)


def tally(state: TableState, seat: int) -> tuple[list[int], int]:
    return state.seats[seat].votes, state.seats[seat].votes_needed
