"""The connections from one address: how many there may be, who makes room, and how fast they are read."""

import asyncio
from itertools import islice
from typing import Final

from server.config import Limits
from server.net.connections.fair_rate import FairRate, SharingConnection

_FOR_RETURNS: Final = 16  # of an address's connections: for players who come back to their seats
_LEAST_PART_FOR_SEATS: Final = 0.75  # of an address's connections, where there are few
_SECONDS_TO_SIT_DOWN: Final = 2.0  # before a connection has to make room for a newer one


class Address:
    """The open connections from one address, at most `most`, those with a seat apart."""

    def __init__(self, limits: Limits, most: int, loop: asyncio.AbstractEventLoop) -> None:
        self.frames = FairRate(limits.burst_per_address, limits.rate_per_address, loop)
        self.most = most
        self._seats = max(most - _FOR_RETURNS, round(most * _LEAST_PART_FOR_SEATS))
        self._loop = loop
        # In both the longest there comes first, with the time since when.
        self._seated: dict[SharingConnection, float] = {}
        self._others: dict[SharingConnection, float] = {}

    def __len__(self) -> int:
        return len(self._seated) + len(self._others)

    def add(self, connection: SharingConnection) -> None:
        """Count a connection."""
        self._others[connection] = self._loop.time()
        self.frames.add(connection)

    def remove(self, connection: SharingConnection) -> None:
        """Stop counting a connection."""
        self._seated.pop(connection, None)
        self._others.pop(connection, None)

    def sit(self, connection: SharingConnection, *, seated: bool) -> None:
        """Take note that a connection has a seat now, or has none any more."""
        if connection not in (self._others if seated else self._seated):
            return  # it has been cut, or had a seat before
        self.remove(connection)
        connection.seated = seated
        (self._seated if seated else self._others)[connection] = self._loop.time()

    @property
    def has_seats_left(self) -> bool:
        """Tell whether a connection may take a new seat; coming back to one is always allowed."""
        return len(self._seated) < self._seats

    def dispensable(self) -> SharingConnection | None:
        """Return the connection that makes room for a newer one, None if there is none.

        It has no seat, unless players have come back to more seats than the address may have at once.
        """
        beyond = islice(self._seated.items(), self._seats, None)
        for connection, since in (*islice(self._others.items(), 1), *islice(beyond, 1)):
            if self._loop.time() - since >= _SECONDS_TO_SIT_DOWN:
                return connection
        return None
