"""Requests that wait: answered once, whatever else happens to them."""

import asyncio
from collections.abc import Callable

import pytest

from client.network.transport import ConnectFailed
from client.network.waiting import Waiting
from protocol.messages import Done, Leave, Refused

ENDS: dict[str, Callable[[Waiting], None]] = {
    "answered": lambda waiting: waiting.settle(Done(1)),
    "failed": lambda waiting: waiting.fail(ConnectFailed("lost")),
    "refused": lambda waiting: waiting.refuse(Refused("not-at-table", "You are at no table.", 1)),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
async def test_only_the_first_end_of_a_request_counts(end: Callable[[Waiting], None]) -> None:
    """A caller that has given up, or was answered in the same moment, is told nothing more."""
    loop = asyncio.get_running_loop()
    settled = Waiting(Leave(1), Done, loop.create_future())
    settled.alarm = loop.call_later(3600, settled.fail, ConnectFailed("late"))
    settled.settle(Done(1))
    given_up = Waiting(Leave(1), Done, loop.create_future())
    given_up.answer.cancel()
    for waiting in (settled, given_up):
        end(waiting)
        assert waiting.alarm is None
    assert await settled.answer == Done(1)
    assert given_up.answer.cancelled()
