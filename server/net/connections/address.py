"""The connections from one address: how many there may be, who makes room, and whose frame is read next.

When they send faster than the address may, that is start-time fair queueing (Goyal, Vin, Cheng 1996) behind a
token bucket. Each frame has a place in a common order: a connection's next frame comes behind its last one by
what a frame costs. A connection that sends little comes before those that never stop; a new one comes after
all that wait already, so that no number of new ones can keep anybody waiting. Networks inside a wider one
take turns for its rate in the same way.
"""

import asyncio
import enum
import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Protocol

from websockets.asyncio.server import ServerConnection

from server.net.addresses import UNKNOWN
from server.net.proxies import TrustedProxies
from server.probes import probe

_FOR_RETURNS: Final = 16  # of an address's connections: for players who come back to their seats
_LEAST_PART_FOR_SEATS: Final = 0.75  # of an address's connections, where there are few
_SECONDS_TO_SIT_DOWN: Final = 2.0  # before a connection has to make room for a newer one
_COST: Final = 2  # of a frame ...
_COST_WITH_SEAT: Final = 1  # ... from somebody whom others wait for
_CREDIT: Final = 4  # how far ahead of the others a connection may be after a silence


class RefusedFor(enum.StrEnum):
    """Why a connection got no further."""

    FULL = "full"  # the server
    ADDRESS_FULL = "address-full"
    PROXY_HEADER = "proxy-header"  # a trusted proxy's without one
    TLS = "tls"  # spoke something else, or not in time
    LONG_REQUEST = "long-request"
    TOO_FAST = "too-fast"
    STOPPING = "stopping"
    BANNED = "banned"


class Sharing(Protocol):
    """What takes turns with others."""

    place: int  # of its next frame in the order, at the earliest
    seated: bool

    def read_in_turn(self) -> None:
        """Read the frame that waited for its turn."""


class SharingConnection(ServerConnection):
    """A connection that takes turns with the others from its address.

    `remote` is where the client is, as far as is known, and `forwarded` whether a trusted proxy has said so;
    `address` has all connections from there, None if this one is not counted, or has ended. `refusal` is why
    it is let in only to be refused, if it is. `network` is the transport, below TLS if that is spoken.
    """

    __slots__ = ("address", "forwarded", "network", "place", "proxies", "refusal", "remote", "seated")
    network: asyncio.Transport

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.remote, self.place, self.seated, self.forwarded = UNKNOWN, 0, False, False
        self.address: AddressConnections | None = None
        self.refusal: RefusedFor | None = None
        self.proxies: TrustedProxies | None = None  # if it is from one that names clients by X-Forwarded-For

    def read_in_turn(self) -> None:
        """Read the frame that waited for its turn."""
        raise NotImplementedError


class FairRate:
    """`burst` frames at once, and `rate` a second after that, shared fairly; those count `around` it too."""

    place = 0
    seated = False

    def __init__(self, burst: float, rate: float, around: "FairRate | None" = None) -> None:
        self._around = around
        self._in_line = False  # with others around
        if around is not None:
            around.add(self)
        self._burst = burst
        self._rate = rate
        self._loop = asyncio.get_running_loop()
        self._left = burst
        self._counted_at = self._loop.time()
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
        probe("a frame waits for its turn")
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


@dataclass(eq=False, repr=False)
class AddressConnections:
    """The open connections from one address, at most `most`, those with a seat apart.

    Or those from a network, with the addresses or networks `inside` it by their names; `beside` are those
    that it is among, while it has connections.
    """

    name: str
    beside: dict[str, "AddressConnections"]
    around: "AddressConnections | None"
    most: int
    frames: FairRate

    def __post_init__(self) -> None:
        self.inside: dict[str, AddressConnections] = {}
        self.seats_taken = self.without_seat = 0  # by connections
        self.seats = max(self.most - _FOR_RETURNS, round(self.most * _LEAST_PART_FOR_SEATS))
        self._now = asyncio.get_running_loop().time
        # In both the longest there comes first, with the time since when.
        self._seated: dict[SharingConnection, float] = {}
        self._others: dict[SharingConnection, float] = {}

    def __len__(self) -> int:
        return self.seats_taken + self.without_seat

    def and_around(self) -> Iterator["AddressConnections"]:
        """Yield this and the networks around it, the widest last."""
        yield self
        if self.around is not None:
            yield from self.around.and_around()

    def add(self, connection: SharingConnection) -> None:
        self._others[connection] = self._now()
        self._count(without_seat=1)
        self.frames.add(connection)

    def remove(self, connection: SharingConnection) -> None:
        if self._seated.pop(connection, None) is not None:
            self._count(seats_taken=-1)
        elif self._others.pop(connection, None) is not None:
            self._count(without_seat=-1)

    def sit(self, connection: SharingConnection, *, seated: bool) -> None:
        """Record that a connection has a seat now, or has none any more."""
        before, after = (self._others, self._seated) if seated else (self._seated, self._others)
        if before.pop(connection, None) is None:
            return  # it has been cut, or had a seat before
        after[connection] = self._now()
        connection.seated = seated
        change = 1 if seated else -1
        self._count(seats_taken=change, without_seat=-change)

    @property
    def has_seats_left(self) -> bool:
        """Return whether a connection may take a new seat; coming back to one is always allowed."""
        return all(each.seats_taken < each.seats for each in self.and_around())

    def most_crowded(self) -> "AddressConnections":
        """Return the address inside with the most connections without a seat, or this one if it is one."""
        found = self
        while found.inside:
            found = max(found.inside.values(), key=lambda each: each.without_seat)
        return found

    def dispensable(self, *, at_once: bool) -> SharingConnection | None:
        """Return the connection that makes room for a newer one, None if there is none.

        It has no seat, unless players have come back to more seats than the address may have at once. If not
        `at_once`, it has had its time to sit down.
        """
        since = self._now() - (0.0 if at_once else _SECONDS_TO_SIT_DOWN)
        beyond = islice(self._seated.items(), self.seats, None)
        for connection, came in (*islice(self._others.items(), 1), *islice(beyond, 1)):
            if came <= since:
                return connection
        return None

    def _count(self, *, seats_taken: int = 0, without_seat: int = 0) -> None:
        for each in self.and_around():
            each.seats_taken += seats_taken
            each.without_seat += without_seat
            if len(each) > 0:
                each.beside[each.name] = each
            elif each.beside.get(each.name) is each:
                del each.beside[each.name]
