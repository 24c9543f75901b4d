"""A browser that watches: a spectator like any other, whose page is drawn on the server."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import msgspec
from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import State

from protocol import codes
from protocol.messages import Moved, Refused, ServerMessage
from server.counts import Counts
from server.failures import Tasks
from server.net.addresses import Remote
from server.net.connections.limited_connection import LimitedConnection
from server.net.session import Session

Parts: TypeAlias = Mapping[str, str]  # HTML, by the ids of the elements of the page that it belongs into
MOVED: Final = "moved"  # no element: where the page goes on, at another server or the next table


def page_frame(parts: Parts) -> bytes:
    """Return a websocket frame for any number of readers."""
    return Frame(Opcode.TEXT, msgspec.json.encode(parts)).serialize(mask=False)


class PageSession(Session):
    """A spectator that takes a table's messages as a sign that the table has changed, and reads none."""

    def __init__(
        self,
        connection: LimitedConnection,
        remote: Remote,
        *,
        tasks: Tasks,
        most_bytes: int,
        counts: Counts,
        changed: Callable[[], None],
        page_at: Callable[[str], str],
    ) -> None:
        super().__init__(connection, remote, tasks, most_bytes, counts)
        self.client = "web page"
        self.sent_away = False
        self.closing = False
        self._changed = changed
        self._page_at = page_at

    def send(self, message: ServerMessage) -> None:
        if isinstance(message, Moved):
            self.show(page_frame({MOVED: self._page_at(message.address)}))
        elif isinstance(message, Refused) and message.id is None:
            self.sent_away = True
        self._changed()

    def post(self, frame: bytes) -> None:
        del frame
        self._changed()

    def close(self, code: codes.CloseCode, reason: codes.CloseReason) -> None:
        self.closing = True
        super().close(code, reason)

    def show(self, frame: bytes) -> bool:
        """Hand a frame to the network, unless an earlier one is still on its way; return whether it went."""
        transport = self.connection.transport
        if self.connection.protocol.state is not State.OPEN or transport.is_closing():
            return True  # nothing will be on its way any more
        if transport.get_write_buffer_size() > 0:
            return False
        transport.write(frame)
        return True

    def end(self, code: CloseCode) -> None:
        """Start the closing handshake without waiting for it."""
        self._tasks.start(self.connection.close(code), "closing a connection")
