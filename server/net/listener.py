"""Listening, with limits on everything a client could exhaust, and the gateway for a local program."""

import contextlib
import hmac
import http
import ipaddress
import logging
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, cast

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response

from protocol.limits import CLIENT_FRAME_BYTES
from server.config import Config
from server.errors import StartError
from server.limits.fair_thread import FairThread
from server.net.access import AccessControl
from server.net.connections.accepting import AcceptedConnection
from server.net.connections.connection_limits import ConnectionLimits
from server.net.connections.limited_connection import LimitedConnection
from server.net.proxies import TrustedProxies

_BACKLOG: Final = 1024
_ACCEPTED_AT_ONCE: Final = 16  # asyncio would accept the whole backlog before it does anything else
# The system's own buffers for each connection: small, or a thousand connections would cost gigabytes.
_RECEIVE_BUFFER: Final = 2 * CLIENT_FRAME_BYTES
_SEND_BUFFER: Final = 64 * 1024
_NO_WRITE_LIMIT: Final = 2**30  # bytes; who lets Limits.outgoing_bytes pile up is dropped long before

wire_log: Final = logging.getLogger("palatinus.wire")
# Below that it would log whole frames: hidden pieces, tokens.
wire_log.setLevel(max(wire_log.level, logging.INFO))

_HOST: Final = "127.0.0.1"


def listening_socket(config: Config) -> socket.socket:
    """Return a socket that listens where `config` says; raises StartError if that cannot be."""
    try:
        host: bytes | str = config.host.encode() if config.host.isascii() else config.host
        found = socket.getaddrinfo(host, config.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        both = address[0] == "::" and socket.has_dualstack_ipv6()  # `::` stands for all IPv4 addresses too
        listener = socket.create_server(address[:2], family=family, backlog=_BACKLOG, dualstack_ipv6=both)
    except (OSError, UnicodeError) as error:  # UnicodeError: a host name that cannot be one
        said: str = getattr(error, "strerror", None) or str(error)
        reason = said.partition(" (while attempting")[0]  # Python appends the address
        raise StartError(
            "cannot listen on {host} port {port}: {reason}. Choose another --host or --port",
            host=config.host,
            port=config.port,
            reason=reason,
        ) from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)  # connections inherit these
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
    return listener


@contextlib.asynccontextmanager
async def websocket_server(
    listener: socket.socket,
    access: AccessControl,
    connection_limits: ConnectionLimits,
    converse: Callable[[LimitedConnection], Awaitable[None]],
    *,
    admits: Callable[[Request], bool] | None = None,
) -> AsyncIterator[Server]:
    """Serve until the context ends: run `converse` with each connection whose request is admitted."""

    async def response(connection: ServerConnection, request: Request) -> Response | None:
        if admits is not None and not admits(request):
            return connection.respond(http.HTTPStatus.UNAUTHORIZED, "")
        return await connection_limits.response(connection, request)

    limits = connection_limits.limits
    handshakes: FairThread[bool] = FairThread("TLS", limits.handshakes_cpu)

    def create_connection(*args: Any, **options: Any) -> AcceptedConnection:
        connection = LimitedConnection(connection_limits, *args, **options)
        return AcceptedConnection(connection, connection_limits, access, handshakes)

    serving = serve(
        cast("Callable[[ServerConnection], Awaitable[None]]", converse),
        sock=listener,
        backlog=_ACCEPTED_AT_ONCE,
        # Browsers are refused: a page from anywhere could play with its visitor's seat.
        origins=[None],
        compression=None,  # moves are tiny, and a compressed bomb cannot be measured before it bursts
        process_request=response,
        create_connection=cast("type[ServerConnection]", create_connection),
        server_header=None,
        open_timeout=limits.hello_seconds,
        ping_interval=limits.ping_seconds,
        ping_timeout=limits.ping_seconds,
        close_timeout=limits.close_seconds,
        max_size=CLIENT_FRAME_BYTES,
        # Never wait for a slow reader: pings and closing would wait too, and it would stay connected forever.
        write_limit=_NO_WRITE_LIMIT,
        logger=wire_log,
    )
    with contextlib.closing(handshakes):
        async with serving as server:
            listener.listen(_BACKLOG)
            yield server


@contextlib.asynccontextmanager
async def open_gateway(
    told: Callable[[str, str], None],
    connection_limits: ConnectionLimits,
    converse: Callable[[LimitedConnection], Awaitable[None]],
) -> AsyncIterator[Server]:
    """Serve on a port of this computer until the context ends; raises StartError.

    `told` is called with the URL, and with a token: whoever shows it is believed where clients are.

    X-Forwarded-For is believed there, so every program of this computer could make up addresses: requests
    without the token (`Authorization: Bearer`) are answered with 401.
    """
    token = secrets.token_urlsafe(32)
    access = AccessControl(None, None, TrustedProxies((ipaddress.ip_network(_HOST),)))

    def admits(request: Request) -> bool:
        shown = request.headers.get_all("Authorization")
        return len(shown) == 1 and hmac.compare_digest(shown[0].encode(), f"Bearer {token}".encode())

    with listening_socket(Config(host=_HOST)) as listener:
        url = f"ws://{_HOST}:{listener.getsockname()[1]}"
        async with websocket_server(listener, access, connection_limits, converse, admits=admits) as server:
            told(url, token)
            yield server
