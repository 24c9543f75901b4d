"""A browser made of sockets: plain requests, and what a live page receives."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import msgpack
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from pages.drawing.pages import WebPages
from protocol.codec import as_json, encode
from protocol.messages import ClientMessage, ServerMessage
from server.app import Running, running
from server.config import Config, Limits
from tests.server.peer import TIMEOUT, Peer, connected, exchange, waiting
from tests.server.playing import game

NONE: Mapping[str, str] = MappingProxyType({})


def web_server(**limits: float) -> contextlib.AbstractAsyncContextManager[Running]:
    """Serve pages, without a journal."""
    return running(Config(pages=WebPages(), limits=Limits(**limits)))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Answer:
    """An answer to a plain HTTP request; the names of its `headers` are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


async def asked(
    port: int,
    path: str,
    method: str = "GET",
    *,
    headers: Mapping[str, str] = NONE,
    tls: ssl.SSLContext | None = None,
) -> Answer:
    """Return the answer to a request."""
    lines = {"Host": f"127.0.0.1:{port}", "Connection": "close"} | dict(headers)
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    request = f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1")
    told, _, body = (await exchange(port, request, tls=tls)).partition(b"\r\n\r\n")
    first, *rest = told.decode("latin-1").split("\r\n")
    fields = (line.partition(":") for line in rest)
    return Answer(int(first.split()[1]), {name.lower(): value.strip() for name, _, value in fields}, body)


class Viewer:
    """A live page: `parts` are its elements' contents as they are now, `frames` how many were received."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.parts: dict[str, str] = {}
        self.received: list[str] = []

    async def receive(self) -> dict[str, str]:
        """Take in the next frame and return what it changes."""
        async with asyncio.timeout(TIMEOUT):
            frame = await self.socket.recv()
        assert isinstance(frame, str)
        self.received.append(frame)
        changed: dict[str, str] = json.loads(frame)
        self.parts |= changed
        return changed

    async def until(self, part: str, words: str) -> None:
        """Take in frames until a part has these words."""
        while words not in self.parts.get(part, ""):
            await self.receive()

    async def closed(self) -> int | None:
        """Take in frames until the connection is closed, and return the code."""
        try:
            while True:
                await self.receive()
        except ConnectionClosed as error:
            return None if error.rcvd is None else error.rcvd.code


@contextlib.asynccontextmanager
async def viewer(
    port: int, path: str, *, language: str = "en", address: str = "127.0.0.1"
) -> AsyncIterator[Viewer]:
    """Open a live page from an address of this machine, as a page of the server does."""
    async with connect(
        f"ws://127.0.0.1:{port}{path}",
        additional_headers={"Origin": f"http://127.0.0.1:{port}", "Accept-Language": language},
        proxy=None,
        local_addr=(address, 0),
    ) as socket:
        yield Viewer(socket)


@contextlib.asynccontextmanager
async def watched_game(
    pages: WebPages | None = None, **limits: float
) -> AsyncIterator[tuple[Running, list[Peer], Viewer]]:
    """Serve pages, begin a game of two, and open its page."""
    config = Config(pages=pages or WebPages(), limits=Limits(**limits))  # type: ignore[arg-type]
    async with (
        running(config) as server,
        game(server.port, 2) as peers,
        viewer(server.port, f"/watch/{peers[0].code}") as page,
    ):
        yield server, peers, page


class PagePeer(Peer):
    """A player in a browser: a client like any other, whose `parts` are what its page shows besides."""

    def __init__(self, socket: ClientConnection) -> None:
        super().__init__(socket)
        self.parts: dict[str, str] = {}
        self.shown: list[str] = []
        self.port = 0

    async def receive(self, wanted: str = "message") -> ServerMessage:
        while (message := await self._next(wanted)) is None:
            pass
        return message

    async def until_shown(self, condition: Callable[[dict[str, str]], bool]) -> None:
        """Take in whatever comes until the page's parts fulfil a condition."""
        while not condition(self.parts):
            await self._next("change of the page")

    async def _next(self, wanted: str) -> ServerMessage | None:
        async with waiting(lambda: f"a {wanted} after {self.received[-3:]} and {self.shown[-1:]}"):
            frame = await self.socket.recv()
        assert isinstance(frame, str)
        content = json.loads(frame)
        if "t" in content:
            return self.take(msgpack.packb(content))
        self.shown.append(frame)
        self.parts |= content
        return None

    async def send(self, *sent: ClientMessage) -> None:
        for message in sent:
            await self.socket.send(as_json(encode(message)).decode())


@contextlib.asynccontextmanager
async def player_page(port: int, code: str, *, language: str = "en") -> AsyncIterator[PagePeer]:
    """Open the connection of the page where somebody plays at a table, and say hello."""
    here = f"127.0.0.1:{port}"
    async with connect(
        f"ws://{here}/play/{code}?lang={language}",
        additional_headers={"Origin": f"http://{here}"},
        compression=None,
        proxy=None,
        max_queue=None,
    ) as socket:
        page = PagePeer(socket)
        await page.hello()
        yield page


@contextlib.asynccontextmanager
async def seated_in_browser(*, language: str = "en", **options: Any) -> AsyncIterator[tuple[Peer, PagePeer]]:
    """Serve pages, and seat Anna, who plays on one, at the table of a host who does not."""
    async with web_server(pages_cpu=1.0) as server, connected(server.port) as host:
        code = (await host.open(2, "Host", **options)).table
        async with player_page(server.port, code, language=language) as page:
            page.port = server.port
            await page.join(code, "Anna")
            yield host, page
