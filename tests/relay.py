"""A relay between clients and a server: it keeps what both send, cuts lines, and adds what is unknown."""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgpack
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

MOVES = {"lay", "place"}
UNKNOWN = {"t": "not-invented-yet", "id": 0, "with": {"what": ["ever"]}}


class Relay:
    """What was sent through it, and what happens to the moves that clients send, by their numbers from 1.

    `before` is awaited before a move goes on to the server; `cut_after` are moves after which the connection
    is cut, so that their answers are lost, `sends_on` where clients are sent after others. Of messages with
    the tags in `loses`, the first one is lost with its connection. It takes
    `most_connections`, and tells clients of `other_addresses`. If `from_the_future`, every frame of the
    server has a field that nobody knows, and comes after a message that nobody knows.
    """

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self.port = 0
        self.from_clients: list[bytes] = []
        self.from_server: list[bytes] = []
        self.connections = 0
        self.moves = 0
        self.before: dict[int, Callable[[], Awaitable[None]]] = {}
        self.cut_after: set[int] = set()
        self.sends_on: dict[int, str] = {}
        self.loses: set[str] = set()
        self.most_connections = math.inf
        self.other_addresses: list[str] = []
        self.from_the_future = False

    async def handle(self, client: ServerConnection) -> None:
        """Relay one connection until either side ends it."""
        if self.connections == self.most_connections:
            client.transport.abort()
            return
        self.connections += 1
        with contextlib.suppress(ConnectionClosed):
            async with (
                connect(f"ws://127.0.0.1:{self._server_port}", compression=None) as server,
                asyncio.TaskGroup() as tasks,
            ):
                back = tasks.create_task(self._backward(server, client))
                await self._forward(client, server)
                back.cancel()

    async def _forward(self, client: ServerConnection, server: ClientConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for frame in client:
                assert isinstance(frame, bytes)
                self.from_clients.append(frame)
                moving = msgpack.unpackb(frame)["t"] in MOVES
                self.moves += moving
                if moving and (before := self.before.pop(self.moves, None)):
                    await before()
                await server.send(frame)
                if moving and self.moves in self.cut_after:
                    client.transport.abort()
                if moving and (address := self.sends_on.get(self.moves)) is not None:
                    await client.send(msgpack.packb({"t": "moved", "address": address}))
                    await client.close(1012)

    async def _backward(self, server: ClientConnection, client: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for frame in server:
                assert isinstance(frame, bytes)
                if self.other_addresses and msgpack.unpackb(frame)["t"] == "welcome":
                    frame = msgpack.packb({**msgpack.unpackb(frame), "addresses": self.other_addresses})  # noqa: PLW2901
                if (tag := msgpack.unpackb(frame)["t"]) in self.loses:
                    self.loses.discard(tag)
                    client.transport.abort()
                    return
                self.from_server.append(frame)
                if self.from_the_future:
                    await client.send(msgpack.packb(UNKNOWN))
                    content: dict[str, Any] = msgpack.unpackb(frame)
                    await client.send(msgpack.packb({**content, "not_invented_yet": UNKNOWN}))
                else:
                    await client.send(frame)
        await client.close(server.close_code or 1000, server.close_reason or "")


@contextlib.asynccontextmanager
async def relay(server_port: int) -> AsyncIterator[Relay]:
    """Run a relay to the server at that port of this machine."""
    found = Relay(server_port)
    async with serve(found.handle, "127.0.0.1", 0, compression=None) as listening:
        found.port = next(iter(listening.sockets)).getsockname()[1]
        yield found
