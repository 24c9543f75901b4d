"""All that happens in a simulation, in one list: messages, faults, connections, and lines of logs."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TextIO

import msgspec

from engine.pieces import Seat

MESSAGES: Final = {"client", "server"}  # kinds of events: who sent it


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a server, or on a connection to it, `at` seconds since the beginning.

    Its `kind` is who sent a message, or "fault", "network", "log" or "error"; then `what` is in words.
    """

    at: float
    node: str
    kind: str
    what: msgspec.Struct | str
    connection: int | None = None
    table: str | None = None
    seat: Seat | None = None

    def line(self) -> str:
        """Return a line of JSON."""
        where: dict[str, Any] = {"time": round(self.at, 6), "node": self.node}
        for name in ("connection", "table", "seat"):
            if (value := getattr(self, name)) is not None:
                where[name] = value
        is_message = self.kind in MESSAGES
        what = {"sender": self.kind, "message": self.what} if is_message else {self.kind: self.what}
        return msgspec.json.encode(where | what, enc_hook=str).decode()


class Trace:
    """Takes notes of all `events`, and writes them to a `file`.

    `digest` says whether two simulations were the same.
    """

    def __init__(self, file: TextIO | None = None) -> None:
        self.now: Callable[[], float] = lambda: 0.0
        self.events: list[Event] = []
        self._file = file
        self._hash = hashlib.sha256()

    def hash(self, what: str) -> None:
        """Take note that something has happened just now, but not of what it was."""
        self._hash.update(f"{self.now():.9f} {what}\n".encode())

    def note(
        self,
        node: str,
        kind: str,
        what: msgspec.Struct | str,
        *,
        connection: int | None = None,
        table: str | None = None,
        seat: Seat | None = None,
    ) -> None:
        """Take note of what has happened just now."""
        self.events.append(event := Event(self.now(), node, kind, what, connection, table, seat))
        if kind not in MESSAGES:  # of which the bytes are hashed when they arrive
            self.hash(f"{node} {kind} {connection} {what}")
        if self._file is not None:
            self._file.write(event.line() + "\n")

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()
