"""Answers to plain HTTP, and to whatever else is not a websocket."""

import http
from dataclasses import dataclass
from typing import Final

from websockets.asyncio.server import ServerConnection
from websockets.http11 import Response

_FOR_BROWSERS: Final = (
    "This is a Palatinus game server. It speaks to game clients, not to browsers.\n"
    "To play, run: palatinus join ws://THIS_ADDRESS\n"
)
BAD_REQUEST: Final = (
    f"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n"
    f"Content-Length: {len(_FOR_BROWSERS)}\r\n\r\n{_FOR_BROWSERS}"
).encode()


@dataclass(frozen=True, slots=True)
class Page:
    """What is answered at a path."""

    status: http.HTTPStatus
    content_type: str
    text: str


def upgrade_required(connection: ServerConnection) -> Response:
    """Return the answer to a request that does not ask for a websocket."""
    response = connection.respond(http.HTTPStatus.UPGRADE_REQUIRED, _FOR_BROWSERS)
    response.headers["Upgrade"] = "websocket"
    return response


def page_response(connection: ServerConnection, page: Page) -> Response:
    """Return the answer that shows a page."""
    response = connection.respond(page.status, page.text)
    del response.headers["Content-Type"]
    response.headers["Content-Type"] = page.content_type
    response.headers["Cache-Control"] = "no-store"
    return response
