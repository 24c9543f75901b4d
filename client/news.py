"""The news that a connection yields: what has happened at its table, and to itself."""

from typing import TypeAlias

from msgspec import Struct

from client.table import TableUpdate


class Lost(Struct, frozen=True):
    """The connection broke; another attempt follows in `retry_in` seconds."""

    reason: str
    retry_in: float


class Back(Struct, frozen=True):
    """The connection and the place at the table are back."""


class Closed(Struct, frozen=True):
    """The connection is closed for good; `code` is the server's close code, if it sent one."""

    code: int | None
    reason: str


class Announcement(Struct, frozen=True):
    """What the people who run the server have to say; the text is safe to show."""

    text: str


class ServerStops(Struct, frozen=True):
    """The server stops in so many seconds; None takes that back."""

    seconds: int | None


Update: TypeAlias = TableUpdate | Lost | Back | Closed | Announcement | ServerStops
