"""The network of a simulation: listening sockets and streams in memory, with lines that fail.

Bytes of one connection keep their order; between connections there is none. What a process has sent before it
is killed still arrives, as with a real system, unless the whole computer goes.
"""

import asyncio
import errno
import os
import random
import socket
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, cast

from simulation.machine.loop import Clock, Process

_SENT_AHEAD: Final = 64 * 1024  # bytes that the system takes from a process before anything arrives
_FIRST_PORT: Final = 40_000
Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Weather:
    """How the network is: seconds on the way, and how often bytes come in pieces or late."""

    least_delay: float = 0.0002
    most_delay: float = 0.003
    torn: float = 0.05  # of the pieces sent: they arrive in two
    stalled: float = 0.002  # ... late by up to `longest_stall`
    longest_stall: float = 3.0
    cut: float = 0.0  # ... the connection ends here
    half_open: float = 0.3  # of the cuts: only one side learns of it


class _Socket:
    """The socket of a connection, as far as anybody asks for it."""

    family = socket.AF_INET

    def setsockopt(self, *_option: Any) -> None:
        pass

    def fileno(self) -> int:
        return -1


class ListeningSocket(_Socket):
    """What `socket.create_server` returns in a simulation."""

    type = socket.SOCK_STREAM
    proto = 0

    def __init__(self, network: "Network", process: Process, address: Address) -> None:
        self._network = network
        self._address = address
        self.process = process
        self.accept: Callable[[], asyncio.BaseProtocol] | None = None

    def getsockname(self) -> Address:
        return self._address

    def close(self) -> None:
        self._network.listening.pop(self._address, None)

    def listen(self, _backlog: int = 0) -> None:
        self._network.listening[self._address] = self

    def setblocking(self, _on: bool) -> None:
        pass

    def __enter__(self) -> "ListeningSocket":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


@dataclass(slots=True)
class Pipe:
    """One direction of a connection: what has been sent and has not arrived."""

    waiting: deque[bytes | None] = field(default_factory=deque)  # None is the end
    bytes_waiting: int = 0
    arrives: float = 0.0  # the last of it, at the earliest
    held: bool = False  # by somebody who wants the messages to come later
    lost: bool = False  # nothing arrives any more, and nobody learns of that


class Stream(asyncio.Transport):
    """One end of a connection, of a process."""

    def __init__(
        self,
        connection: "NetworkConnection",
        process: Process,
        protocol: asyncio.BaseProtocol,
        *,
        server: bool,
    ) -> None:
        super().__init__(
            {
                "peername": connection.client_address if server else connection.server_address,
                "sockname": connection.server_address if server else connection.client_address,
                "socket": _Socket(),
            }
        )
        self.process = process
        self.out = Pipe()
        self._connection = connection
        self._protocol = protocol
        self._closing = False
        self._ended = False  # the protocol has been told
        self._eof_sent = False
        self._reading = True
        self._unread: list[bytes | None] = []
        process.transports[connection.number] = self

    # -- for the process ----------------------------------------------------------------------------

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def is_closing(self) -> bool:
        return self._closing

    def can_write_eof(self) -> bool:
        return True

    def get_write_buffer_size(self) -> int:
        return max(0, self.out.bytes_waiting - _SENT_AHEAD)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        if not self._reading:
            self._reading = True
            self.process.call_soon(self._read_on)

    def write(self, data: Any) -> None:
        if self._closing or self._eof_sent or not data:
            return
        self._connection.send(self, bytes(data))

    def write_eof(self) -> None:
        if not self._eof_sent:
            self._eof_sent = True
            self._connection.send(self, None)

    def close(self) -> None:
        if not self._closing:
            self.write_eof()
            self._closing = True
            self.process.call_soon(self._end, None)

    def abort(self) -> None:
        self._closing = True
        if not self._ended:
            self._connection.reset(self)
            self.process.call_soon(self._end, None)

    # -- for the network ----------------------------------------------------------------------------

    def arrive(self, data: bytes | None) -> None:
        """Hand on what has come, None for the other side's end."""
        if self._ended or self.process.dead:
            return
        self._unread.append(data)
        self.process.call_soon(self._read_on)

    def break_off(self) -> None:
        """Learn that the connection is broken."""
        if not (self._ended or self.process.dead):
            self._closing = True
            self.process.call_soon(self._end, ConnectionResetError(errno.ECONNRESET, "connection reset"))

    def _read_on(self) -> None:
        while self._unread and self._reading and not self._ended:
            data = self._unread.pop(0)
            protocol = self._protocol
            if data is not None:
                if isinstance(protocol, asyncio.BufferedProtocol):
                    raise TypeError("a simulated stream feeds no buffers")
                if not self._closing:
                    cast("asyncio.Protocol", protocol).data_received(data)
            elif not cast("asyncio.Protocol", protocol).eof_received() and not self._closing:
                self.close()

    def _end(self, error: Exception | None) -> None:
        if not self._ended:
            self._ended = True
            self._unread.clear()
            self.process.transports.pop(self._connection.number, None)
            self._protocol.connection_lost(error)


class NetworkConnection:
    """A connection between two processes; `sent` and `received` are told what the server sends and gets."""

    def __init__(self, network: "Network", number: int, client: Address, server: Address) -> None:
        self.number = number
        self.client_address = client
        self.server_address = server
        self.sent: Callable[[bytes], None] | None = None
        self.received: Callable[[bytes], None] | None = None
        self.ends: dict[bool, Stream] = {}  # by whether it is the server's
        self._network = network
        self._clock = network.clock
        self._rng = network.rng

    def send(self, sender: Stream, data: bytes | None) -> None:
        """Send bytes on their way, or the end of what `sender` sends."""
        pipe, rng, weather = sender.out, self._rng, self._network.weather
        if sender is self.ends.get(True) and self.sent is not None and data:
            self.sent(data)
        if data and weather.cut and rng.random() < weather.cut:
            self._clock.after(rng.random() * weather.most_delay, self.cut)
        if data and len(data) > 1 and rng.random() < weather.torn:
            at = rng.randrange(1, len(data))
            self._put(pipe, sender, data[:at])
            data = data[at:]
        self._put(pipe, sender, data)

    def _put(self, pipe: Pipe, sender: Stream, data: bytes | None) -> None:
        weather, rng = self._network.weather, self._rng
        delay = rng.uniform(weather.least_delay, weather.most_delay)
        if rng.random() < weather.stalled:
            delay += rng.uniform(0, weather.longest_stall)
        pipe.waiting.append(data)
        pipe.bytes_waiting += len(data or b"")
        pipe.arrives = max(self._clock.now + delay, pipe.arrives)
        self._clock.at(pipe.arrives, lambda: self._deliver(sender))

    def _deliver(self, sender: Stream) -> None:
        """Let the next piece arrive."""
        pipe = sender.out
        if not pipe.waiting or pipe.held:
            return
        if pipe.lost or self._network.is_parted(self):
            return
        receiver = self.ends.get(sender is not self.ends.get(True))
        data = pipe.waiting.popleft()
        pipe.bytes_waiting -= len(data or b"")
        if receiver is None:
            return
        if receiver is self.ends.get(True) and self.received is not None and data:
            self.received(data)
        trace = self._clock.trace
        if data is None:
            ended_by = "the client" if receiver is self.ends.get(True) else "the server"
            trace.note(self._server, "network", f"ended by {ended_by}", connection=self.number)
        else:
            trace.hash(f"{receiver.process.name} {self.number} {data.hex()}")
        receiver.arrive(data)

    @property
    def _server(self) -> str:
        return self.ends[True].process.name

    def go_on(self) -> None:
        """Let what has been held up arrive now, in its order."""
        for sender in list(self.ends.values()):
            for _ in range(len(sender.out.waiting)):
                sender.out.arrives = max(sender.out.arrives, self._clock.now)
                self._clock.at(sender.out.arrives, lambda sender=sender: self._deliver(sender))  # type: ignore[misc]

    def hold(self) -> Callable[[], None]:
        """Hold up what the client sends, until the function that this returns is called."""
        pipe = self.ends[False].out
        pipe.held = True

        def let_go() -> None:
            pipe.held = False
            self.go_on()

        return let_go

    def reset(self, end: Stream) -> None:
        """End the connection for the other side too, after what is on its way."""
        other = self.ends.get(end is not self.ends.get(True))
        if other is None or end.out.lost:
            return
        when = max(self._clock.now + self._rng.uniform(0, self._network.weather.most_delay), end.out.arrives)

        def broken() -> None:
            if not (end.out.lost or self._network.is_parted(self)):
                other.break_off()

        self._clock.at(when, broken)

    def cut(self) -> None:
        """Break the connection in the middle; perhaps only one side learns of it."""
        self._clock.trace.note(self._server, "network", "cut", connection=self.number)
        ends = [self.ends[at] for at in sorted(self.ends)]
        for end in ends:
            end.out.lost = True
        told = ends
        if self._rng.random() < self._network.weather.half_open:
            told = [self._rng.choice(ends)]
        for end in told:
            end.break_off()


class Network:
    """Everybody's connections; `opened` is called with each new one."""

    def __init__(self, clock: Clock, rng: random.Random, weather: Weather) -> None:
        self.clock = clock
        self.rng = rng
        self.weather = weather
        self.listening: dict[Address, ListeningSocket] = {}
        self.connections: dict[int, NetworkConnection] = {}
        self.opened: Callable[[NetworkConnection], None] = lambda _: None
        self.route: Callable[[Address], Address] = lambda address: address  # from a name to who has it
        self._apart: set[frozenset[str]] = set()  # pairs of hosts between which nothing arrives
        self._numbers = 0

    def listen(self, process: Process, port: int) -> ListeningSocket:
        """Return a socket at the host of a process; raises OSError if the port is in use."""
        address = process.host, port or _FIRST_PORT
        if address in self.listening:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        listener = ListeningSocket(self, process, address)
        process.sockets.append(listener)
        return listener

    async def connect(
        self, process: Process, protocol_factory: Callable[[], asyncio.BaseProtocol], address: Address
    ) -> tuple[Stream, asyncio.BaseProtocol]:
        """Connect a process with who listens at `address`; raises OSError."""
        self._numbers += 1
        number = self._numbers
        address = self.route(address)
        client = self.rng.choice(process.hosts), _FIRST_PORT + number % 20_000
        connection = NetworkConnection(self, number, client, address)
        weather = self.weather
        await asyncio.sleep(self.rng.uniform(weather.least_delay, weather.most_delay))
        if self.are_apart(client[0], address[0]):
            await asyncio.sleep(130.0)  # as long as a system tries
            raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
        listener = self.listening.get(address)
        if listener is None or listener.accept is None or listener.process.dead:
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        protocol = protocol_factory()
        ours = connection.ends[False] = Stream(connection, process, protocol, server=False)
        server, accept = listener.process, listener.accept
        end = connection.ends[True] = Stream(connection, server, asyncio.Protocol(), server=True)

        def accepted() -> None:
            end.set_protocol(accept())
            end.get_protocol().connection_made(end)

        self.connections[number] = connection
        self.opened(connection)
        self.clock.trace.note(server.name, "network", f"opened by {process.name}", connection=number)
        server.call_soon(accepted)
        protocol.connection_made(ours)
        return ours, protocol

    def is_parted(self, connection: NetworkConnection) -> bool:
        return self.are_apart(connection.client_address[0], connection.server_address[0])

    def are_apart(self, one: str, other: str) -> bool:
        """Tell whether nothing arrives between two hosts."""
        return bool(self._apart) and frozenset((one, other)) in self._apart

    def part(self, one: str, other: str) -> Callable[[], None]:
        """Let nothing arrive between two hosts, until the function that this returns is called."""
        pair = frozenset((one, other))
        self._apart.add(pair)

        def heal() -> None:
            self._apart.discard(pair)
            for number in sorted(self.connections):
                self.connections[number].go_on()

        return heal

    def drop(self, process: Process, *, silently: bool) -> None:
        """Forget a process that has ended; its system ends its connections, unless that has ended too."""
        for listener in process.sockets:
            listener.close()
        for number in list(process.transports):
            connection, end = self.connections[number], process.transports[number]
            if silently:
                end.out.lost = True
            else:
                connection.reset(end)
        process.transports.clear()
