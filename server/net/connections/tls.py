"""TLS between a connection and the network.

The event loops have their own. asyncio's takes a quarter of a megabyte for each connection, uvloop's as much
and keeps it for long after a reset, and neither can wait with a handshake until it is somebody's turn.
"""

import asyncio
import contextlib
import ssl
from typing import Any, Final

from server.config import Limits
from server.limits.rate_limits import RateLimiter

_READ_AT_ONCE: Final = 16 * 1024  # bytes: a record has no more
_OVERHEAD: Final = 64  # bytes, at least as many as a record with one message has beside it


class Tls(asyncio.Transport, asyncio.Protocol):
    """The transport of a connection that speaks TLS, and the protocol of its network's transport."""

    def __init__(
        self,
        context: ssl.SSLContext,
        network: asyncio.Transport,
        limits: Limits,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        super().__init__()
        self._network = network
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._connection: asyncio.Protocol = asyncio.Protocol()
        self._loop = loop
        # What is no message has no turn; a client could send nothing else, and have it all read.
        self._other = RateLimiter(limits.incoming_bytes, _OVERHEAD * limits.rate)
        self._ended = False

    # -- the handshake ------------------------------------------------------------------------------

    def shake_hands(self, data: bytes) -> bool:
        """Read what came, and return whether the handshake is complete; raises SSLError.

        It calculates, without the interpreter: it may be called in another thread, if nothing else is.
        """
        self._incoming.write(data)
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def send(self) -> None:
        if (data := self._outgoing.read()) and not self.is_closing():
            self._network.write(data)

    def begin(self, connection: asyncio.Protocol, data: bytes) -> None:
        """Start a connection after its handshake; `data` has arrived since."""
        self._connection = connection
        self._network.set_protocol(self)
        connection.connection_made(self)
        self.data_received(data)

    # -- from the network ---------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._ended:
            return
        self._incoming.write(data)
        pieces = []
        closed = False
        try:
            while not closed:
                pieces.append(self._tls.read(_READ_AT_ONCE))
                closed = not pieces[-1]
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError:
            self.abort()
            return
        self.send()
        read = b"".join(pieces)
        if self._other.wait(self._loop.time(), len(data) - len(read)) > 0:
            self.abort()
            return
        if read:
            self._connection.data_received(read)
        if closed and not self.is_closing():
            self.eof_received()
            self.close()

    def eof_received(self) -> None:
        if not self._ended:
            self._connection.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        connection, self._connection = self._connection, asyncio.Protocol()  # which would be a cycle
        connection.connection_lost(exc)

    def pause_writing(self) -> None:
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        self._connection.resume_writing()

    # -- from the connection ------------------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._ended or self.is_closing():
            return
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._tls.write(rest) :]
        except ssl.SSLError:
            self.abort()
            return
        self.send()

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        if not self._ended:
            self._say_goodbye()
            self._network.write_eof()

    def close(self) -> None:
        if not self._ended:
            self._say_goodbye()
        self._network.close()

    def abort(self) -> None:
        self._network.abort()

    def is_closing(self) -> bool:
        return self._network.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._tls if name == "ssl_object" else self._network.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        return self._network.get_write_buffer_size()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._network.set_write_buffer_limits(high, low)

    def pause_reading(self) -> None:
        self._network.pause_reading()

    def resume_reading(self) -> None:
        self._network.resume_reading()

    def _say_goodbye(self) -> None:
        """Close this side; what the other still says is not read."""
        self._ended = True
        with contextlib.suppress(ssl.SSLError):  # it has not said goodbye yet, and need not
            self._tls.unwrap()
        self.send()
