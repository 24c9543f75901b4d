"""A connection that can neither stall the server nor fill its memory."""

import asyncio
import http
import logging
from typing import Any, Final

from websockets.frames import (  # type: ignore[attr-defined]  # the compiled function, where there is one
    BINARY,
    DATA_OPCODES,
    TEXT,
    CloseCode,
    Frame,
    apply_mask,
)
from websockets.protocol import CONNECTING, OPEN, SEND_EOF

from protocol.limits import CLIENT_FRAME_BYTES
from server.limits.rate_limits import RateLimiter
from server.monitoring.logs import about
from server.net.connections.address import RefusedFor, SharingConnection
from server.net.connections.connection_limits import ConnectionLimits
from server.net.connections.plain_http import bad_request

log = logging.getLogger(__name__)


_WHOLE_BINARY: Final = 0x80 | BINARY  # with no part to follow, and no extension
_MASKED: Final = 0x80
_MASK_BYTES: Final = 4
_SHORT_HEAD: Final = 2 + _MASK_BYTES
_MESSAGES_WAITING: Final = 16  # above which reading stops until they have been read
_REQUEST_TOO_LONG: Final = "The request is too long.\n"


def bytes_of_first_frame(data: bytes | bytearray) -> int:
    """Return the size of the first frame, 0 if too little of it is there to tell.

    Of a frame whose head is enough to refuse it, that is the size of its head.
    """
    if len(data) < 2:
        return 0
    if not data[1] & _MASKED:
        return 2
    head, payload = 2, data[1] & ~_MASKED
    if payload >= 126:
        head = 4 if payload == 126 else 10
        if len(data) < head:
            return 0
        payload = int.from_bytes(data[2:head])
    return head if payload > CLIENT_FRAME_BYTES else head + _MASK_BYTES + payload


class ReceivedMessages:
    """What was received and not read yet, as websockets' `Assembler`, with less to do and less to keep."""

    __slots__ = ("_closed", "_frames", "_messages", "_paused", "_transport", "_waiter")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._messages: list[str | bytes | UnicodeDecodeError] = []
        self._frames: list[Frame] = []  # of a message that is not complete
        self._waiter: asyncio.Future[None] | None = None
        self._closed = self._paused = False

    def put(self, frame: Frame) -> None:
        """Take in a frame of data, which follows the protocol."""
        self._frames.append(frame)
        if frame.fin:
            frames, self._frames = self._frames, []
            content = b"".join(each.data for each in frames)
            try:
                self.add(content.decode() if frames[0].opcode is TEXT else content)
            except UnicodeDecodeError as error:
                self.add(error)

    def add(self, message: str | bytes | UnicodeDecodeError) -> None:
        """Take in a whole message, or why there is none."""
        self._messages.append(message)
        if len(self._messages) > _MESSAGES_WAITING and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    async def get(self, _decode: bool | None = None) -> str | bytes:
        """Return the next message; raises EOFError at the end, and UnicodeDecodeError."""
        while not self._messages:
            if self._closed:
                raise EOFError
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        message = self._messages.pop(0)
        if self._paused and not self._messages:
            self._paused = False
            self._transport.resume_reading()
        if isinstance(message, UnicodeDecodeError):
            raise message
        return message

    def close(self) -> None:
        """Let nobody wait any longer."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class LimitedConnection(SharingConnection):
    """A websocket connection that is read frame by frame, at the rate that its client and address may send.

    Reading from the network never stops, so that its end is noticed at once; what comes faster waits here.
    """

    # With these, it would have more than 30 attributes: then Python keeps them in three times the memory.
    __slots__ = (
        "_connection_limits",
        "_deadline",
        "_fragments",
        "_frames",
        "_in_line",
        "_next_reading",
        "_paid_at",
        "_received",
        "_request_bytes",
        "_unread",
        "is_open",
    )

    def __init__(self, connection_limits: ConnectionLimits, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._connection_limits = connection_limits
        self.is_open = False  # from the answer to its request until a close frame
        self._unread = bytearray()
        self._next_reading: asyncio.Handle | None = None
        self._in_line = False  # with others from its address
        self._request_bytes = 0
        self._frames = RateLimiter(connection_limits.limits.burst, connection_limits.limits.rate)
        self._paid_at = 0.0  # when the frames read so far allow the next one
        self._fragments = 0  # of a message that is not complete
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._received = ReceivedMessages(self.transport)
        self.recv_messages = self._received  # type: ignore[assignment]

    def sit(self, *, seated: bool) -> None:
        """Record that the client has a seat now, or has none any more."""
        if self.address is not None:
            self.address.sit(self, seated=seated)

    @property
    def may_take_seat(self) -> bool:
        """Return whether the client's address may have one more seat; returning to one is always allowed."""
        return self.address is None or self.address.has_seats_left

    async def handshake(self, *args: Any, **options: Any) -> None:
        await super().handshake(*args, **options)
        if self.protocol.close_expected():  # it was refused
            self._end_soon()
        self._read_when_paid()

    def connection_lost(self, exc: Exception | None) -> None:
        for handle in (self._next_reading, self._deadline):
            if handle is not None:
                handle.cancel()
        self._leave_line()
        self._unread.clear()
        self._connection_limits.forget(self)
        super().connection_lost(exc)
        self._break_cycles()

    def data_received(self, data: bytes) -> None:
        self._unread += data
        if len(self._unread) > self._connection_limits.limits.incoming_bytes:
            self._connection_limits.refused[RefusedFor.TOO_FAST] += 1
            log.info("dropped: it sends too fast", extra=about(address=self.remote.name))
            self._unread.clear()
            self.transport.abort()
        elif self.request is None:
            self._connection_limits.read_in_turn(self, self._read_request)
        elif self._next_reading is None and not self._in_line:
            self._read_when_paid()

    def eof_received(self) -> None:
        self._read_request()
        while self.loop.time() >= self._paid_at and (size := self._size_to_read()):
            self._read_frame(size)
        self._leave_line()
        self._unread.clear()
        super().eof_received()
        self._end_soon()

    def process_event(self, event: Any) -> None:
        if isinstance(event, Frame):
            self._count_frame()
            if event.opcode in DATA_OPCODES:
                self._fragments = 0 if event.fin else self._fragments + 1
            if self._fragments >= self._connection_limits.limits.fragments:
                self.protocol.fail(CloseCode.MESSAGE_TOO_BIG, "too many fragments")
                self.send_data()
                return
        super().process_event(event)

    def _count_frame(self) -> None:
        now = self.loop.time()
        wait = self._frames.wait(now)
        self._connection_limits.delayed += wait > 0
        self._paid_at = now + wait

    def send_data(self) -> None:
        # All in one piece: thousands of pongs one by one would be thousands of system calls, and, once
        # the other end is gone, thousands of warnings.
        writes = self.protocol.data_to_send()
        self.is_open = self.protocol.state is OPEN
        if self.transport.is_closing():
            return
        if self.request is None and writes == [SEND_EOF]:
            # The request was not HTTP that websockets can read.
            writes = [bad_request(self.transport), SEND_EOF]
        if data := b"".join(writes):
            self.transport.write(data)
        if SEND_EOF in writes:
            if self.transport.can_write_eof():
                self.transport.write_eof()
            else:
                self.transport.close()

    def read_in_turn(self) -> None:
        self._in_line = False
        if size := self._size_of_frame():  # unless the connection is being closed by now
            self._read_frame(size)

    def _read_when_paid(self) -> None:
        if self.loop.time() >= self._paid_at:
            self._read()
        else:
            self._read_later()

    def _read_later(self) -> None:
        # If that is past: in the loop's next turn.
        self._next_reading = self.loop.call_at(self._paid_at, self._read)

    def _read(self) -> None:
        """Read one frame: other connections have their turn before the next one."""
        self._next_reading = None
        if size := self._size_to_read():
            self._read_frame(size)

    def _read_request(self) -> None:
        """Read the request's lines, and not what follows it."""
        while self._unread and self.request is None and not self.protocol.eof_sent:
            size = self._unread.find(b"\n") + 1 or len(self._unread)
            self._request_bytes += size
            if self._request_bytes > self._connection_limits.limits.request_bytes:
                self._connection_limits.refused[RefusedFor.LONG_REQUEST] += 1
                status = http.HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
                self.protocol.send_response(self.protocol.reject(status, _REQUEST_TOO_LONG))
                self.send_data()
                self._end_soon()
            else:
                self._parse(size)

    def _size_to_read(self) -> int:
        """Return the size of the next frame, 0 if there is none or it has to wait for its turn."""
        if self._in_line or not (size := self._size_of_frame()):
            return 0
        self._in_line = self.address is not None and not self.address.frames.take(self)
        self._connection_limits.delayed += self._in_line
        return 0 if self._in_line else size

    def _leave_line(self) -> None:
        if self._in_line and self.address is not None:
            self.address.frames.leave(self)
        self._in_line = False

    def _read_frame(self, size: int) -> None:
        unread = self._unread
        if (
            self.is_open
            and self._fragments == 0
            and unread[0] == _WHOLE_BINARY
            and _MASKED <= unread[1] < _MASKED | 126
        ):
            # A short message in one frame, as nearly all are; websockets' parser takes longer than all else.
            content = apply_mask(unread[_SHORT_HEAD:size], unread[2:_SHORT_HEAD])
            del unread[:size]
            self._count_frame()
            self._received.add(content)
        else:
            self._parse(size)
        if unread:
            self._read_later()

    def _size_of_frame(self) -> int:
        """Return the size of the next frame, or 0 if it is incomplete or must not be read yet."""
        if not self.is_open and (self.protocol.eof_sent or self.protocol.state is CONNECTING):
            return 0  # nothing more is heard, or the request is answered first
        size = bytes_of_first_frame(self._unread)
        return size if size <= len(self._unread) else 0

    def _parse(self, size: int) -> None:
        data = bytes(self._unread[:size])
        del self._unread[:size]
        super().data_received(data)
        if self.protocol.close_expected():
            self._end_soon()

    def _break_cycles(self) -> None:
        """Break cycles so that this is freed immediately: Python rarely collects old objects."""
        self.protocol.parser.close()
        for error in (self.protocol.parser_exc, self.protocol.handshake_exc, self.connection_exc):
            drop_traceback(error)

    def _end_soon(self) -> None:
        """Give the other end its time to close the connection too."""
        if self._deadline is None:
            self._deadline = self.loop.call_later(
                self._connection_limits.limits.close_seconds, self.transport.abort
            )


def drop_traceback(error: BaseException | None) -> None:
    """Forget where an error and its causes were raised, whose frames would keep all that they know alive."""
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__
