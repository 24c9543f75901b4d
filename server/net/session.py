"""The connected clients: each one's outgoing frames and where it sits, and what all of them are told."""

import asyncio
import itertools
import logging
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from websockets.frames import Frame, Opcode

from engine.pieces import Seat
from protocol.codec import encode
from protocol.codes import CloseCode, CloseReason, Code
from protocol.messages import AtTable, ClientMessage, GetRecord, Moved, Refused, Seating, ServerMessage
from server.monitoring.counts import Counts
from server.monitoring.failures import Tasks
from server.monitoring.logs import about
from server.net.connections.limited_connection import LimitedConnection
from server.probes import probe
from server.refusal import Refusal

log = logging.getLogger(__name__)

_BINARY_FRAME: Final = 0x80 | Opcode.BINARY  # whole, not a fragment (RFC 6455, 5.2)
_SHORT: Final = 125
_SIZE_IN_TWO_BYTES: Final = 126  # in place of the size
_SHORT_HEADS: Final = [bytes((_BINARY_FRAME, size)) for size in range(_SHORT + 1)]
_IDS: Final = itertools.count()


def build_frame(message: ServerMessage) -> bytes:
    """Return the message as one websocket frame, the same bytes for all its readers: none is masked."""
    payload = encode(message)
    if len(payload) <= _SHORT:  # most are; their header is two bytes
        return _SHORT_HEADS[len(payload)] + payload
    return in_frame(payload)


def in_frame(payload: bytes) -> bytes:
    return Frame(Opcode.BINARY, payload).serialize(mask=False)


def payload_of(frame: bytes) -> bytes:
    """Return what is in a frame that was built here."""
    length = frame[1]
    return frame[2 if length <= _SHORT else 4 if length == _SIZE_IN_TWO_BYTES else 10 :]


class UnreadText(Exception):
    """A client that is no page has sent a text frame."""


class AttendedTable(Protocol):
    """The table that a session is at, as far as its conversation knows it; `code` is its name."""

    code: str

    @property
    def waits_for_players(self) -> bool:
        """Return whether its game has yet to begin."""

    @property
    def talks_with_lobby(self) -> bool:
        """Return whether the lobby hears what is said there, and people there what is said in the lobby."""

    async def handle(self, session: "Session", message: AtTable | Seating | GetRecord) -> None:
        """Do what the session asks and answer it; raises Refusal or JournalError."""

    async def disconnect(self, session: "Session") -> None:
        """Record that the session's connection is gone."""


class Session:
    """A client after its connection opened; `seat` is None for a spectator and in the lobby.

    `id` is no other session's; `name` is its name in logs, not chosen by the client, which clients of one
    proxy may share; `address` is what its address counts as; `client` is what the program calls itself, safe
    to show; `since` is the event loop's time at which it came.
    """

    def __init__(self, connection: LimitedConnection, clients: "Clients") -> None:
        self.connection = connection
        self._clients = clients
        self.id = str(next(_IDS))
        self.name = connection.remote.name
        self.address = connection.remote.counted_as
        self.missed = range(0)  # the numbers of the events that its player has missed
        self.on_move: Callable[[], None] | None = None  # called when it has gone to a table or left one
        self.table: AttendedTable | None = None
        self.seat: Seat | None = None
        self.client = ""
        self.pledge: str | None = None  # of a share for the next draw at its table
        self.since = asyncio.get_running_loop().time()
        self.counts = clients.counts
        self.answering = False  # while its conversation carries out a request
        self.moved = False  # nothing more is carried out for it here
        self._goes_to: str | None = None

    def sit(self, table: AttendedTable | None, seat: Seat | None) -> None:
        """Take the session to a seat of a table, to a table without a seat, or back to the lobby."""
        moves, self.table, self.seat = table is not self.table, table, seat
        if moves and self.on_move is not None:
            self.on_move()
        self.connection.sit(seated=seat is not None)

    def check_seats_left(self) -> None:
        """Raise Refusal if the client's address has as many seats as it may have."""
        if not self.connection.may_take_seat:
            raise Refusal(Code.TOO_MANY_SEATS)

    def player_seat(self) -> Seat:
        """Return the session's seat; raises Refusal for a spectator."""
        if self.seat is None:
            raise Refusal(Code.NOT_A_PLAYER)
        return self.seat

    def send(self, message: ServerMessage) -> None:
        if isinstance(message, Refused):
            self.counts.count_refusal(message.code)
        self.post(build_frame(message))

    def post(self, frame: bytes) -> None:
        """Hand a whole frame to the network without waiting; a client that reads too slowly is dropped."""
        transport = self.connection.transport
        if transport.get_write_buffer_size() > self._clients.most_bytes:
            self.counts.slow_readers += 1
            probe("a client reads too slowly")
            log.info("dropped: it reads too slowly", extra=about(address=self.name))
            transport.abort()
            return
        # Not send(): that waits for a slow reader, and everyone else at the table would wait with it.
        if self.connection.is_open and not transport.is_closing():
            transport.write(frame)

    def read_text(self, text: str) -> ClientMessage | None:
        """Return the message in a text frame, None if it asks for nothing; raises BadMessage.

        Raises UnreadText unless the client is a page, which speaks JSON.
        """
        raise UnreadText(text)

    def move(self, address: str) -> None:
        """Send the client to another server at once: what it has asked for and was not answered is undone."""
        self.moved = True
        self.send(Moved(address))
        self.close(CloseCode.SERVICE_RESTART, CloseReason.TABLE_MOVED)

    def move_from_lobby(self, address: str | None = None) -> None:
        """Send a client that is at no table to another server, or to where it was to go before.

        If it has asked for something, that is carried out and answered first, and may take it to a table.
        """
        self._goes_to = address or self._goes_to
        if self._goes_to is not None and self.table is None and not (self.answering or self.moved):
            probe("a client in the lobby is sent to another server")
            self.move(self._goes_to)

    def close(self, code: CloseCode, reason: CloseReason) -> None:
        """Start the closing handshake without waiting for it."""
        self._clients.tasks.start(self.connection.close(code, reason), "closing a connection")


class Clients:
    """Everybody who has been welcomed; `news` is what a newcomer has to know at once, if anything.

    A client with more than `most_bytes` waiting is dropped.
    """

    def __init__(self, tasks: Tasks, most_bytes: int, counts: Counts) -> None:
        self.tasks, self.most_bytes, self.counts = tasks, most_bytes, counts
        self.news: Callable[[], ServerMessage | None] = lambda: None
        self._sessions: dict[Session, None] = {}  # in the order of their coming

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._sessions))

    def add(self, session: Session) -> None:
        """Take in a client that has just been welcomed."""
        self._sessions[session] = None
        if (news := self.news()) is not None:
            session.send(news)

    def remove(self, session: Session) -> None:
        """Record that a client's connection has ended, or never got as far as a welcome."""
        self._sessions.pop(session, None)

    def broadcast(self, message: ServerMessage) -> None:
        frame = build_frame(message)
        for session in self:
            session.post(frame)
