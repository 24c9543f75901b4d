"""The connections from one address: how many there may be, who makes room, and how fast they are read."""

import asyncio
from collections.abc import Iterator
from itertools import islice
from typing import Final

from server.config import Limits
from server.net.connections.fair_rate import FairRate, SharingConnection

_FOR_RETURNS: Final = 16  # of an address's connections: for players who come back to their seats
_LEAST_PART_FOR_SEATS: Final = 0.75  # of an address's connections, where there are few
_SECONDS_TO_SIT_DOWN: Final = 2.0  # before a connection has to make room for a newer one


class Address:
    """The open connections from one address, at most `most`, those with a seat apart.

    Or those from a network, with the addresses or networks `inside` it by their names; `beside` are those
    that it is among, while it has connections. A network may send `multiple` times what an address may.
    """

    def __init__(
        self,
        name: str,
        beside: dict[str, "Address"],
        around: "Address | None",
        *,
        most: int,
        limits: Limits,
        multiple: float,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        burst, rate = multiple * limits.burst_per_address, multiple * limits.rate_per_address
        self.frames: FairRate = FairRate(
            burst, rate, self._loop, around.frames if around is not None else None
        )
        self.most = most
        self.inside: dict[str, Address] = {}
        self.seats_taken = self.without_seat = 0  # by connections
        self.name, self.beside, self._around = name, beside, around
        self.seats = max(most - _FOR_RETURNS, round(most * _LEAST_PART_FOR_SEATS))
        # In both the longest there comes first, with the time since when.
        self._seated: dict[SharingConnection, float] = {}
        self._others: dict[SharingConnection, float] = {}

    def __len__(self) -> int:
        return self.seats_taken + self.without_seat

    def and_around(self) -> Iterator["Address"]:
        """Yield this and the networks around it, the widest last."""
        yield self
        if self._around is not None:
            yield from self._around.and_around()

    def add(self, connection: SharingConnection) -> None:
        """Count a connection."""
        self._others[connection] = self._loop.time()
        self._count(without_seat=1)
        self.frames.add(connection)

    def remove(self, connection: SharingConnection) -> None:
        """Stop counting a connection."""
        if self._seated.pop(connection, None) is not None:
            self._count(seats_taken=-1)
        elif self._others.pop(connection, None) is not None:
            self._count(without_seat=-1)

    def sit(self, connection: SharingConnection, *, seated: bool) -> None:
        """Record that a connection has a seat now, or has none any more."""
        before, after = (self._others, self._seated) if seated else (self._seated, self._others)
        if before.pop(connection, None) is None:
            return  # it has been cut, or had a seat before
        after[connection] = self._loop.time()
        connection.seated = seated
        change = 1 if seated else -1
        self._count(seats_taken=change, without_seat=-change)

    @property
    def has_seats_left(self) -> bool:
        """Return whether a connection may take a new seat; coming back to one is always allowed."""
        return all(each.seats_taken < each.seats for each in self.and_around())

    def most_crowded(self) -> "Address":
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
        since = self._loop.time() - (0.0 if at_once else _SECONDS_TO_SIT_DOWN)
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
