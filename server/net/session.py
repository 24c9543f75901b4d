"""One connected client: its outgoing frames, its pace, and where it sits."""

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from websockets.asyncio.server import ServerConnection
from websockets.frames import Frame, Opcode
from websockets.protocol import State

from engine.pieces import Seat
from protocol.codec import encode
from protocol.codes import CloseCode, Code
from protocol.messages import Refused, ServerMessage
from server.counts import Counts
from server.logs import about
from server.net.connection_limits import counted_address

if TYPE_CHECKING:
    from server.tables.table import Table

log = logging.getLogger(__name__)

_BINARY_FRAME: Final = 0x80 | Opcode.BINARY  # whole, not a fragment (RFC 6455, 5.2)
_SHORT: Final = 125


def framed(message: ServerMessage) -> bytes:
    """Return the message as one websocket frame, the same bytes for whoever reads it: none is masked."""
    return in_frame(encode(message))


def in_frame(payload: bytes) -> bytes:
    """Return a message's bytes as one websocket frame."""
    if len(payload) <= _SHORT:  # most are; their header is two bytes
        return bytes((_BINARY_FRAME, len(payload))) + payload
    return Frame(Opcode.BINARY, payload).serialize(mask=False)


class Session:
    """A client after its connection opened; `seat` is None for a spectator and in the lobby.

    `name` is what logs call it, nothing it chose itself; `address` is what its address counts as.
    """

    def __init__(
        self, connection: ServerConnection, tasks: asyncio.TaskGroup, most_bytes: int, counts: Counts
    ) -> None:
        self.connection = connection
        # Looked up now: a connection by TLS that has ended cannot tell it any more.
        address = connection.remote_address
        self.name = f"{address[0]}:{address[1]}" if address else "?"
        self.address = counted_address(connection)
        self.table: Table | None = None
        self.seat: Seat | None = None
        self.counts = counts
        self._tasks = tasks
        self._most_bytes = most_bytes

    def send(self, message: ServerMessage) -> None:
        if isinstance(message, Refused):
            self.counts.refused(message.code)
        self.post(framed(message))

    def post(self, frame: bytes) -> None:
        """Hand a whole frame to the network without waiting; who reads too slowly is dropped."""
        transport = self.connection.transport
        if transport.get_write_buffer_size() > self._most_bytes:
            self.counts.slow_readers += 1
            log.info("dropped: it reads too slowly", extra=about(address=self.name))
            transport.abort()
            return
        # Not send(): that waits for a slow reader, and everyone else at the table would wait with it.
        if self.connection.protocol.state is State.OPEN and not transport.is_closing():
            transport.write(frame)

    def refuse(self, code: Code, text: str, id: int | None = None) -> None:  # noqa: A002 - the wire's own word
        self.send(Refused(code=code, text=text, id=id))

    def close(self, code: CloseCode, reason: str) -> None:
        """Start the closing handshake; nobody waits for it."""
        self._tasks.create_task(self.connection.close(code, reason))
