"""Attacks on the tables, by clients that have said hello: what the rules of the house allow, without end."""

import asyncio
import contextlib
import itertools
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, Final

import msgpack

from bench.attack.mode import Mode, Target
from bench.wire import HANDSHAKE, packed

_SPECTATORS: Final = 32  # as many as a table lets in
_RATE: Final = 25  # messages a second from each client, a little more than the server reads
_GAMES: Final = 60  # three times as many as tables


class _Client:
    """A connection that has said hello, and reads only what it waits for."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._ids = itertools.count(1)

    @classmethod
    async def connected(cls, target: Target) -> "_Client":
        source = None if target.source is None else (target.source, 0)
        reader, writer = await asyncio.open_connection(
            target.host, target.port, limit=2**20, local_addr=source
        )
        client = cls(reader, writer)
        writer.write(HANDSHAKE + packed(t="hello", versions=[1], client="attack"))
        await reader.readuntil(b"\r\n\r\n")
        return client

    async def ask(self, tag: str, **fields: Any) -> dict[str, Any]:
        """Send a message and return its answer."""
        number = next(self._ids)
        self._writer.write(packed(t=tag, id=number, **fields))
        while True:
            answer = await self._received()
            if number in (answer.get("id"), answer.get("answers")):
                return answer

    async def flood(self, messages: Callable[[Iterator[int]], Iterable[bytes]]) -> None:
        """Send messages, made from fresh ids, as fast as the server reads them, and read past the answers."""
        reading = asyncio.ensure_future(self._read_all())
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

    async def _received(self) -> dict[str, Any]:
        head = await self._reader.readexactly(2)
        size = head[1]
        if size > 125:
            size = int.from_bytes(await self._reader.readexactly(2 if size == 126 else 8))
        payload = await self._reader.readexactly(size)
        if head[0] != 0x82:
            return {}
        message: dict[str, Any] = msgpack.unpackb(payload)
        return message

    async def _read_all(self) -> None:
        with contextlib.suppress(OSError):
            while await self._reader.read(2**18):
                pass


class _ByGroups:
    """Lets groups of clients attack, each with its own tables; a class, to be sent to a process."""

    def __init__(self, attack: Callable[[list[_Client]], Awaitable[None]], size: int) -> None:
        self._attack = attack
        self._size = size

    def __call__(self, target: Target) -> None:
        asyncio.run(self._all(target))

    async def _all(self, target: Target) -> None:
        sizes = [self._size] * (target.connections // self._size)
        if rest := target.connections % self._size:
            sizes.append(max(rest, 2))
        await asyncio.gather(*(self._group(target, size) for size in sizes))

    async def _group(self, target: Target, size: int) -> None:
        while True:
            with contextlib.suppress(OSError, EOFError):
                clients = [await _Client.connected(target) for _ in range(size)]
                await self._attack(clients)
            await asyncio.sleep(1.0)


async def _game(clients: list[_Client], **options: Any) -> str:
    """Begin a game of the first two, and let the others watch; return the table's code."""
    host, second, *watching = clients
    code: str = (await host.ask("open", players=2, name="A", random_layout=True, **options))["table"]
    await second.ask("join", table=code, name="B")
    await host.ask("start")
    for client in watching:
        await client.ask("watch", table=code)
    return code


async def _flood(clients: list[_Client], messages: Callable[[Iterator[int]], Iterable[bytes]]) -> None:
    await asyncio.gather(*(client.flood(messages) for client in clients))


async def chat(clients: list[_Client]) -> None:
    """Let everyone at full tables talk."""
    await _game(clients)
    await _flood(clients, lambda ids: (packed(t="say", id=at, text="x" * 200) for at in ids))


async def syncs(clients: list[_Client]) -> None:
    """Let everyone at tables with a clock ask for the whole game."""
    await _game(clients, absence={"t": "move-clock", "seconds": 5})
    await _flood(clients, lambda ids: (packed(t="sync", id=at) for at in ids))


async def visitors(clients: list[_Client]) -> None:
    """Let spectators come and go, which everyone at the table is told."""
    code = await _game(clients[:2])
    await _flood(
        clients[2:],
        lambda ids: (packed(t="watch", id=at, table=code) + packed(t="leave", id=next(ids)) for at in ids),
    )


async def joining(clients: list[_Client]) -> None:
    """Let players come and go at tables that gather, which is stored."""
    host, *others = clients
    code = (await host.ask("open", players=5, name="Host"))["table"]

    def comings(name: str) -> Callable[[Iterator[int]], Iterable[bytes]]:
        return lambda ids: (
            packed(t="join", id=at, table=code, name=name) + packed(t="leave", id=next(ids)) for at in ids
        )

    await asyncio.gather(*(client.flood(comings(name)) for client, name in zip(others, "abcd", strict=False)))


async def names(clients: list[_Client]) -> None:
    """Ask for a seat under a name that is taken, as long and as strange as they get."""
    host, *others = clients
    code = (await host.ask("open", players=5, name="ꓮ" * 20))["table"]
    await _flood(others, lambda ids: (packed(t="join", id=at, table=code, name="A" * 20) for at in ids))


async def openers(clients: list[_Client]) -> None:
    """Open tables and leave them."""
    await _flood(
        clients,
        lambda ids: (
            packed(t="open", id=at, players=2, name="A") + packed(t="leave", id=next(ids)) for at in ids
        ),
    )


async def returns(clients: list[_Client]) -> None:
    """Leave many games, and go back to one after the other."""
    host, second = clients
    games = []
    for _ in range(_GAMES):
        code = (first := await host.ask("open", players=2, name="A", random_layout=True))["table"]
        await second.ask("join", table=code, name="B")
        await host.ask("start")
        await host.ask("leave")
        await second.ask("leave")
        games.append((code, first["token"]))
    one_after_the_other = itertools.cycle(games)
    await host.flood(
        lambda ids: (
            packed(t="resume", id=at, table=code, token=token) + packed(t="leave", id=next(ids))
            for at, (code, token) in zip(ids, one_after_the_other, strict=False)
        )
    )


_FEW_TABLES: Final = ("--max-tables", "20", "--tables-per-minute", "1000000")

MODES: Final = (
    Mode("chat", "full tables at which everyone talks", _ByGroups(chat, 2 + _SPECTATORS)),
    Mode("syncs", "full tables at which everyone asks for the game", _ByGroups(syncs, 2 + _SPECTATORS)),
    Mode("visitors", "spectators who come and go", _ByGroups(visitors, 2 + _SPECTATORS)),
    Mode("joining", "players who come and go before a game", _ByGroups(joining, 5)),
    Mode("names", "names that look like another player's", _ByGroups(names, 5)),
    Mode("openers", "tables opened and left", _ByGroups(openers, 2)),
    Mode(
        "returns",
        "more archived games than tables, to which a player goes back in turn",
        _ByGroups(returns, 2),
        connections=2,
        options=_FEW_TABLES,
    ),
)
