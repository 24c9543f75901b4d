"""The servers that were found, as values."""

from collections.abc import Collection
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from protocol.messages import TableSummary, Turn


class Asking(Struct, frozen=True):
    """The server has not answered yet."""


class Listed(Struct, frozen=True):
    """The server has told its tables; these can be joined, and there are `more` that are not listed here.

    `codes` are those of all its tables.
    """

    tables: tuple[TableSummary, ...] = ()
    more: int = 0
    codes: frozenset[str] = frozenset()


class Locked(Struct, frozen=True):
    """The server tells nothing without a password."""


class Silent(Struct, frozen=True):
    reason: str


class Gone(Struct, frozen=True):
    """The seat is not the player's any more, or there is no such table."""


Answer: TypeAlias = Asking | Listed | Locked | Silent
SeatAnswer: TypeAlias = Turn | Gone | Locked | Silent


def is_turn(answer: SeatAnswer | None) -> bool:
    """Return whether the player of the seat can move now, as far as its server has said."""
    if not isinstance(answer, Turn) or answer.paused:
        return False
    return answer.turn is not None and answer.turn == answer.seat


class FoundServer(Struct, frozen=True):
    """A server on the network; its `name` is empty if it has none that can be shown."""

    name: str
    url: str
    answer: Answer = Asking()

    @property
    def listed(self) -> Listed:
        """Return the tables that the server has told; none if it has told of none, or nothing."""
        return self.answer if isinstance(self.answer, Listed) else Listed()


class Found(Struct, frozen=True):
    """What was found so far; `deaf` is why nothing can be found, empty if there is no network."""

    servers: tuple[FoundServer, ...] = ()
    deaf: str | None = None


NOTHING = Found()


def server_named(found: Found, name: str) -> FoundServer | None:
    wanted = name.casefold()
    return next((each for each in found.servers if each.name and each.name.casefold() == wanted), None)


def server_listing(found: Found, code: str) -> FoundServer | None:
    return next((each for each in found.servers if code in each.listed.codes), None)


def each_table_once(servers: Collection[FoundServer]) -> tuple[FoundServer, ...]:
    """Return the servers, with each table that several of one cluster list at the server where it is.

    If that was not found, the table is shown where it was found first.
    """
    every = [table for server in servers for table in server.listed.tables]
    shown = {(table.table, table.host) for table in every if not table.elsewhere}

    def once(server: FoundServer) -> FoundServer:
        told = server.listed.tables
        here = [each for each in told if not each.elsewhere or (each.table, each.host) not in shown]
        shown.update((each.table, each.host) for each in here)
        listed = replace(server.listed, tables=tuple(here))
        return replace(server, answer=listed) if isinstance(server.answer, Listed) else server

    return tuple(map(once, servers))
