"""A connection that can neither stall the server nor fill its memory."""

import asyncio
import http
import logging
from typing import Any, Final

from websockets.asyncio.server import ServerConnection
from websockets.frames import DATA_OPCODES, CloseCode, Frame
from websockets.protocol import SEND_EOF, State

from server.config import Limits
from server.logs import about
from server.net.connections.connection_limits import ConnectionLimits, RefusedFor
from server.net.connections.frame_heads import bytes_of_first_frame
from server.net.connections.plain_http import BAD_REQUEST
from server.net.connections.tracebacks import drop_traceback
from server.net.rate_limits import RateLimiter

log = logging.getLogger(__name__)

_REQUEST_TOO_LONG: Final = "The request is too long.\n"


class LimitedConnection(ServerConnection):
    """A websocket connection that is read frame by frame, at the rate that its client may send.

    Reading from the network never stops, so that its end is noticed at once; what comes faster waits here.
    """

    def __init__(
        self, connection_limits: ConnectionLimits, limits: Limits, *args: Any, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._connection_limits = connection_limits
        self._limits = limits
        self._unread = bytearray()
        self._next_reading: asyncio.Handle | None = None
        self._request_bytes = 0
        self._frames = RateLimiter(limits.burst, limits.rate)
        self._paid_at = 0.0  # when all frames read so far are paid for
        self._fragments = 0  # of a message that is not complete
        self._deadline: asyncio.TimerHandle | None = None

    async def handshake(self, *args: Any, **options: Any) -> None:
        await super().handshake(*args, **options)
        self._read_when_paid()

    def connection_lost(self, exc: Exception | None) -> None:
        for handle in (self._next_reading, self._deadline):
            if handle is not None:
                handle.cancel()
        self._unread.clear()
        self._connection_limits.closed(self)
        super().connection_lost(exc)
        self._break_cycles()

    def data_received(self, data: bytes) -> None:
        self._unread += data
        if len(self._unread) > self._limits.incoming_bytes:
            self._connection_limits.refused[RefusedFor.TOO_FAST] += 1
            remote = self._connection_limits.remote(self)
            log.info("dropped: it sends too fast", extra=about(address=remote.name))
            self._unread.clear()
            self.transport.abort()
        elif self._next_reading is None:
            self._read_when_paid()

    def eof_received(self) -> None:
        while self.loop.time() >= self._paid_at and self._read_frame():
            pass
        self._unread.clear()
        super().eof_received()
        self._end_soon()

    def process_event(self, event: Any) -> None:
        if isinstance(event, Frame):
            now = self.loop.time()
            wait = max(self._frames.wait(now), self._connection_limits.wait(self, now))
            self._connection_limits.delayed += wait > 0
            self._paid_at = now + wait
            if event.opcode in DATA_OPCODES:
                self._fragments = 0 if event.fin else self._fragments + 1
            if self._fragments >= self._limits.fragments:
                self.protocol.fail(CloseCode.MESSAGE_TOO_BIG, "too many fragments")
                self.send_data()
                return
        super().process_event(event)

    def send_data(self) -> None:
        # All in one piece: thousands of pongs one by one would be thousands of system calls, and, once
        # the other end is gone, thousands of warnings.
        writes = self.protocol.data_to_send()
        if self.transport.is_closing():
            return
        if self.request is None and writes == [SEND_EOF]:
            writes = [BAD_REQUEST, SEND_EOF]  # the request was not HTTP that websockets can read
        if data := b"".join(writes):
            self.transport.write(data)
        if SEND_EOF in writes:
            if self.transport.can_write_eof():
                self.transport.write_eof()
            else:
                self.transport.close()

    def _read_when_paid(self) -> None:
        if self.loop.time() >= self._paid_at:
            self._read()
        else:
            self._read_later()

    def _read_later(self) -> None:
        if self.loop.time() >= self._paid_at:
            self._next_reading = self.loop.call_soon(self._read)
        else:
            self._next_reading = self.loop.call_at(self._paid_at, self._read)

    def _read(self) -> None:
        """Read the request, or one frame: other connections have their turn before the next one."""
        self._next_reading = None
        if self.request is None:
            self._read_request()
        elif self._read_frame() and self._unread:
            self._read_later()
        if self.protocol.close_expected():
            self._end_soon()

    def _read_request(self) -> None:
        """Read the request's lines, and not what follows it."""
        while self._unread and self.request is None and not self.protocol.eof_sent:
            size = self._unread.find(b"\n") + 1 or len(self._unread)
            self._request_bytes += size
            if self._request_bytes > self._limits.request_bytes:
                self._connection_limits.refused[RefusedFor.LONG_REQUEST] += 1
                status = http.HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
                self.protocol.send_response(self.protocol.reject(status, _REQUEST_TOO_LONG))
                self.send_data()
            else:
                self._parse(size)

    def _read_frame(self) -> bool:
        """Read a frame if one is there, and return whether."""
        if self.protocol.eof_sent or self.protocol.state is State.CONNECTING:
            return False  # nothing more is heard, or the request is answered first
        size = bytes_of_first_frame(self._unread)
        if not 0 < size <= len(self._unread):
            return False
        self._parse(size)
        return True

    def _parse(self, size: int) -> None:
        data = bytes(self._unread[:size])
        del self._unread[:size]
        super().data_received(data)

    def _break_cycles(self) -> None:
        """Let this be freed at once: Python rarely looks for cycles, least of all in what has lived long."""
        self.protocol.parser.close()
        for error in (self.protocol.parser_exc, self.protocol.handshake_exc, self.connection_exc):
            drop_traceback(error)

    def _end_soon(self) -> None:
        """Give the other end its time to close the connection too."""
        if self._deadline is None:
            self._deadline = self.loop.call_later(self._limits.close_seconds, self.transport.abort)
