"""Answers to plain HTTP, and to whatever else is not a websocket."""

import asyncio
import http
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from server.limits.networks import Networks

_FOR_BROWSERS: Final = (
    "This is a Palatinus game server. It speaks to game clients, not to browsers.\n"
    "To play, run: palatinus join {scheme}://THIS_ADDRESS\n"
)


@dataclass(frozen=True, slots=True)
class Page:
    """What is answered at a path; if it is `compressed`, that is sent in place of the text."""

    status: http.HTTPStatus
    content_type: str
    text: str
    headers: Mapping[str, str] = field(default_factory=dict)
    compressed: bytes | None = None


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request of a browser, and how it came: over TLS, or by way of a trusted proxy.

    `local` is the server's own end of the connection, `counted_as` what the browser's address counts as. The
    browser is `near` if it may be in the server's own network.
    """

    method: str
    path: str
    query: str
    headers: Headers
    secure: bool
    proxied: bool
    local: str
    near: bool
    counted_as: Networks


class WatchedSite(Protocol):
    """What browsers are shown."""

    async def page(self, asked: PageRequest) -> Page:
        """Return the answer to a request for a page."""

    async def admits(self, asked: PageRequest) -> bool:
        """Return whether a browser may open a websocket here."""


def bad_request(transport: asyncio.BaseTransport) -> bytes:
    """Return the answer to what is not HTTP."""
    text = _for_browsers(tls=over_tls(transport))
    return (
        "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(text)}\r\n\r\n{text}"
    ).encode()


def _for_browsers(*, tls: bool) -> str:
    return _FOR_BROWSERS.format(scheme="wss" if tls else "ws")


def over_tls(transport: asyncio.BaseTransport) -> bool:
    return transport.get_extra_info("ssl_object") is not None


def upgrade_required(connection: ServerConnection, request: Request) -> Response:
    """Return the answer to a request that does not ask for a websocket."""
    # A client that lies about a proxy misleads nobody but itself.
    forwarded = request.headers.get_all("X-Forwarded-Proto")
    tls = over_tls(connection.transport) or any(each.startswith("https") for each in forwarded)
    response = connection.respond(http.HTTPStatus.UPGRADE_REQUIRED, _for_browsers(tls=tls))
    response.headers["Upgrade"] = "websocket"
    return response


def page_response(connection: ServerConnection, page: Page) -> Response:
    response = connection.respond(page.status, page.text)
    del response.headers["Content-Type"]
    response.headers["Content-Type"] = page.content_type
    response.headers["Cache-Control"] = "no-store"
    response.headers.update(page.headers)
    if page.compressed is not None:
        response.body = page.compressed
        del response.headers["Content-Length"]
        response.headers["Content-Length"] = str(len(page.compressed))
        response.headers["Content-Encoding"] = "gzip"
    return response
