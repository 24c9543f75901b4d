"""The tables of the other servers that share the database, as far as everybody may know them."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from protocol.messages import TableSummary
from server.cluster.messages import Holder, PublicTable

if TYPE_CHECKING:
    from server.cluster.channel import Channel

_MOST_TIMES: Final = 5000  # of tables that have gone


class TableElsewhere(NamedTuple):
    """A table of another server, at whose `address` it is."""

    summary: TableSummary
    address: str
    opened: float
    holders: Collection[Holder]


class TablesElsewhere:
    """What the other servers report about their tables, by codes, and when tables were opened.

    `changed` is called with the codes of all tables reported now or before.
    """

    def __init__(self, changed: Callable[[Collection[str]], None]) -> None:
        self._changed = changed
        self._tables: dict[str, TableElsewhere] = {}
        # Includes tables that this server may take up; the latest reported come last.
        self._opened: dict[str, float] = {}

    def share(self, channel: "Channel", own: Callable[[], Mapping[str, PublicTable]]) -> Callable[[], None]:
        """Send the others what `own` returns, and receive theirs.

        Return what is to be called when the own ones have changed.
        """

        def learn() -> None:
            before = self._tables.keys()
            found = sorted(channel.holding(PublicTable), key=lambda each: each[0].term)
            self._tables = {
                table.summary.table: TableElsewhere(
                    replace(table.summary, elsewhere=True), node.address, table.opened, table.holders
                )
                for node, table in found  # of two servers the latest one has it
            }
            for code, table in self._tables.items():
                self._opened.pop(code, None)
                self._opened[code] = table.opened
            while len(self._opened) > len(self._tables) + _MOST_TIMES:
                del self._opened[next(iter(self._opened))]
            self._changed(before | self._tables.keys())

        channel.on_change(PublicTable, learn)
        return channel.keep_all(lambda: {f"table:{code}": table for code, table in own().items()})

    def opened(self, code: str) -> float:
        """Return when another server's table was opened, as far as that is known, or now: in s since 1970."""
        return self._opened.get(code) or time.time()

    def __iter__(self) -> Iterator[TableElsewhere]:
        return iter(self._tables.values())

    def get(self, code: str) -> TableElsewhere | None:
        """Return the table with this code, None if no other server lists it."""
        return self._tables.get(code)
