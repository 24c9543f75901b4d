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


class FoundServer(Struct, frozen=True):
    """A server on the network; its `name` is empty if it has none that can be shown."""

    name: str
    url: str
    answer: Answer = Asking()


class Found(Struct, frozen=True):
    """What was found so far; `deaf` is why nothing can be found, empty if there is no network."""

    servers: tuple[FoundServer, ...] = ()
    deaf: str | None = None


NOTHING = Found()


def server_named(found: Found, name: str) -> FoundServer | None:
    wanted = name.casefold()
    return next((each for each in found.servers if each.name and each.name.casefold() == wanted), None)


def server_listing(found: Found, code: str) -> FoundServer | None:
    return next(
        (each for each in found.servers if isinstance(each.answer, Listed) and code in each.answer.codes),
        None,
    )


def each_table_once(servers: Collection[FoundServer]) -> tuple[FoundServer, ...]:
    """Return the servers, with each table that several of one cluster list at the server where it is.

    If that was not found, the table is shown where it was found first.
    """
    shown = {
        (table.table, table.host)
        for server in servers
        if isinstance(server.answer, Listed)
        for table in server.answer.tables
        if not table.elsewhere
    }

    def once(server: FoundServer) -> FoundServer:
        if not isinstance(server.answer, Listed):
            return server
        tables = [
            table
            for table in server.answer.tables
            if not table.elsewhere or (table.table, table.host) not in shown
        ]
        shown.update((table.table, table.host) for table in tables)
        return replace(server, answer=replace(server.answer, tables=tuple(tables)))

    return tuple(map(once, servers))
