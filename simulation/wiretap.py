"""What both sides sent on one connection, message by message, whether or not it arrived."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from websockets.exceptions import ProtocolError
from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

from engine.pieces import Seat
from protocol.codec import BadMessage, decode_client, decode_server
from protocol.codes import SENT_AWAY
from protocol.messages import (
    ClientMessage,
    Done,
    Events,
    Leave,
    Refused,
    Reseated,
    Seated,
    ServerMessage,
    Watching,
)
from simulation.verdict import Finding

_MOST: Final = 2**20  # bytes of a line before the first frame


class Heard(NamedTuple):
    """A message of the server and its receiver; without a table, it is in the lobby, or was sent there.

    It was in the proxy at a `time` of the system's clock, and began after so many bytes of the server.
    """

    table: str | None
    seat: Seat | None
    frame: bytes
    message: ServerMessage
    time: float
    begins: int


@dataclass(frozen=True, slots=True)
class TappedMessage:
    """A message of the client, after so many messages of the server on the same connection, and when.

    The client was at a table then, if it is named, and had the seat there.
    """

    message: ClientMessage
    at: int
    time: float
    table: str | None
    seat: Seat | None


class Wiretap:
    """Records the traffic: `heard` is what the server sent, `asked` what was passed on to the server.

    `number` is the connection's, and `life` counts how often the `server` had been started when it was
    opened; `ended` has the tables whose games it was told to have ended. `marks` tell how many bytes the
    server had sent when it was about to go on after it was stopped, and when that was. `damaged` is what it
    sent that is no message. `note` is called with all that either side sends, as `Trace.note` is.
    """

    def __init__(
        self, life: int, server: str = "", number: int = 0, note: Callable[..., None] = lambda *_, **__: None
    ) -> None:
        self.number = number
        self.address = ""  # from which the client has come
        self.life = life
        self.server = server
        self.marks: list[tuple[int, float]] = []
        self.lives: dict[str, int] = {}  # by tables, where they are not the server's
        self.fed = 0
        self.heard: list[Heard] = []
        self.asked: list[TappedMessage] = []
        self.ended: set[str] = set()
        self.damaged: list[Finding] = []
        self._note = note
        self._table: str | None = None
        self._seat: Seat | None = None
        self._leaving: set[int] = set()  # ids of requests to leave
        self._down = _Frames(self._take, self._lose_seat, masked=False)
        self._up = _Frames(self._take_request, lambda: None, masked=True)

    def feed(self, data: bytes) -> None:
        """Take in what the server sent next."""
        self.fed += len(data)
        self._down.feed(data)

    def feed_request(self, data: bytes) -> None:
        """Take in what the server is sent next."""
        self._up.feed(data)

    def life_at(self, table: str) -> int:
        """Return in which life of the table the connection was there: what is not stored ends with it."""
        return self.lives.get(table, self.life)

    def finding(self, text: str, message: Heard | TappedMessage, since: float | None = None) -> Finding:
        """Return that something is wrong with a message of this connection."""
        return Finding(text, message.table, message.time, self.number, since)

    @property
    def tables(self) -> set[str]:
        """Return the tables that the client was at."""
        return {each.table for each in self.heard if each.table is not None}

    def asked_at(self, table: str) -> Iterator[TappedMessage]:
        """Yield what the client asked at a table, even if the server had begun to close the connection."""
        for asked in self.asked:
            if asked.table is None and asked.at:
                last = self.heard[asked.at - 1]
                if last.table == table:
                    yield replace(asked, table=table, seat=last.seat)
            elif asked.table == table:
                yield asked

    def _lose_seat(self) -> None:
        self._table, self._seat = None, None

    def _take(self, frame: bytes, begins: int) -> None:
        try:
            message = decode_server(frame)
        except BadMessage as error:
            text = f"the server sent what is no message: {error}: {frame.hex()}"
            self.damaged.append(Finding(text, self._table, time.time(), self.number))
            self._take_note("server", frame.hex())
            return
        match message:
            case Seated():
                self._table, self._seat = message.table, Seat(message.seat)
            case Watching():
                self._table, self._seat = message.table, None
            case Reseated():
                self._seat = Seat(message.seat)
            case Refused(code=code, id=None) if code in SENT_AWAY:
                self._lose_seat()
            case Done(id) if id in self._leaving:
                self._lose_seat()
            case Events() if self._table is not None and any(
                event["t"] == "ended" for event in message.events
            ):
                self.ended.add(self._table)
        self.heard.append(Heard(self._table, self._seat, frame, message, time.time(), begins))
        self._take_note("server", message)

    def _take_request(self, frame: bytes, _begins: int) -> None:
        try:
            message = decode_client(frame)
        except BadMessage:  # nothing that a client of ours sends: the server's own answer tells of it
            self._take_note("client", frame.hex())
            return
        if isinstance(message, Leave):
            self._leaving.add(message.id)
        self.asked.append(TappedMessage(message, len(self.heard), time.time(), self._table, self._seat))
        self._take_note("client", message)

    def _take_note(self, sender: str, what: ClientMessage | ServerMessage | str) -> None:
        where = {"connection": self.number, "table": self._table, "seat": self._seat}
        self._note(self.server, sender, what, **where)


class _Frames:
    """Cuts one direction of a connection into the payloads of its websocket frames, but for control frames.

    Neither side has a reason to send text, or parts of a message; such a frame is no message.
    """

    def __init__(
        self, take: Callable[[bytes, int], None], closed: Callable[[], None], *, masked: bool
    ) -> None:
        self._take = take  # a payload, and after how many bytes its frame begins
        self._closed = closed  # called when the sender ends the connection
        self._masked = masked
        self._stream = StreamReader()
        self._fed = 0
        self._parser = self._parse()

    def feed(self, data: bytes) -> None:
        self._stream.feed_data(data)
        self._fed += len(data)
        next(self._parser, None)

    def _parse(self) -> Iterator[None]:
        line = yield from self._stream.read_line(_MOST)
        if not line.startswith((b"HTTP/1.1 101 ", b"GET ")):
            return
        while line != b"\r\n":
            line = yield from self._stream.read_line(_MOST)
        while True:
            begins = self._fed - len(self._stream.buffer)
            try:
                frame = yield from Frame.parse(self._stream.read_exact, mask=self._masked)
            except ProtocolError as error:
                self._take(str(error).encode(), begins)
                return
            if frame.opcode is Opcode.CLOSE:
                self._closed()
            elif frame.opcode not in {Opcode.PING, Opcode.PONG}:
                self._take(bytes(frame.data), begins)
