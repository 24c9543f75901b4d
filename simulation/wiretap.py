"""What both sides sent on one connection, message by message, whether or not it arrived."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

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

_CONTROL: Final = 0x8  # the least opcode of a frame that holds no part of a message
_CLOSE: Final = 0x8
_MASKED: Final = 0x80


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
class Asked:
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

    `life` counts how often the `server` had been started when the connection was opened; `ended` has the
    tables whose games it was told to have ended. `marks` tell how many bytes the server had sent when it was
    about to go on after it was stopped, and when that was. `damaged` are what it sent that is no message.
    """

    def __init__(self, life: int, server: str = "") -> None:
        self.life = life
        self.server = server
        self.marks: list[tuple[int, float]] = []
        self.lives: dict[str, int] = {}  # by tables, where they are not the server's
        self.fed = 0
        self.heard: list[Heard] = []
        self.asked: list[Asked] = []
        self.ended: set[str] = set()
        self.damaged: list[str] = []
        self._table: str | None = None
        self._seat: Seat | None = None
        self._leaving: set[int] = set()  # ids of requests to leave
        self._down = _Frames(self._take, self._lose_seat)
        self._up = _Frames(self._take_request, lambda: None)

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

    @property
    def tables(self) -> set[str]:
        """Return the tables that the client was at."""
        return {each.table for each in self.heard if each.table is not None}

    def _lose_seat(self) -> None:
        self._table, self._seat = None, None

    def _take(self, frame: bytes, begins: int) -> None:
        try:
            message = decode_server(frame)
        except BadMessage as error:
            self.damaged.append(f"{error}: {frame.hex()}")
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

    def _take_request(self, frame: bytes, _begins: int) -> None:
        try:
            message = decode_client(frame)
        except BadMessage:  # nothing that a client of ours sends: the server's own answer tells of it
            return
        if isinstance(message, Leave):
            self._leaving.add(message.id)
        self.asked.append(Asked(message, len(self.heard), time.time(), self._table, self._seat))


class _Frames:
    """Cuts one direction of a connection into the payloads of its websocket frames, but for control frames.

    Neither side has a reason to send text, or parts of a message; such a frame is no message.
    """

    def __init__(self, take: Callable[[bytes, int], None], closed: Callable[[], None]) -> None:
        self._take = take  # a payload, and after how many bytes its frame begins
        self._closed = closed  # called when the sender ends the connection
        self._rest = b""
        self._cut = 0  # bytes
        self._greeted = False
        self._plain = False

    def feed(self, data: bytes) -> None:
        if self._plain:
            return
        self._rest += data
        if not self._greeted:
            head, end, rest = self._rest.partition(b"\r\n\r\n")
            if not end:
                return
            self._plain = not head.startswith((b"HTTP/1.1 101 ", b"GET "))
            self._greeted, self._rest, self._cut = True, rest, len(head) + len(end)
            if self._plain:
                return
        at = 0
        while (found := _frame(self._rest, at)) is not None:
            begins = self._cut + at
            opcode, payload, at = found
            if opcode < _CONTROL:
                self._take(payload, begins)
            elif opcode == _CLOSE:
                self._closed()
        self._cut += at
        self._rest = self._rest[at:]


def _frame(data: bytes, at: int) -> tuple[int, bytes, int] | None:
    """Return opcode and payload of the frame at `at` and where it ends; None if it is incomplete."""
    if len(data) - at < 2:
        return None
    size, start = data[at + 1] & ~_MASKED, at + 2
    if size >= 126:
        start += 2 if size == 126 else 8
        if len(data) < start:
            return None
        size = int.from_bytes(data[at + 2 : start])
    key = b""
    if data[at + 1] & _MASKED:
        key, start = data[start : start + 4], start + 4
    if len(data) < start + size:
        return None
    payload = data[start : start + size]
    if key:
        mask = (key * (size // 4 + 1))[:size]
        payload = (int.from_bytes(payload) ^ int.from_bytes(mask)).to_bytes(size)
    return data[at] & 0x0F, payload, start + size
