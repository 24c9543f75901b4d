"""What the server sent on one connection, frame by frame, whether or not it arrived."""

from typing import Final

from engine.pieces import Seat
from protocol.codec import decode_server
from protocol.messages import Seated, ServerMessage, Watching

_BINARY: Final = 0x2


class Wiretap:
    """Records the traffic; `heard` is every message with its frame and its receiver."""

    def __init__(self) -> None:
        self.table: str | None = None
        self.heard: list[tuple[Seat | None, bytes, ServerMessage]] = []
        self._seat: Seat | None = None
        self._rest = b""
        self._greeted = False

    def feed(self, data: bytes) -> None:
        """Take in what the server sent next."""
        self._rest += data
        if not self._greeted:
            head, end, rest = self._rest.partition(b"\r\n\r\n")
            if not end:
                return
            self._greeted, self._rest = head.startswith(b"HTTP/1.1 101 "), rest
        at = 0
        while (found := _frame(self._rest, at)) is not None:
            opcode, payload, at = found
            if opcode == _BINARY:
                self._take(payload)
        self._rest = self._rest[at:]

    def _take(self, frame: bytes) -> None:
        message = decode_server(frame)
        match message:
            case Seated():
                self.table, self._seat = message.table, Seat(message.seat)
            case Watching():
                self.table, self._seat = message.table, None
        self.heard.append((self._seat, frame, message))


def _frame(data: bytes, at: int) -> tuple[int, bytes, int] | None:
    """Return opcode and payload of the server's frame at `at` and where it ends; None if it is incomplete."""
    if len(data) - at < 2:
        return None
    size, start = data[at + 1], at + 2
    if size >= 126:
        start += 2 if size == 126 else 8
        if len(data) < start:
            return None
        size = int.from_bytes(data[at + 2 : start])
    if len(data) < start + size:
        return None
    return data[at] & 0x0F, data[start : start + size], start + size
