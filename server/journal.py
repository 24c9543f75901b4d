"""Storage: entries are committed before anyone hears of them.

Whatever the tables append in one turn of the event loop goes into one commit.
"""

import asyncio
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import msgspec

from server.entries import Entry, Forgotten, entry_of, entry_text

SCHEMA_VERSION: Final = 1
FILE_NAME: Final = "palatinus.sqlite3"

# In the order of writing, so that a commit for many tables touches the same last pages for all of them.
_SCHEMA: Final = (
    """CREATE TABLE entry (
        id INTEGER PRIMARY KEY, code TEXT NOT NULL, number INTEGER NOT NULL, body TEXT NOT NULL
    )""",
    "CREATE INDEX entry_of_table ON entry (code)",
)


class JournalError(Exception):
    """The journal cannot be used; the text says what to do."""


class Journal(Protocol):
    """What a table needs of storage."""

    async def append(self, code: str, first: int, entries: Sequence[Entry]) -> None:
        """Store `entries` of the table `code`, from number `first`; or raise JournalError and store none."""

    def tables(self) -> dict[str, list[Entry]]:
        """Return the entries of every table that is not forgotten; raises JournalError if damaged."""

    def damaged(self, what: str) -> JournalError:
        """Return the error that tells what is wrong with the entries."""

    async def close(self) -> None: ...


class NoJournal:
    """A journal that keeps nothing: for games that end with the process."""

    async def append(self, code: str, first: int, entries: Sequence[Entry]) -> None:
        pass

    def tables(self) -> dict[str, list[Entry]]:
        return {}

    def damaged(self, what: str) -> JournalError:
        return JournalError(what)

    async def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class _Append:
    rows: list[tuple[str, int, str]]
    forgotten: list[tuple[str]]
    stored: asyncio.Future[None]


class SqliteJournal:
    """A journal in one SQLite file (WAL) in the folder `data`; forgotten tables leave it.

    Raises JournalError if the folder or file cannot be used, was written by a newer version, or is in use.
    """

    def __init__(self, data: Path) -> None:
        self.path = data / FILE_NAME
        self._gathered: list[_Append] = []
        self._loop = asyncio.get_running_loop()
        try:
            data.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._database = _opened(self.path)
        except (OSError, sqlite3.Error) as error:
            busy = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
            hint = "another server is using it" if busy else str(error)
            raise JournalError(
                f"cannot use the journal {self.path}: {hint}. Choose another --data"
            ) from error

    def tables(self) -> dict[str, list[Entry]]:
        tables: dict[str, list[Entry]] = {}
        try:
            rows = self._database.execute("SELECT code, number, body FROM entry ORDER BY id")
            for code, number, body in rows:
                entries = tables.setdefault(code, [])
                if number != len(entries):
                    raise self.damaged(f"entry {len(entries)} of table {code} is missing")
                try:
                    entries.append(entry_of(body))
                except (msgspec.DecodeError, TypeError) as error:
                    raise self.damaged(f"entry {number} of table {code}: {error}") from error
        except sqlite3.Error as error:
            raise self.damaged(str(error)) from error
        return tables

    def damaged(self, what: str) -> JournalError:
        advice = "Restore a copy of the file, or choose another --data"
        return JournalError(f"the journal {self.path} is damaged: {what}. {advice}")

    async def append(self, code: str, first: int, entries: Sequence[Entry]) -> None:
        rows = [(code, first + index, entry_text(entry)) for index, entry in enumerate(entries)]
        forgotten = [(code,) for entry in entries if isinstance(entry, Forgotten)]
        stored = self._loop.create_future()
        if not self._gathered:
            self._loop.call_soon(self._settle)
        self._gathered.append(_Append(rows, forgotten, stored))
        await stored

    async def close(self) -> None:
        self._settle()
        self._database.close()

    def _settle(self) -> None:
        """Commit what the tables have appended in this turn of the event loop, all together.

        Not in a thread: a commit writes to memory that the system puts on disk later, which takes some 20
        microseconds a move, and handing the interpreter to a thread and back took five times as long.
        """
        batch, self._gathered = self._gathered, []
        error = self._committed(batch)
        for append in batch:
            if append.stored.done():  # its table was cancelled meanwhile
                continue
            if error is None:
                append.stored.set_result(None)
            else:
                append.stored.set_exception(JournalError(f"the journal could not be written: {error}"))

    def _committed(self, batch: list[_Append]) -> sqlite3.Error | None:
        try:
            with self._database:
                self._database.executemany(
                    "INSERT INTO entry (code, number, body) VALUES (?, ?, ?)",
                    [row for append in batch for row in append.rows],
                )
                self._database.executemany(
                    "DELETE FROM entry WHERE code = ?",
                    [code for append in batch for code in append.forgotten],
                )
        except sqlite3.Error as error:
            return error
        return None


def _opened(path: Path) -> sqlite3.Connection:
    path.touch(mode=0o600)  # it holds hidden pieces; SQLite gives its other files the same mode
    database = sqlite3.connect(path, timeout=1.0)
    try:
        _prepare(database, path)
    except BaseException:
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    # A second server on the same file would number the same tables' entries again.
    database.execute("PRAGMA locking_mode = EXCLUSIVE")
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise JournalError(
            f"{path} was written by a newer Palatinus (journal {version}; this one reads {SCHEMA_VERSION}). "
            "Update Palatinus, or choose another --data"
        )
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    with database:
        database.execute("BEGIN IMMEDIATE")
        if version == 0:
            for statement in _SCHEMA:
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
