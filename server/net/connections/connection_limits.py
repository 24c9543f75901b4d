"""How many connections there may be, in all and from one address."""

import asyncio
import http
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response
from websockets.protocol import State

from server.config import Limits
from server.net.addresses import counted_address
from server.net.connections.freed_memory import FreedMemory
from server.net.connections.plain_http import Page, page_response, upgrade_required
from server.net.rate_limits import RateLimiter

_FULL: Final = "This Palatinus server has no room for more connections. Try again later.\n"
_REFUSALS_PER_ADDRESS: Final = (
    16  # connections beyond an address's limit that get an answer; more are just cut
)


@dataclass(frozen=True, slots=True)
class _Open:
    """What is known of an open connection: its end by TCP, and what its address counts as."""

    transport: asyncio.Transport
    address: str  # which a TLS connection that has ended no longer knows


class ConnectionLimits:
    """Counts connections from the first byte on, and refuses those that are too many.

    `pages` are the answers to plain HTTP, by path.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.pages: Mapping[str, Callable[[], Awaitable[Page]]] = {}
        self._open: dict[ServerConnection, _Open] = {}
        self._from_address: Counter[str] = Counter()
        self._freed_memory = FreedMemory()
        self._stopping = False
        self._frames: dict[str, RateLimiter] = {}  # of all connections from an address together

    def __len__(self) -> int:
        """Return how many connections are open."""
        return len(self._open)

    def opened(self, connection: ServerConnection, transport: asyncio.Transport) -> bool:
        """Count a connection and return True, unless its address has far too many for an answer."""
        address = counted_address(transport)
        if (
            self._stopping
            or self._from_address[address] >= self._limits.connections_per_address + _REFUSALS_PER_ADDRESS
        ):
            return False
        self._open[connection] = _Open(transport, address)
        self._from_address[address] += 1
        self._frames.setdefault(
            address, RateLimiter(self._limits.burst_per_address, self._limits.rate_per_address)
        )
        return True

    def closed(self, connection: ServerConnection) -> None:
        """Stop counting a connection."""
        address = self._open.pop(connection).address
        self._from_address[address] -= 1
        if self._from_address[address] == 0:
            del self._from_address[address]
            del self._frames[address]
        self._freed_memory.connection_ended()

    def wait(self, connection: ServerConnection, now: float) -> float:
        """Count a frame for the connection's address; return how long not to read the connection."""
        known = self._open.get(connection)  # None if it has gone before it was heard
        return 0.0 if known is None else self._frames[known.address].wait(now)

    async def response(self, connection: ServerConnection, request: Request) -> Response | None:
        """Return the HTTP answer to a request that opens no websocket here, None if it may open one."""
        if "websocket" not in (value.lower() for value in request.headers.get_all("Upgrade")):
            page = self.pages.get(request.path.partition("?")[0])
            response = (
                upgrade_required(connection) if page is None else page_response(connection, await page())
            )
            if request.method == "HEAD":
                response.body = b""
            return response
        full = len(self._open) > self._limits.connections
        known = self._open.get(connection)  # None if it has gone before it was heard
        if full or (known and self._from_address[known.address] > self._limits.connections_per_address):
            return connection.respond(http.HTTPStatus.SERVICE_UNAVAILABLE, _FULL)
        return None

    def stop(self) -> None:
        """Cut connections without a request so far, and all to come: a stopping server waits for none."""
        self._stopping = True
        for connection, known in self._open.items():
            if connection.protocol.state is State.CONNECTING:
                known.transport.abort()
