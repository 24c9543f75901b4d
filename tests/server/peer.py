"""A client made of a socket and the codec; it keeps every frame it receives and folds the events."""

import asyncio
import base64
import contextlib
import inspect
import itertools
import random
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from client.network.refusals import describe_refusal
from engine.board import FIELDS
from engine.events import SeenEvent
from engine.pieces import Seat
from engine.view import SPECTATOR, View, eyes_of, folded
from protocol import messages
from protocol.codec import decode_server, encode
from protocol.events import event_of, view_of
from protocol.limits import VERSIONS

HERE = "127.0.0.1"
TIMEOUT = 60.0  # seconds until a test gives up waiting, not how long anything should take

Message = TypeVar("Message")
Request: TypeAlias = messages.ClientMessage | Callable[..., messages.ClientMessage]

UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + base64.b64encode(bytes(16)) + b"\r\n\r\n"
)


def frame(opcode: int, payload: bytes = b"") -> bytes:
    """Return a masked websocket frame with a payload of at most 125 bytes, for tests without a library."""
    return struct.pack("!BB4x", 0x80 | opcode, 0x80 | len(payload)) + payload


@contextlib.asynccontextmanager
async def waiting(describe: Callable[[], str]) -> AsyncIterator[None]:
    """Give up after TIMEOUT; the test then fails with what it has waited for."""
    try:
        async with asyncio.timeout(TIMEOUT) as limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise AssertionError(f"waited {TIMEOUT:.0f} s for {describe()}") from None


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait for a condition that no message announces."""

    def described() -> str:
        try:
            return inspect.getsource(condition).strip()
        except TypeError:  # a method of an object written in C, or what functools makes
            return repr(condition)

    async with waiting(described):
        while not condition():  # noqa: ASYNC110 - the server has no event for its tests
            await asyncio.sleep(0.005)


_first_ids = itertools.count(1000, 1000)


class Peer:
    """The client's end of a connection; `frames` has every frame it received, and `received` the messages."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.frames: list[bytes] = []
        self.received: list[messages.ServerMessage] = []
        self.id = next(_first_ids)
        self.code = ""
        self.token = ""
        self.seat: Seat | None = None
        self.view: View | None = None
        self.seq = 0
        self.seen: list[SeenEvent] = []
        self.legal: messages.LegalMoves | None = None

    @property
    def sight(self) -> View:
        """Return the view of the game, which has begun."""
        assert self.view is not None
        return self.view

    def told(self, kind: type[Message]) -> list[Message]:
        """Return everything of this kind that has been received."""
        return [message for message in self.received if isinstance(message, kind)]

    def next_id(self) -> int:
        self.id += 1
        return self.id

    async def send(self, *sent: messages.ClientMessage) -> None:
        for message in sent:
            await self.socket.send(encode(message))

    async def receive(self, wanted: str = "message") -> messages.ServerMessage:
        """Receive, take in and return the next message; `wanted` says which one the test waits for."""
        async with waiting(lambda: f"a {wanted} after {self.received[-3:]}"):
            frame = await self.socket.recv()
        return self.take(frame)

    def take(self, frame: str | bytes) -> messages.ServerMessage:
        assert isinstance(frame, bytes)
        message = decode_server(frame)
        self.frames.append(frame)
        self.received.append(message)
        self._take_in(message)
        return message

    async def until(self, kind: type[Message]) -> Message:
        """Return the next message of a kind, and take in all messages before it."""
        while not isinstance(message := await self.receive(kind.__name__), kind):
            pass
        return message

    async def news(self) -> messages.Events | messages.Snapshot:
        """Return the next message about the game."""
        while not isinstance(
            message := await self.receive("message about the game"), messages.Events | messages.Snapshot
        ):
            pass
        return message

    async def ask(self, request: Request, *facts: Any, **more: Any) -> messages.ServerMessage:
        """Send a message, or one of this kind with the next id and these fields; return its answer."""
        message = request(self.next_id(), *facts, **more) if callable(request) else request
        await self.send(message)
        while True:
            answer = await self.receive(f"answer to {message}")
            if isinstance(answer, messages.Welcome) or _id(answer) == _id(message):
                return answer

    async def answer(self, kind: type[Message], request: Request, *facts: Any, **more: Any) -> Message:
        """Send a message as `ask` does; return its answer, which must be of this kind."""
        answer = await self.ask(request, *facts, **more)
        assert isinstance(answer, kind), answer
        return answer

    async def done(self, request: Request, *facts: Any, **more: Any) -> None:
        """Send a message that must be accepted: its events answer a move, Done answers all else."""
        answer = await self.ask(request, *facts, **more)
        assert isinstance(answer, messages.Done | messages.Events), answer

    async def refused(self, request: Request, *facts: Any, **more: Any) -> messages.Refused:
        """Send a message that must be refused; return the refusal."""
        return await self.answer(messages.Refused, request, *facts, **more)

    async def refusal(self, request: Request, *facts: Any, **more: Any) -> str:
        """Send a message that must be refused; return the code."""
        return (await self.refused(request, *facts, **more)).code

    async def nothing_but_pong(self) -> None:
        """Send a ping; fail if anything but its answer arrives."""
        await self.send(messages.Ping(id=self.next_id()))
        message = await self.receive()
        assert isinstance(message, messages.Pong), message

    async def caught_up(self, seq: int) -> None:
        """Receive messages until event `seq` has arrived; fail if more than that arrive."""
        while self.seq < seq:
            await self.receive()
        assert self.seq == seq

    async def closed(self) -> tuple[int, str]:
        """Wait until the server closes the connection; return code and reason."""
        with contextlib.suppress(ConnectionClosed):
            while True:
                await self.receive()
        return self.socket.close_code or 0, self.socket.close_reason or ""

    async def hello(self) -> None:
        assert isinstance(await self.ask(messages.Hello(list(VERSIONS), "peer")), messages.Welcome)

    async def open(self, players: int, name: str = "Anna", **options: Any) -> messages.Seated:
        return await self.answer(messages.Seated, messages.OpenTable, players, name, **options)

    async def join(
        self, code: str, name: str, seat: int | None = None, *, program: bool = False
    ) -> messages.Seated:
        return await self.answer(messages.Seated, messages.JoinTable, code, name, seat, program)

    async def watch(self, code: str, after: int = 0) -> messages.Watching:
        return await self.answer(messages.Watching, messages.Watch, code, after)

    async def resume(self, code: str, token: str, after: int = 0) -> messages.Seated:
        return await self.answer(messages.Seated, messages.Resume, code, token, after)

    def go_back_to(self, seq: int, seen: Sequence[SeenEvent]) -> None:
        """Forget all but the first `seq` of the events `seen`."""
        eyes = SPECTATOR if self.seat is None else eyes_of(self.seat)
        self.view, self.seq, self.legal = folded(seen[:seq], eyes), seq, None

    def random_move(self, chooser: random.Random) -> messages.Lay | messages.PlacePiece:
        """Return a random move from the legal moves this peer was sent."""
        assert self.legal is not None, "not to move"
        if isinstance(self.legal, messages.Lays):
            position = chooser.choice(self.legal.positions)
            return messages.Lay(self.next_id(), position, chooser.choice(self.legal.orientations))
        field = chooser.choice(fields_in(self.legal))
        return messages.PlacePiece(self.next_id(), chooser.choice(self.legal.pieces), field)

    def _take_in(self, message: messages.ServerMessage) -> None:
        match message:
            case messages.Seated():
                self.code, self.seat = message.table, Seat(message.seat)
                self.token = message.token or self.token
            case messages.Reseated(seat):
                self.seat = Seat(seat)
            case messages.Watching():
                self.code, self.seat = message.table, None
            case messages.Snapshot():
                news = message.missed[len(message.missed) - (message.seq - self.seq) :] if self.seq else []
                self.seen += map(event_of, news)
                self.view, self.seq, self.legal = view_of(message, self.seat), message.seq, message.legal
            case messages.Events():
                assert message.seq == self.seq + 1, "the events of a table have no gaps"
                if self.view is None:
                    self.go_back_to(0, [])
                    assert self.view is not None
                for content in message.events:
                    event = event_of(content)
                    self.seen.append(event)
                    self.view.fold(event)
                self.seq += len(message.events)
                self.legal = message.legal
                assert self.view.turn == message.turn
            case messages.Refused():  # clients have a sentence for it, and every fact of that sentence
                assert describe_refusal(message) == message.text
            case _:
                pass


def _id(message: object) -> object:
    return getattr(message, "id", None)


def fields_in(legal: messages.Places) -> list[str]:
    return [field for index, field in enumerate(FIELDS) if legal.fields >> index & 1]


@contextlib.asynccontextmanager
async def connected_without_hello(
    port: int, forwarded_for: str | None = None, source: str = HERE
) -> AsyncIterator[Peer]:
    """Connect to a server on this machine, as a proxy does for a client if one is given; send nothing yet."""
    async with connect(
        f"ws://127.0.0.1:{port}",
        additional_headers={} if forwarded_for is None else {"X-Forwarded-For": forwarded_for},
        compression=None,
        proxy=None,
        close_timeout=2,
        max_queue=None,
        local_addr=(source, 0),
    ) as socket:
        yield Peer(socket)


@contextlib.asynccontextmanager
async def connected(port: int, forwarded_for: str | None = None) -> AsyncIterator[Peer]:
    """Connect to a server on this machine, as a proxy for a client if one is given, and send the hello."""
    async with connected_without_hello(port, forwarded_for) as peer:
        await peer.hello()
        yield peer


@contextlib.asynccontextmanager
async def all_connected(port: int, clients: int | Sequence[str]) -> AsyncIterator[list[Peer]]:
    """Connect so many peers as `connected` does, or one for each of these clients of a proxy."""
    async with contextlib.AsyncExitStack() as stack:
        names = [None] * clients if isinstance(clients, int) else clients
        yield [await stack.enter_async_context(connected(port, name)) for name in names]


@contextlib.asynccontextmanager
async def client_that_never_reads(
    port: int, *sent: messages.ClientMessage
) -> AsyncIterator[asyncio.StreamWriter]:
    """Connect, send the hello and these messages, and never read."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    client.setblocking(False)
    await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", port))
    _, writer = await asyncio.open_connection(sock=client, limit=1)
    hello = messages.Hello(list(VERSIONS), "never reads")
    frames = (frame(0x2, encode(message)) for message in (hello, *sent))
    writer.write(UPGRADE + b"".join(frames))
    try:
        yield writer
    finally:
        writer.transport.abort()


async def exchange(port: int, *pieces: bytes, source: str = HERE, tls: ssl.SSLContext | None = None) -> bytes:
    """Send bytes over a new connection, and return all that is answered until its end."""
    async with asyncio.timeout(TIMEOUT):
        reader, writer = await asyncio.open_connection(HERE, port, local_addr=(source, 0), ssl=tls)
        answer = b""
        with contextlib.suppress(ConnectionError):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            while more := await reader.read(65536):
                answer += more
        writer.close()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()
    return answer


async def http_get(port: int, path: str) -> tuple[int, str]:
    """Send a plain HTTP request; return the status and the text of the answer."""
    answer = await exchange(port, f"GET {path} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
    head, _, text = answer.decode().partition("\r\n\r\n")
    return int(head.split()[1]), text


async def upgrade_status(
    port: int,
    path: str = "/",
    origin: str | None = None,
    headers: Mapping[str, str] = MappingProxyType({}),
    source: str = HERE,
) -> int:
    """Return the status of the answer to a request for a websocket."""
    own = {"Host": f"{HERE}:{port}"} | ({} if origin is None else {"Origin": origin}) | dict(headers)
    lines = "".join(f"{name}: {value}\r\n" for name, value in own.items()).encode()
    async with asyncio.timeout(TIMEOUT):
        reader, writer = await asyncio.open_connection(HERE, port, local_addr=(source, 0))
        writer.write(UPGRADE.replace(b"/", path.encode(), 1).replace(b"Host: here\r\n", lines))
        status = int((await reader.readline()).split()[1])
        writer.close()
    return status


def blanked(frame: bytes, secrets: list[bytes]) -> bytes:
    """Return the frame with its secrets, which differ from run to run, replaced by question marks."""
    for secret in secrets:
        frame = frame.replace(secret, b"?" * len(secret))
    return frame


async def state_where(peer: Peer, condition: Callable[[messages.TableState], bool]) -> messages.TableState:
    """Return the state of the table as soon as it meets the condition."""
    state = next((each for each in reversed(peer.received) if isinstance(each, messages.TableState)), None)
    while state is None or not condition(state):
        state = await peer.until(messages.TableState)
    return state


async def next_state_where(
    peer: Peer, condition: Callable[[messages.TableState], bool]
) -> messages.TableState:
    """Return the next state of the table that meets the condition."""
    while not condition(state := await peer.until(messages.TableState)):
        pass
    return state
