"""A connection that can neither stall the server nor make it hold much."""

import asyncio
import socket
from typing import Any, Final

from websockets.asyncio.server import ServerConnection
from websockets.frames import Frame, Opcode
from websockets.protocol import SEND_EOF

from server.config import Limits
from server.net.connection_limits import ConnectionLimits
from server.net.plain_http import BAD_REQUEST
from server.net.rate_limits import RateLimiter

_CHUNK: Final = 4096  # bytes that are parsed before anyone asks whether the connection behaves
_CONTROL: Final = frozenset({Opcode.PING, Opcode.PONG})


class LimitedConnection(ServerConnection):
    """A websocket connection that is counted, parsed in small pieces, and cut when it floods."""

    def __init__(
        self, connection_limits: ConnectionLimits, limits: Limits, *args: Any, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._connection_limits = connection_limits
        self._control_frames = RateLimiter(limits.burst, limits.rate)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        # asyncio does so itself only for sockets that name their protocol, which create_server's do not;
        # without it a move waits up to 40 ms for the acknowledgement of the one before.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection_limits.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection_limits.closed(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), _CHUNK):
            if self.transport.is_closing():
                return
            super().data_received(data[start : start + _CHUNK])

    def process_event(self, event: Any) -> None:
        control = isinstance(event, Frame) and event.opcode in _CONTROL
        if control and self._control_frames.wait(self.loop.time()) > 0:
            self.transport.abort()  # unlike messages, pings cannot be read later
            return
        super().process_event(event)

    def send_data(self) -> None:
        # All in one piece: thousands of pongs one by one would be thousands of system calls, and, once
        # the other end is gone, thousands of warnings.
        writes = self.protocol.data_to_send()
        if self.transport.is_closing():
            return
        if self.request is None and writes == [SEND_EOF]:
            writes = [BAD_REQUEST, SEND_EOF]  # what came was no HTTP that websockets can read
        if data := b"".join(writes):
            self.transport.write(data)
        if SEND_EOF in writes:
            if self.transport.can_write_eof():
                self.transport.write_eof()
            else:
                self.transport.close()
