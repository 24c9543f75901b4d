"""Stored tables as their owner sees and changes them beside a server, wherever they are."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from engine.events import Event
from protocol.admin import StoredReport
from server.errors import JournalError
from server.storage import operations
from server.storage.condition import Check, foldable
from server.storage.house import replayed_game
from server.storage.operations import Operation, Outcome, claimed, moved
from server.storage.reasons import reason_of
from server.storage.stored_tables import ArchivedTable, SetAside, Stored
from server.storage.table_summary import contents

T = TypeVar("T")


def describe_stored(table: Stored, *, set_aside: bool = False) -> StoredReport:
    """Return a table in a few words; of one that was `set_aside`, `table` is the whole part."""
    found, rows = contents(table.entries), table.rows
    return StoredReport(
        table.code,
        found.stage,
        table.archived is not None,
        found.names,
        found.moves,
        rows[0].time if rows else None,
        rows[-1].time if rows else None,
        damaged=set_aside or table.damage is not None,
        lost=set_aside and not table.entries,
    )


def describe_archived(table: ArchivedTable) -> StoredReport:
    """Return what the archive says of a table."""
    found, damaged = table.contents, not table.whole
    return StoredReport(
        table.code, found.stage, True, found.names, found.moves, table.opened, table.changed, damaged
    )


def describe_tables(codes: Sequence[str] | None = None) -> Operation[list[StoredReport]]:
    """Return all tables, or those of them in `codes`, in a few words; raises ValueError."""
    return [
        *map(describe_archived, (yield from operations.archive_list(codes))),
        *map(describe_stored, (yield from operations.tables_in_use(codes))),
        *(
            describe_stored(table.whole_part, set_aside=True)
            for table in (yield from operations.tables_set_aside(codes))
        ),
    ]


def restore_at_last_move(code: str) -> Operation[Outcome]:
    """Put a damaged table back into play at its last whole move; raises JournalError."""
    found = yield from claimed(code)
    table = found.whole_part if isinstance(found, SetAside) else found
    whole = [] if table is None else list(foldable(table.entries))
    if table is None or not whole:
        raise JournalError("table {table} cannot be restored at all", table=code)
    return (yield from moved(code, found, Stored(code, table.rows[: len(whole)], whole)))


class OwnersTables(ABC):
    """The tables in one place, as they are at each question; raises JournalError if that cannot be used."""

    def tables(self) -> list[StoredReport]:
        """Return all tables, the latest changed first."""
        return sorted(self._listed(None), key=lambda table: (-(table.changed or 0), table.code))

    def table(self, code: str) -> StoredReport | None:
        """Return the table with this code, None if there is none."""
        return next(iter(self._listed([code])), None)

    def game(self, code: str) -> tuple[Event, ...]:
        """Return the events of this table's game, hidden kinds included; none if it has not started.

        Raises JournalError if the table is damaged.
        """
        found = self._read(lambda: operations.find(code))
        try:
            return replayed_game(found.whole_entries) if isinstance(found, Stored) else ()
        except ValueError as error:
            raise self._damaged(f"table {code}: {reason_of(error)}") from error

    def remove(self, codes: Iterable[str]) -> None:
        """Remove all these tables for good; if JournalError is raised, none is removed."""
        gone = list(codes)
        self._change(gone, lambda: operations.remove_anywhere(gone))

    def restore(self, code: str) -> int:
        """Put a damaged table back into play at its last whole move; return that move's number."""
        table = self._change([code], lambda: restore_at_last_move(code))[code]
        return contents(table.entries).moves if isinstance(table, Stored) else 0

    @abstractmethod
    def check(self) -> Check:
        """Look at every table closely."""

    def _listed(self, codes: Sequence[str] | None) -> list[StoredReport]:
        return self._read(lambda: describe_tables(codes))

    @abstractmethod
    def _read(self, make: Callable[[], Operation[T]]) -> T:
        """Carry out an operation that only reads."""

    @abstractmethod
    def _change(self, codes: Sequence[str], make: Callable[[], Operation[Outcome]]) -> Outcome:
        """Carry out an operation that changes these tables, all or none."""

    @abstractmethod
    def _damaged(self, what: str) -> JournalError: ...
