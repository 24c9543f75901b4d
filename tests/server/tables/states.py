"""Waiting for a table's state to be as a test wants it."""

from collections.abc import Callable

from protocol.messages import TableState
from tests.server.peer import Peer


async def state_where(peer: Peer, condition: Callable[[TableState], bool]) -> TableState:
    """Return the state of the table as soon as it meets the condition."""
    state = next((each for each in reversed(peer.received) if isinstance(each, TableState)), None)
    while state is None or not condition(state):
        state = await peer.until(TableState)
    return state


async def next_state_where(peer: Peer, condition: Callable[[TableState], bool]) -> TableState:
    """Return the next state of the table that meets the condition."""
    while not condition(state := await peer.until(TableState)):
        pass
    return state
