"""The door: how many may come in, and how little a connection may cost before anything is understood."""

import asyncio
import http
import ipaddress
import socket
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from websockets.asyncio.server import ServerConnection
from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import SEND_EOF, State

from server.config import Limits
from server.net.rate_limits import Pace

_FOR_BROWSERS: Final = (
    "This is a Palatinus game server. It speaks to game clients, not to browsers.\n"
    "To play, run: palatinus join ws://THIS_ADDRESS\n"
)
_FOR_SCANNERS: Final = (
    f"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n"
    f"Content-Length: {len(_FOR_BROWSERS)}\r\n\r\n{_FOR_BROWSERS}"
).encode()
_FULL: Final = "This Palatinus server has no room for more connections. Try again later.\n"
_TURNED_AWAY: Final = 16  # connections of an address beyond its limit that are told so; more get no word
_CHUNK: Final = 4096  # bytes that are parsed before anyone asks whether the connection behaves
_CONTROL: Final = frozenset({Opcode.PING, Opcode.PONG})


@dataclass(frozen=True, slots=True)
class Page:
    """What plain HTTP is answered at a path."""

    status: http.HTTPStatus
    content_type: str
    text: str


class Door:
    """Counts who is here, from the first byte on, and answers those who may not come in.

    `pages` are shown to whoever asks for their paths in plain HTTP.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.pages: Mapping[str, Callable[[], Page]] = {}
        # With its address, which a connection by TLS that has ended cannot tell any more.
        self._here: dict[ServerConnection, str] = {}
        self._from_address: Counter[str] = Counter()

    def caller(self, *args: Any, **options: Any) -> "Caller":
        """Make a connection that this door watches."""
        return Caller(self, *args, **options)

    def arrived(self, connection: ServerConnection) -> None:
        address = self._here[connection] = counted_address(connection)
        self._from_address[address] += 1
        if self._from_address[address] > self.limits.connections_per_address + _TURNED_AWAY:
            connection.transport.abort()

    def left(self, connection: ServerConnection) -> None:
        address = self._here.pop(connection)
        self._from_address[address] -= 1
        if self._from_address[address] == 0:
            del self._from_address[address]

    def admitted(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer politely whoever is no game client, or comes when the house is full."""
        if "websocket" not in (value.lower() for value in request.headers.get_all("Upgrade")):
            page = self.pages.get(request.path.partition("?")[0])
            response = _upgrade_required(connection) if page is None else _shown(connection, page())
            if request.method == "HEAD":
                response.body = b""
            return response
        full = len(self._here) > self.limits.connections
        address = self._here.get(connection, "")  # it may have left before it was heard
        if full or self._from_address[address] > self.limits.connections_per_address:
            return connection.respond(http.HTTPStatus.SERVICE_UNAVAILABLE, _FULL)
        return None

    def __len__(self) -> int:
        """Return how many connections are open."""
        return len(self._here)

    def close(self) -> None:
        """Let go of those who have not asked for anything yet: nobody waits for them."""
        for connection in self._here:
            if connection.protocol.state is State.CONNECTING:
                connection.transport.abort()


class Caller(ServerConnection):
    """A connection that can neither stall the server nor make it hold much."""

    def __init__(self, door: Door, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._door = door
        self._pace = Pace(door.limits.burst, door.limits.rate)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        # asyncio does so itself only for sockets that name their protocol, which create_server's do not;
        # without it a move waits up to 40 ms for the acknowledgement of the one before.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._door.arrived(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._door.left(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), _CHUNK):
            if self.transport.is_closing():
                return
            super().data_received(data[start : start + _CHUNK])

    def process_event(self, event: Any) -> None:
        if isinstance(event, Frame) and event.opcode in _CONTROL and self._pace.wait(self.loop.time()) > 0:
            self.transport.abort()  # unlike messages, pings cannot be read later
            return
        super().process_event(event)

    def send_data(self) -> None:
        # All in one piece: thousands of pongs one by one would be thousands of system calls, and, once
        # the other end is gone, thousands of warnings.
        writes = self.protocol.data_to_send()
        if self.transport.is_closing():
            return
        if self.request is None and writes == [SEND_EOF]:
            writes = [_FOR_SCANNERS, SEND_EOF]  # what came was no HTTP that websockets can read
        if data := b"".join(writes):
            self.transport.write(data)
        if SEND_EOF in writes:
            if self.transport.can_write_eof():
                self.transport.write_eof()
            else:
                self.transport.close()


def _upgrade_required(connection: ServerConnection) -> Response:
    response = connection.respond(http.HTTPStatus.UPGRADE_REQUIRED, _FOR_BROWSERS)
    response.headers["Upgrade"] = "websocket"
    return response


def _shown(connection: ServerConnection, page: Page) -> Response:
    response = connection.respond(page.status, page.text)
    del response.headers["Content-Type"]
    response.headers["Content-Type"] = page.content_type
    response.headers["Cache-Control"] = "no-store"
    return response


def counted_address(connection: ServerConnection) -> str:
    """Return what the other end's address counts as."""
    address = connection.remote_address
    return counted_as(str(address[0])) if address else "?"


def counted_as(address: str) -> str:
    """Return what an address counts as: a household has a whole IPv6 /64, and takes any address of it."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found.packed, 64), strict=False))
