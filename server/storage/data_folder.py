"""What a data folder holds, for its owner: tables to look at, take a record of, and remove.

Only while no server runs: one process at a time uses a journal.
"""

import contextlib
import random
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from engine.events import Event
from engine.game import Game, RandomChance
from protocol.messages import Stage
from server.errors import JournalError
from server.storage.entries import Played, StoodIn, events_in
from server.storage.journal_file import FILE_NAME, locked, opened
from server.storage.ledger import Ledger
from server.storage.stored_tables import (
    ArchivedTable,
    Stored,
    archive_list,
    archived_table,
    in_use,
    remove,
    table_in_use,
)
from server.storage.table_summary import contents


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table in a few words: free seats have empty names; times are seconds since 1970 if known."""

    code: str
    stage: Stage
    archived: bool
    names: tuple[str, ...]
    moves: int
    opened: int | None
    changed: int | None


class DataFolder:
    """The tables of the journal in the folder `data`.

    Raises JournalError if there is none, it cannot be used, or a server is using it.
    """

    def __init__(self, data: Path) -> None:
        self._path = data / FILE_NAME
        if not self._path.exists():
            raise JournalError("there is no journal in {folder}. Choose another --data", folder=data)
        with contextlib.ExitStack() as opening:
            opening.enter_context(contextlib.closing(locked(data)))
            self._database = opening.enter_context(contextlib.closing(opened(self._path)))
            self._open = opening.pop_all()

    def _damaged(self, what: str) -> JournalError:
        return JournalError(
            "the journal {file} is damaged: {reason}. Restore a copy of the file, or choose another --data",
            file=self._path,
            reason=what,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    @contextlib.contextmanager
    def _damage_told(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, ValueError) as error:
            raise self._damaged(str(error)) from error

    def tables(self) -> list[StoredTable]:
        """Return all tables, the latest changed first."""
        with self._damage_told():
            found = [
                *map(_archived, archive_list(self._database)),
                *map(_stored, in_use(self._database)),
            ]
        return sorted(found, key=lambda table: table.changed or 0, reverse=True)

    def table(self, code: str) -> StoredTable | None:
        """Return the table with this code, None if there is none."""
        found = self._found(code)
        return None if found is None else _stored(found)

    def game(self, code: str) -> tuple[Event, ...]:
        """Return all events of this table's game, hidden kinds included; none if it has not started.

        Raises JournalError if it is damaged.
        """
        found = self._found(code)
        try:
            entries = [] if found is None else found.whole_entries
            moves = [entry for entry in entries if isinstance(entry, Played | StoodIn)]
            events = [event for move in moves for event in events_in(move)]
            return tuple(Game(events, RandomChance(random.Random())).events)
        except Exception as error:  # whatever the error, no server wrote this
            raise self._damaged(f"table {code}: {error}") from error

    def remove(self, codes: Iterable[str]) -> None:
        """Remove all these tables for good; if JournalError is raised, none is removed."""
        try:
            with contextlib.closing(Ledger(self._database, self._path.parent)) as ledger:
                ledger.change(lambda database: remove(database, codes))
        except (OSError, sqlite3.Error) as error:
            raise JournalError("the journal could not be written: {reason}", reason=error) from error

    def _found(self, code: str) -> Stored | None:
        with self._damage_told():
            return table_in_use(self._database, code) or archived_table(self._database, code)


def _stored(table: Stored) -> StoredTable:
    found = contents(table.whole_entries)
    return StoredTable(
        table.code,
        found.stage,
        table.archived is not None,
        found.names,
        found.moves,
        table.rows[0].time,
        table.rows[-1].time,
    )


def _archived(table: ArchivedTable) -> StoredTable:
    found = table.contents
    return StoredTable(table.code, found.stage, True, found.names, found.moves, table.opened, table.changed)
