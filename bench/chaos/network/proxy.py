"""The network between clients and servers: it delays, splits, cuts, truncates, stalls and reorders."""

import asyncio
import contextlib
import random
import socket
import ssl
import struct
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from bench.chaos.network.fates import End, Fate, Way, fate
from simulation.people.visitors import Ports
from simulation.wiretap import Wiretap

_READ_AT_ONCE: Final = 4096
_PIECES_IN_A_ROW: Final = (
    16  # of what has come at once: each costs a call of the system, and so does its arrival
)
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)  # SO_LINGER: on, 0 seconds


class Encryption(NamedTuple):
    """TLS on both sides of the proxy, which reads what passes."""

    to_clients: ssl.SSLContext
    to_server: ssl.SSLContext


@dataclass(slots=True, eq=False)
class Destination:
    """A server behind the proxy; `life` counts how often it was started, as each connection's tap knows."""

    name: str = ""
    port: int = 0
    life: int = 0


class Proxy:
    """Listeners that give each connection a fate; `carried` is called whenever bytes are on their way."""

    def __init__(
        self,
        seed: str,
        longest_hold: float,
        carried: Callable[[Wiretap], None],
        encryption: Encryption | None,
    ) -> None:
        self.ends: Counter[str] = Counter()
        self.connections = 0
        self.taps: list[Wiretap] = []
        self.failures: list[str] = []  # of this proxy itself: what passed may not have been recorded
        self._seed = seed
        self._longest_hold = longest_hold
        self._carried = carried
        self._encryption = encryption
        self._links: set[_Link] = set()
        self._gates: dict[Ports, asyncio.Event] = {}

    def hold(self, ports: Ports) -> Callable[[], None]:
        """Pass nothing more on to the server from a client's connection; return what lets it pass again."""
        gate = self._gates.get(ports, asyncio.Event())
        gate.clear()
        return gate.set

    @contextlib.asynccontextmanager
    async def door(self, choose: Callable[[], Destination]) -> AsyncIterator[int]:
        """Accept connections while the context lasts, each to the server that `choose` names then."""

        def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            destiny = fate(self._seed, self.connections, self._longest_hold)
            self.connections += 1
            link = asyncio.create_task(self._linked(choose, destiny, reader, writer))
            links.add(link)
            link.add_done_callback(ended)

        def ended(link: asyncio.Task[None]) -> None:
            links.discard(link)
            if not link.cancelled() and (error := link.exception()) is not None:
                self.failures.append(repr(error))

        links: set[asyncio.Task[None]] = set()
        tls = None if self._encryption is None else self._encryption.to_clients
        listener = await asyncio.start_server(accepted, "127.0.0.1", 0, limit=_READ_AT_ONCE, ssl=tls)
        try:
            yield listener.sockets[0].getsockname()[1]
        finally:
            listener.close()
            for link in links:
                link.cancel()
            await asyncio.gather(*links, return_exceptions=True)

    def mark(self, destination: Destination) -> None:
        """Have the taps take note of how far a server that is stopped just now has sent."""
        for link in self._links:
            if link.destination is destination:
                link.tap.marks.append((link.received, time.time()))

    async def _linked(
        self,
        choose: Callable[[], Destination],
        destiny: Fate,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        tls = None if self._encryption is None else self._encryption.to_server
        ports = writer.get_extra_info("peername")[1], writer.get_extra_info("sockname")[1]
        try:
            await asyncio.sleep(destiny.late)
            destination = choose()
            life = destination.life
            server_reader, server_writer = await asyncio.open_connection(
                "127.0.0.1", destination.port, limit=_READ_AT_ONCE, ssl=tls
            )
        except OSError:  # the server is dead just now
            reset(writer)
            return
        except asyncio.CancelledError:
            reset(writer)
            raise
        tap = Wiretap(life, destination.name)
        self.taps.append(tap)
        gate = self._gates[ports] = asyncio.Event()
        gate.set()
        link = _Link(
            destiny=destiny,
            destination=destination,
            client=writer,
            server=server_writer,
            from_server=server_reader,
            tap=tap,
            gate=gate,
            carried=self._carried,
            ends=self.ends,
        )
        self._links.add(link)
        try:
            async with asyncio.TaskGroup() as ways:
                ways.create_task(link.carry(Way.UP, reader, server_writer))
                ways.create_task(link.carry(Way.DOWN, server_reader, writer))
        finally:
            self._links.discard(link)
            if self._gates.get(ports) is gate:
                del self._gates[ports]
            reset(writer)
            reset(server_writer)


class _Link:
    """A client's connection and the matching one to the server."""

    def __init__(
        self,
        *,
        destiny: Fate,
        destination: Destination,
        client: asyncio.StreamWriter,
        server: asyncio.StreamWriter,
        from_server: asyncio.StreamReader,
        tap: Wiretap,
        gate: asyncio.Event,
        carried: Callable[[Wiretap], None],
        ends: Counter[str],
    ) -> None:
        self.destination = destination
        self.tap = tap
        self._fate = destiny
        self._client = client
        self._server = server
        self._from_server = from_server
        self._gate = gate
        self._carried = carried
        self._ends = ends
        self._ended = False
        self._rng = random.Random(destiny.after)

    @property
    def received(self) -> int:
        """Return how many bytes of the server have come so far, those included that nobody has read."""
        import fcntl  # noqa: PLC0415 - Windows has neither
        import termios  # noqa: PLC0415

        unread = len(self._from_server._buffer)  # type: ignore[attr-defined]  # noqa: SLF001 - nothing tells it
        connection = self._server.get_extra_info("socket")
        if connection is not None and connection.fileno() >= 0:
            answer = fcntl.ioctl(connection.fileno(), termios.FIONREAD, bytes(4))
            unread += int.from_bytes(answer, sys.byteorder)
        return self.tap.fed + unread

    async def carry(self, way: Way, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry bytes one way until they end, or the connection does."""
        passed = 0
        with contextlib.suppress(OSError):
            while data := await reader.read(_READ_AT_ONCE):
                if way is Way.DOWN:
                    self.tap.feed(data)
                self._carried(self.tap)
                if way is self._fate.way and not self._ended and passed + len(data) > self._fate.after:
                    self._ended = True
                    self._ends[self._fate.end] += 1
                    await self._end(writer, data, max(0, self._fate.after - passed))
                else:
                    await self._pass_on(writer, data)
                passed += len(data)
        with contextlib.suppress(OSError, RuntimeError, NotImplementedError):  # it may be gone; TLS has none
            writer.write_eof()

    async def _end(self, writer: asyncio.StreamWriter, data: bytes, whole: int) -> None:
        """End the connection after `whole` bytes of `data`."""
        await self._pass_on(writer, data[:whole])
        match self._fate.end:
            case End.RESET:
                self._cut(reset)
            case End.TRUNCATED:
                self._cut(asyncio.StreamWriter.close)
            case End.CLOSED:
                await self._pass_on(writer, data[whole:])
                self._cut(asyncio.StreamWriter.close)
            case End.STALLED:
                await asyncio.sleep(self._fate.hold)
                await self._pass_on(writer, data[whole:])
            case End.LINGERING:
                reset(self._client)
                await asyncio.sleep(self._fate.hold)
                if self._fate.way is Way.UP:
                    await self._pass_on(writer, data[whole:])
                reset(self._server)

    def _cut(self, how: Callable[[asyncio.StreamWriter], None]) -> None:
        how(self._client)
        how(self._server)

    async def _pass_on(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        if self._fate.delay:
            await asyncio.sleep(self._fate.delay)
        for piece in _pieces(data, self._fate.piece, self._rng):
            if writer is self._server:
                await self._gate.wait()
            if writer.is_closing():
                raise ConnectionResetError
            if writer is self._server:
                self.tap.feed_request(piece)
            writer.write(piece)
            await asyncio.sleep(0)
        await writer.drain()


def _pieces(data: bytes, size: int | None, rng: random.Random) -> Iterator[bytes]:
    """Yield what is handed on together: from somewhere on some small pieces, and else all at once."""
    cuts = [0]
    if size is not None and data:
        first = rng.randrange(len(data))
        cuts += range(first, min(len(data), first + _PIECES_IN_A_ROW * size), size)
    for start, end in pairwise([*cuts, len(data)]):
        if start < end:
            yield data[start:end]


def reset(writer: asyncio.StreamWriter) -> None:
    """End a connection with RST, without what is still waiting."""
    with contextlib.suppress(OSError, AttributeError):  # a TLS connection that has ended knows no socket
        connection = writer.get_extra_info("socket")
        if connection is not None and connection.fileno() >= 0:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    writer.transport.abort()
