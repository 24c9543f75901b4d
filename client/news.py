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


Update: TypeAlias = TableUpdate | Lost | Back | Closed
