"""A server that follows a script, so that a test sees the client from the other end of the connection."""

import asyncio
import contextlib
import random
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus
from typing import TypeAlias, TypeVar

from msgspec import structs
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.protocol import State

from client.network.connection import Connection
from client.network.transport import Timeouts
from client.tables.table import Closed, Update
from engine.legal import random_command
from protocol.codec import decode_client, encode
from protocol.events import move_message
from protocol.messages import NEW, ClientMessage, Hello, ServerMessage, Welcome

TIMEOUT = 60.0  # seconds until a test gives up waiting, not how long anything should take
FAST_RETRIES = Timeouts(
    opening=TIMEOUT, answer=TIMEOUT, keep_trying=TIMEOUT, first_pause=0.001, longest_pause=0.01
)

M = TypeVar("M", bound=ClientMessage)
U = TypeVar("U")


class Peer:
    """The server's end of one connection."""

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket
        self.dropped = False

    async def receive(self, kind: type[M]) -> M:
        """Return the next message, which must be of this kind; greet the client, unless the act does so."""
        message = await self.receive_any()
        if isinstance(message, Hello) and kind is not Hello:
            await self._greet()
            message = await self.receive_any()
        assert isinstance(message, kind), message
        return message

    async def receive_any(self) -> ClientMessage:
        return decode_client(await self.socket.recv(decode=False))

    async def send(self, *messages: ServerMessage) -> None:
        for message in messages:
            await self.socket.send(encode(message))

    async def answer(self, kind: type[M], answer: ServerMessage, *others: ServerMessage) -> M:
        """Return the next message, a request of this kind, and send its answer and others."""
        request = await self.receive(kind)
        await self.send(structs.replace(answer, id=getattr(request, "id", NEW)), *others)
        return request

    async def welcome(self, *others: str, own_tokens: bool = False) -> Hello:
        """Greet the client, and tell it the addresses of other servers, and whether this one takes tokens."""
        hello = await self.receive(Hello)
        await self._greet(*others, own_tokens=own_tokens)
        return hello

    async def _greet(self, *others: str, own_tokens: bool = False) -> None:
        await self.send(Welcome(1, "a script", addresses=list(others), own_tokens=own_tokens))

    async def until_closed(self) -> None:
        """Wait until the client closes the connection; fail if it sends anything more."""
        try:
            message = await self.receive_any()
        except ConnectionClosed:
            return
        raise AssertionError(f"the client sent {message}")

    def drop(self) -> None:
        """Break the connection at once, as an unplugged cable would in time."""
        self.dropped = True
        self.socket.transport.abort()


Act: TypeAlias = Callable[[Peer], Awaitable[object]]


@contextlib.asynccontextmanager
async def scripted(*acts: Act) -> AsyncIterator[str]:
    """Serve the first connection by the first act, the second by the second; yield the address.

    After its act, a server waits until the client closes the connection, and fails if that sends anything
    more. In the end, every act must have been played without an error.
    """
    waiting = list(acts)
    failed: list[BaseException] = []
    path = f"/{secrets.token_hex(4)}"

    def no_strangers(connection: ServerConnection, request: Request) -> Response | None:
        """Refuse clients of another test that try to come back to a server which had this port."""
        return None if request.path == path else connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "")

    async def play_act(socket: ServerConnection) -> None:
        assert waiting, "the client connected more often than the script has acts"
        async with asyncio.timeout(TIMEOUT):
            peer = Peer(socket)
            await waiting.pop(0)(peer)
            if socket.state is State.OPEN and not peer.dropped:
                await peer.until_closed()

    async def keep_errors(socket: ServerConnection) -> None:
        try:
            await play_act(socket)
        except (AssertionError, ConnectionClosed, TimeoutError) as error:
            failed.append(error)

    async with serve(
        keep_errors, "127.0.0.1", 0, compression=None, close_timeout=1, process_request=no_strangers
    ) as server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}{path}"
        server.close()
        await server.wait_closed()
    if failed:
        raise failed[0]
    assert not waiting, f"{len(waiting)} acts were not played"


async def next_update(connection: Connection, kind: type[U]) -> U:
    """Return the next update of this type."""
    async with asyncio.timeout(TIMEOUT):
        async for update in connection.updates():
            if isinstance(update, kind):
                return update
    raise AssertionError(f"no {kind.__name__} came before the end")


def queued_updates(connection: Connection) -> list[Update]:
    """Return the updates that have arrived and were not read."""
    found = []
    while not connection._updates.empty():
        found.append(connection._updates.get_nowait())
    return found


async def play_randomly(connection: Connection, rng: random.Random, breaks: float = 0.0) -> None:
    """Make random moves until the game is over, breaking the connection now and then."""
    moved_at: int | None = None
    async for update in connection.updates():
        model = connection.model
        assert not isinstance(update, Closed), update
        if model.view is not None and model.view.result is not None:
            return
        if model.legal is not None and model.seq != moved_at:
            moved_at = model.seq
            playing = asyncio.create_task(connection.ask(move_message(NEW, random_command(model.legal, rng))))
            if breaks and rng.random() < breaks:
                await asyncio.sleep(0)
                if connection._websocket is not None:
                    connection._websocket.transport.abort()
            await playing
