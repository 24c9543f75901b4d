"""What a data folder holds, for its owner: tables to look at, take a record of, and remove.

Only while no server runs: one process at a time uses a journal.
"""

import random
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from engine.events import Event
from engine.game import Game, RandomChance
from protocol.messages import Stage
from server.errors import JournalError
from server.storage.entries import Freed, Kept, Opened, Played, StoodIn, Taken, events_in
from server.storage.journal_file import FILE_NAME, opened
from server.storage.stored_tables import Stored, archived, in_use, remove


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
        self._database = opened(self._path)
        try:
            found = (*archived(self._database), *in_use(self._database))
        except (sqlite3.Error, ValueError) as error:
            self._database.close()
            raise self._damaged(str(error)) from error
        self._tables = {table.code: table for table in found}

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
        self._database.close()

    def tables(self) -> list[StoredTable]:
        """Return all tables, the latest changed first."""
        tables = map(_summary, self._tables.values())
        return sorted(tables, key=lambda table: table.changed or 0, reverse=True)

    def table(self, code: str) -> StoredTable | None:
        """Return the table with this code, None if there is none."""
        return _summary(self._tables[code]) if code in self._tables else None

    def game(self, code: str) -> tuple[Event, ...]:
        """Return all events of this table's game, hidden kinds included; none if it has not started.

        Raises JournalError if it is damaged.
        """
        try:
            moves = [entry for entry in self._tables[code].entries if isinstance(entry, Played | StoodIn)]
            events = [event for move in moves for event in events_in(move)]
            return tuple(Game(events, RandomChance(random.Random())).events)
        except Exception as error:  # whatever the error, no server wrote this
            raise self._damaged(f"table {code}: {error}") from error

    def remove(self, codes: Iterable[str]) -> None:
        """Remove all these tables for good; if JournalError is raised, none is removed."""
        try:
            with self._database:
                for code in codes:
                    remove(self._database, code)
        except sqlite3.Error as error:
            raise JournalError("the journal could not be written: {reason}", reason=error) from error


def _summary(table: Stored) -> StoredTable:
    """Return what the entries say, without replaying the game: there may be thousands of tables."""
    names: dict[int, str] = {}
    kinds = []
    for entry in table.entries:
        match entry:
            case Opened(players):
                names = dict.fromkeys(range(players), "")
            case Taken(seat, name) | Kept(seat, name):
                names[seat] = name
            case Freed(seat):
                names[seat] = ""
            case Played() | StoodIn():
                kinds += [event.get("t") for event in entry.events]
    return StoredTable(
        table.code,
        _stage(kinds),
        table.archived is not None,
        tuple(names.values()),
        kinds.count("laid") + kinds.count("placed"),
        table.opened,
        table.changed,
    )


def _stage(kinds: list[Any]) -> Stage:
    if not kinds:
        return "gathering"
    return "over" if "ended" in kinds else "playing"
