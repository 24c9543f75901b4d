"""A second way in, for a program of this computer that connects for others and says where they are."""

import contextlib
import hmac
import ipaddress
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from websockets.asyncio.server import Server
from websockets.http11 import Request

from server.config import Config, Limits
from server.net.access import Access
from server.net.connections.connection_limits import ConnectionLimits
from server.net.connections.limited_connection import LimitedConnection
from server.net.listener import listening_socket, websocket_server
from server.net.proxies import TrustedProxies

_HOST: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Gateway:
    """A listening gateway; whoever shows its `token` is believed where clients are."""

    server: Server
    url: str
    token: str = field(repr=False)


@contextlib.asynccontextmanager
async def open_gateway(
    limits: Limits,
    connection_limits: ConnectionLimits,
    converse: Callable[[LimitedConnection], Awaitable[None]],
) -> AsyncIterator[Gateway]:
    """Serve on a port of this computer until the context ends; raises StartError.

    X-Forwarded-For is believed there, so every program of this computer could make up addresses: requests
    without the token (`Authorization: Bearer`) are answered with 401.
    """
    token = secrets.token_urlsafe(32)
    access = Access(None, None, TrustedProxies((ipaddress.ip_network(_HOST),)))

    def admits(request: Request) -> bool:
        shown = request.headers.get_all("Authorization")
        return len(shown) == 1 and hmac.compare_digest(shown[0].encode(), f"Bearer {token}".encode())

    with listening_socket(Config(host=_HOST)) as listener:
        url = f"ws://{_HOST}:{listener.getsockname()[1]}"
        async with websocket_server(
            listener, access, limits, connection_limits, converse, admits=admits
        ) as server:
            yield Gateway(server, url, token)
