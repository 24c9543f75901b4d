"""Whose frame is read next, when connections that share an address send faster than the address may.

Start-time fair queueing (Goyal, Vin, Cheng 1996) behind a token bucket. Each frame has a place in a common
order: a connection's next frame comes behind its last one by what a frame costs. A connection that sends
little comes before those that never stop; a new one comes after all that wait already, so that no number of
new ones can keep anybody waiting. Networks inside a wider one take turns for its rate in the same way.
"""

import asyncio
import heapq
import itertools
from typing import Final, Protocol

from websockets.asyncio.server import ServerConnection

_COST: Final = 2  # of a frame ...
_COST_WITH_SEAT: Final = 1  # ... from somebody whom others wait for
_CREDIT: Final = 4  # how far ahead of the others a connection may be after a silence


class Sharing(Protocol):
    """What takes turns with others."""

    place: int  # of its next frame in the order, at the earliest
    seated: bool

    def read_in_turn(self) -> None:
        """Read the frame that waited for its turn."""


class SharingConnection(ServerConnection):
    """A connection that takes turns with the others from its address."""

    place = 0
    seated = False

    def read_in_turn(self) -> None:
        """Read the frame that waited for its turn."""
        raise NotImplementedError


class FairRate:
    """`burst` frames at once, and `rate` a second after that, shared fairly; those count `around` it too."""

    place = 0
    seated = False

    def __init__(
        self, burst: float, rate: float, loop: asyncio.AbstractEventLoop, around: "FairRate | None" = None
    ) -> None:
        self._around = around
        self._in_line = False  # with others around
        if around is not None:
            around.add(self)
        self._burst = burst
        self._rate = rate
        self._loop = loop
        self._left = burst
        self._counted_at = loop.time()
        self._present = 0  # the place of the latest frame read
        self._numbers = itertools.count()
        self._queue: list[tuple[int, int, int, Sharing]] = []  # by place, cost and age
        self._timer: asyncio.Handle | None = None

    def add(self, connection: Sharing) -> None:
        """Give a new connection its place."""
        connection.place = self._present + _COST

    def take(self, connection: Sharing) -> bool:
        """Return True if `connection` may read a frame now; otherwise call its `read_in_turn` later."""
        place, earliest = connection.place, self._present - _CREDIT
        place = earliest if place < earliest else place  # noqa: FURB136 - max is a slow call, once for each frame
        cost = _COST_WITH_SEAT if connection.seated else _COST
        connection.place = place + cost
        if not self._queue and self._take_one():
            self._present = place if place > self._present else self._present  # noqa: FURB136 - as above
            return True
        heapq.heappush(self._queue, (place, cost, next(self._numbers), connection))
        if self._timer is None and not self._in_line:
            self._wait()
        return False

    def leave(self, connection: Sharing) -> None:
        """Forget a connection that waits."""
        self._queue = [each for each in self._queue if each[3] is not connection]
        heapq.heapify(self._queue)

    def _take_one(self) -> bool:
        now = self._loop.time()
        left = self._left + (now - self._counted_at) * self._rate
        self._left = self._burst if left > self._burst else left  # noqa: FURB136 - as above
        self._counted_at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        self._in_line = self._around is not None and not self._around.take(self)
        return not self._in_line

    def _wait(self) -> None:
        """Go on when the next frame may be read: other addresses have their turn before it."""
        if self._left >= 1.0:
            self._timer = self._loop.call_soon(self._go_on)
        else:
            when = self._counted_at + (1.0 - self._left) / self._rate
            self._timer = self._loop.call_at(when, self._go_on)

    def _go_on(self) -> None:
        self._timer = None
        if self._queue and self._take_one():
            self.read_in_turn()
        elif self._queue and not self._in_line:
            self._wait()

    def read_in_turn(self) -> None:
        """Read the next frame, unless its client has gone in the meantime."""
        self._in_line = False
        if self._queue:
            place, _, _, connection = heapq.heappop(self._queue)
            self._present = max(self._present, place)
            connection.read_in_turn()
        if self._queue and self._timer is None and not self._in_line:
            self._wait()
