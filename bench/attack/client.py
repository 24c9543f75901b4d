"""What an attack is, and attackers that have said hello, alone and in groups at tables."""

import asyncio
import contextlib
import itertools
import logging
import os
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import msgpack

from bench.load.wire import HANDSHAKE, packed
from engine.board import FIELDS

TRUSTING: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TRUSTING.check_hostname = False
TRUSTING.verify_mode = ssl.CERT_NONE
_RATE: Final = 25  # times a second from each client, a little more than the server reads

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
# Messages that are sent together, by their fields without an id; or what is sent as it is.
Together: TypeAlias = Sequence[Mapping[str, Any] | bytes]


@dataclass(frozen=True)
class Target:
    """Where an attack goes."""

    host: str
    port: int
    connections: int  # how many at once, where the attack holds many
    source: str | None = None  # the address it comes from; None is the system's choice


Attack: TypeAlias = Callable[[Target], Coroutine[Any, Any, None]]


@dataclass(frozen=True)
class Mode:
    """An attack by its name; `run` goes on until its process is ended."""

    name: str
    summary: str
    run: Attack
    connections: int = 240  # fewer than one address may have
    addresses: int = 1  # each attacks in a process of its own
    tls: bool = False
    key: str = "ec"  # of the server with TLS
    options: tuple[str, ...] = ()  # of `palatinus serve`

    def attack(self, target: Target) -> None:
        """Run in this process, after the others: an attack comes from another machine."""
        os.nice(10)
        logging.getLogger("asyncio").setLevel(logging.ERROR)  # of writes to what the server has closed
        asyncio.run(self.run(target))


class AttackClient:
    """A connection that has said hello, and reads only what it waits for."""

    def __init__(self, target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.target = target
        self._reader = reader
        self._writer = writer
        self._ids = itertools.count(1)

    @classmethod
    async def connected(cls, target: Target, handshake: bytes = HANDSHAKE) -> "AttackClient":
        reader, writer = await connected(target)
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

    async def flood(self, messages: Iterable[Together]) -> None:
        """Send messages as fast as the server reads them, and read past the answers."""
        reading, rest = asyncio.ensure_future(read_all(self._reader)), iter(messages)
        try:
            while not reading.done():
                for each in itertools.chain.from_iterable(itertools.islice(rest, _RATE)):
                    frame = each if isinstance(each, bytes) else packed(**each, id=next(self._ids))
                    self._writer.write(frame)
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
        await read_all(self._reader)


async def read_all(reader: asyncio.StreamReader) -> None:
    """Read past everything until the connection ends."""
    with contextlib.suppress(OSError):
        while await reader.read(2**18):
            pass


async def connected(target: Target, tls: ssl.SSLContext | None = None) -> Streams:
    """Connect from the attack's address."""
    source = None if target.source is None else (target.source, 0)
    return await asyncio.open_connection(target.host, target.port, limit=2**20, ssl=tls, local_addr=source)


async def flood(clients: Iterable[AttackClient], *messages: Mapping[str, Any]) -> None:
    """Send the same messages from all clients, together, again and again."""
    await asyncio.gather(*(client.flood(itertools.repeat(messages)) for client in clients))


async def play(client: AttackClient) -> None:
    """Make the first legal move whenever it is the client's turn, until the game is over."""
    while (message := await client.received()).get("t") != "events" or message.get("turn") is not None:
        if (legal := message.get("legal")) is not None:
            first = (legal["fields"] & -legal["fields"]).bit_length() - 1
            client.send("place", piece=legal["pieces"][0], field=FIELDS[first])


GroupAttack: TypeAlias = Callable[[list[AttackClient]], Awaitable[None]]


def groups(attack: GroupAttack, size: int, handshake: bytes = HANDSHAKE) -> Attack:
    """Return the attack of groups of clients, each with its own tables."""
    return partial(_attack_in_groups, attack, size, handshake)


async def _attack_in_groups(attack: GroupAttack, size: int, handshake: bytes, target: Target) -> None:
    async def one(size: int) -> None:
        while True:
            clients: list[AttackClient] = []
            with contextlib.suppress(OSError, EOFError):
                for _ in range(size):
                    clients.append(await AttackClient.connected(target, handshake))  # noqa: PERF401 - some may have failed
                await attack(clients)
            for client in clients:
                client.abort()
            await asyncio.sleep(1.0)

    sizes = [size] * (target.connections // size)
    if rest := target.connections % size:
        sizes.append(max(rest, 2))
    await asyncio.gather(*map(one, sizes))


async def begun_game(
    clients: list[AttackClient], players: int = 2, names: Iterable[str] = "ABCDE", **options: Any
) -> tuple[str, list[str]]:
    """Begin a game of the first ones, and let the others watch; return the table's code and the tokens."""
    code, tokens = await gathered(clients[:players], names, **options)
    await clients[0].ask("start")
    for client in clients[players:]:
        await client.ask("watch", table=code)
    return code, tokens


async def gathered(
    clients: list[AttackClient], names: Iterable[str] = "ABCDE", **options: Any
) -> tuple[str, list[str]]:
    """Open a table and take all its seats; return its code and the tokens of the seats."""
    host, *others = clients
    names = iter(names)
    options |= {"players": len(clients), "random_layout": True}
    answers = [await host.ask("open", name=next(names), **options)]
    code: str = answers[0]["table"]
    for client, name in zip(others, names, strict=False):
        answers.append(await client.ask("join", table=code, name=name))
    return code, [answer["token"] for answer in answers]
