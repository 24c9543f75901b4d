"""What an attack is, and attackers that have said hello, alone and in groups at tables."""

import asyncio
import contextlib
import itertools
import os
import ssl
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgpack

from bench.load.wire import HANDSHAKE, packed

TRUSTING: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TRUSTING.check_hostname = False
TRUSTING.verify_mode = ssl.CERT_NONE
_RATE: Final = 25  # messages a second from each client, a little more than the server reads


@dataclass(frozen=True)
class Target:
    """Where an attack goes."""

    host: str
    port: int
    connections: int  # how many at once, where the attack holds many
    source: str | None = None  # the address it comes from; None is the system's choice


@dataclass(frozen=True)
class Mode:
    """An attack by its name; `run` goes on until its process is ended."""

    name: str
    summary: str
    run: Callable[[Target], None]
    connections: int = 240  # fewer than one address may have
    addresses: int = 1  # each attacks in a process of its own
    tls: bool = False
    key: str = "ec"  # of the server with TLS
    options: tuple[str, ...] = ()  # of `palatinus serve`

    def attack(self, target: Target) -> None:
        """Run in this process, after the others: an attack comes from another machine."""
        os.nice(10)
        self.run(target)


class Client:
    """A connection that has said hello, and reads only what it waits for."""

    def __init__(self, target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.target = target
        self._reader = reader
        self._writer = writer
        self._ids = itertools.count(1)

    @classmethod
    async def connected(cls, target: Target, handshake: bytes = HANDSHAKE) -> "Client":
        source = None if target.source is None else (target.source, 0)
        reader, writer = await asyncio.open_connection(
            target.host, target.port, limit=2**20, local_addr=source
        )
        client = cls(target, reader, writer)
        writer.write(handshake + packed(t="hello", versions=[1], client="attack"))
        await reader.readuntil(b"\r\n\r\n")
        return client

    def send(self, tag: str, **fields: Any) -> int:
        """Send a message without waiting for its answer; return its id."""
        number = next(self._ids)
        self._writer.write(packed(t=tag, id=number, **fields))
        return number

    async def ask(self, tag: str, **fields: Any) -> dict[str, Any]:
        """Send a message and return its answer."""
        number = self.send(tag, **fields)
        while True:
            answer = await self.received()
            if number == answer.get("id"):
                if answer["t"] == "refused":
                    raise ConnectionError(answer["text"])
                return answer

    async def flood(self, messages: Callable[[Iterator[int]], Iterable[bytes]]) -> None:
        """Send messages, made from fresh ids, as fast as the server reads them, and read past the answers."""
        reading = asyncio.ensure_future(self.read_all())
        made = iter(messages(self._ids))
        try:
            while not reading.done():
                self._writer.write(b"".join(itertools.islice(made, _RATE)))
                await asyncio.sleep(1.0)
        except OSError:
            pass  # the server had enough of it
        finally:
            reading.cancel()
            self._writer.transport.abort()

    def abort(self) -> None:
        """End the connection."""
        self._writer.transport.abort()

    async def received(self) -> dict[str, Any]:
        """Return the next message, an empty one for a control frame."""
        head = await self._reader.readexactly(2)
        size = head[1]
        if size > 125:
            size = int.from_bytes(await self._reader.readexactly(2 if size == 126 else 8))
        payload = await self._reader.readexactly(size)
        if head[0] != 0x82:
            return {}
        message: dict[str, Any] = msgpack.unpackb(payload)
        return message

    async def read_all(self) -> None:
        """Read past everything until the connection ends."""
        with contextlib.suppress(OSError):
            while await self._reader.read(2**18):
                pass


class Groups:
    """Lets groups of clients attack, each with its own tables; a class, to be sent to a process."""

    def __init__(
        self, attack: Callable[[list[Client]], Awaitable[None]], size: int, handshake: bytes = HANDSHAKE
    ) -> None:
        self._attack = attack
        self._size = size
        self._handshake = handshake

    def __call__(self, target: Target) -> None:
        asyncio.run(self._all(target))

    async def _all(self, target: Target) -> None:
        sizes = [self._size] * (target.connections // self._size)
        if rest := target.connections % self._size:
            sizes.append(max(rest, 2))
        await asyncio.gather(*(self._group(target, size) for size in sizes))

    async def _group(self, target: Target, size: int) -> None:
        while True:
            clients: list[Client] = []
            with contextlib.suppress(OSError, EOFError):
                for _ in range(size):
                    clients.append(await Client.connected(target, self._handshake))  # noqa: PERF401 - some may have failed
                await self._attack(clients)
            for client in clients:
                client.abort()
            await asyncio.sleep(1.0)


async def begun_game(
    clients: list[Client], players: int = 2, names: Iterable[str] = "ABCDE", **options: Any
) -> str:
    """Begin a game of the first ones, and let the others watch; return the table's code."""
    host, *others = clients
    names = iter(names)
    opened = await host.ask("open", players=players, name=next(names), random_layout=True, **options)
    code: str = opened["table"]
    for client, name in zip(others[: players - 1], names, strict=False):
        await client.ask("join", table=code, name=name)
    await host.ask("start")
    for client in others[players - 1 :]:
        await client.ask("watch", table=code)
    return code
