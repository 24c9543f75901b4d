"""How many connections there may be, in all and from one address."""

import asyncio
import enum
import http
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response
from websockets.protocol import State

from protocol.http import FULL
from server.config import Limits
from server.logs import about
from server.net.addresses import UNKNOWN, Remote, remote_of
from server.net.connections.freed_memory import FreedMemory
from server.net.connections.plain_http import Page, page_response, upgrade_required
from server.net.proxies import TrustedProxies
from server.net.rate_limits import RateLimiter

log = logging.getLogger(__name__)

_FORWARDED_FOR: Final = "X-Forwarded-For"
_REFUSALS_PER_ADDRESS: Final = (
    16  # connections beyond an address's limit that get an answer; more are just cut
)


class RefusedFor(enum.StrEnum):
    """Why a connection got no further."""

    FULL = "full"  # the server
    ADDRESS_FULL = "address-full"
    PROXY_HEADER = "proxy-header"  # a trusted proxy's without one
    TLS = "tls"  # spoke something else, or not in time
    LONG_REQUEST = "long-request"
    TOO_FAST = "too-fast"
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True)
class _Open:
    """What is known of an open connection.

    `remote` is its other end, which a TLS connection that has ended no longer knows; if it is `forwarded`, it
    is where a trusted proxy says the client is.
    """

    transport: asyncio.Transport
    remote: Remote
    proxies: TrustedProxies | None = None  # if it comes from one that names its clients by X-Forwarded-For
    forwarded: bool = False


class ConnectionLimits:
    """Counts connections from the first byte on, and refuses those that are too many.

    `pages` are the answers to plain HTTP, by path; `refused` and `delayed` count for the metrics.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.pages: Mapping[str, Callable[[], Awaitable[Page]]] = {}
        self._open: dict[ServerConnection, _Open] = {}
        self._from_address: Counter[str] = Counter()
        self._freed_memory = FreedMemory()
        self._stopping = False
        self.refused: Counter[RefusedFor] = Counter()
        self.delayed = 0  # messages read later than they came
        self._complaints: set[str] = set()
        self._frames: dict[str, RateLimiter] = {}  # of all connections from an address together

    def __len__(self) -> int:
        """Return how many connections are open."""
        return len(self._open)

    def opened(
        self, connection: ServerConnection, transport: asyncio.Transport, proxies: TrustedProxies
    ) -> bool:
        """Count a connection and return True, unless its address has far too many for an answer."""
        remote = remote_of(transport)
        trusted = proxies.trusts(remote.address)
        # A proxy's own connections are its clients', and counted for them as soon as it has named them.
        most = self._limits.connections if trusted else self._limits.connections_per_address
        if self._stopping or self._from_address[remote.counted_as] >= most + _REFUSALS_PER_ADDRESS:
            self.refused[RefusedFor.STOPPING if self._stopping else RefusedFor.ADDRESS_FULL] += 1
            return False
        self._count(connection, _Open(transport, remote, proxies if trusted and not proxies.header else None))
        return True

    def forwarded(self, connection: ServerConnection, remote: Remote) -> bool:
        """Count a connection for the client that a trusted proxy names instead; answers as `opened` does."""
        known = self._open[connection]
        most = self._limits.connections_per_address + _REFUSALS_PER_ADDRESS
        if self._from_address[remote.counted_as] >= most:
            self.refused[RefusedFor.ADDRESS_FULL] += 1
            return False
        self._uncount(known)
        self._count(connection, _Open(known.transport, remote, forwarded=True))
        return True

    def remote(self, connection: ServerConnection) -> Remote:
        """Return where the client of a connection is, UNKNOWN once the connection has ended."""
        known = self._open.get(connection)
        return UNKNOWN if known is None else known.remote

    def _count(self, connection: ServerConnection, known: _Open) -> None:
        address = known.remote.counted_as
        self._open[connection] = known
        self._from_address[address] += 1
        self._frames.setdefault(
            address, RateLimiter(self._limits.burst_per_address, self._limits.rate_per_address)
        )

    def closed(self, connection: ServerConnection) -> None:
        """Stop counting a connection."""
        self._uncount(self._open.pop(connection))
        self._freed_memory.connection_ended()

    def _uncount(self, known: _Open) -> None:
        address = known.remote.counted_as
        self._from_address[address] -= 1
        if self._from_address[address] == 0:
            del self._from_address[address]
            del self._frames[address]

    def wait(self, connection: ServerConnection, now: float) -> float:
        """Count a frame for the connection's address; return how long not to read the connection."""
        known = self._open.get(connection)  # None if it has gone before it was heard
        return 0.0 if known is None else self._frames[known.remote.counted_as].wait(now)

    async def response(self, connection: ServerConnection, request: Request) -> Response | None:
        """Return the HTTP answer to a request that opens no websocket here, None if it may open one."""
        known = self._open.get(connection)  # None if it has gone before it was heard
        named = self._named_by_proxy(known, request)
        room = named is None or self.forwarded(connection, named)
        if not _asks_for_websocket(request):
            # Not by way of a proxy, which would show them to everybody.
            direct = known is not None and not (known.forwarded or (known.proxies and _forwards(request)))
            page = self.pages.get(request.path.partition("?")[0]) if direct else None
            response = (
                upgrade_required(connection) if page is None else page_response(connection, await page())
            )
            if request.method == "HEAD":
                response.body = b""
            return response
        from_there = self._from_address[self.remote(connection).counted_as]
        crowded = from_there > self._limits.connections_per_address
        if not room or crowded or len(self._open) > self._limits.connections:
            if room:  # otherwise it is counted already
                self.refused[RefusedFor.ADDRESS_FULL if crowded else RefusedFor.FULL] += 1
            return connection.respond(http.HTTPStatus.SERVICE_UNAVAILABLE, FULL)
        return None

    def _named_by_proxy(self, known: _Open | None, request: Request) -> Remote | None:
        """Return the client that a trusted proxy names in a request, None if it names none."""
        if known is None or known.proxies is None:
            return None
        named = known.proxies.client(request.headers.get_all(_FORWARDED_FOR))
        if named is None and _asks_for_websocket(request):
            self._complain(known.remote, _FORWARDED_FOR)
        return named

    def no_proxy_header(self, connection: ServerConnection) -> None:
        """Take note that a trusted proxy's connection does not begin with the header it should."""
        self.refused[RefusedFor.PROXY_HEADER] += 1
        self._complain(self.remote(connection), "PROXY")

    def _complain(self, proxy: Remote, header: str) -> None:
        if header not in self._complaints:  # otherwise every connection would be a line in the log
            self._complaints.add(header)
            log.warning(
                "a trusted proxy sends no such header", extra=about(address=proxy.name, header=header)
            )

    def stop(self) -> None:
        """Cut connections without a request so far, and all to come: a stopping server waits for none."""
        self._stopping = True
        for connection, known in self._open.items():
            if connection.protocol.state is State.CONNECTING:
                known.transport.abort()


def _forwards(request: Request) -> bool:
    return _FORWARDED_FOR in request.headers


def _asks_for_websocket(request: Request) -> bool:
    return "websocket" in (value.lower() for value in request.headers.get_all("Upgrade"))
