"""Storage: entries are committed before anyone hears of them.

One thread owns the SQLite connection; whatever tables append while it commits goes into the next
commit together.
"""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import msgspec

from server.entries import Entry, Forgotten, entry_of, entry_text

SCHEMA_VERSION: Final = 1
FILE_NAME: Final = "palatinus.sqlite3"

_SCHEMA: Final = """
CREATE TABLE entry (
    code TEXT NOT NULL,
    number INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (code, number)
) WITHOUT ROWID
"""


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
        self._waiting: queue.SimpleQueue[list[_Append] | None] = queue.SimpleQueue()
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
        self._thread = threading.Thread(target=self._write, name="journal", daemon=True)
        self._thread.start()

    def tables(self) -> dict[str, list[Entry]]:
        tables: dict[str, list[Entry]] = {}
        try:
            rows = self._database.execute("SELECT code, number, body FROM entry ORDER BY code, number")
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
            # The thread is woken once for all that the tables append in one turn of the event loop.
            self._loop.call_soon(self._hand_over)
        self._gathered.append(_Append(rows, forgotten, stored))
        await stored

    def _hand_over(self) -> None:
        if self._gathered:
            self._waiting.put(self._gathered)
            self._gathered = []

    async def close(self) -> None:
        self._hand_over()
        self._waiting.put(None)
        await asyncio.to_thread(self._thread.join)
        self._database.close()

    def _write(self) -> None:
        closing = False
        while not closing and (batch := self._waiting.get()) is not None:
            while not self._waiting.empty():
                following = self._waiting.get()
                if following is None:
                    closing = True
                    break
                batch = batch + following
            self._loop.call_soon_threadsafe(_settle, batch, self._commit(batch))

    def _commit(self, batch: list[_Append]) -> sqlite3.Error | None:
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


def _settle(batch: list[_Append], error: sqlite3.Error | None) -> None:
    for append in batch:
        if append.stored.done():  # its table was cancelled meanwhile
            continue
        if error is None:
            append.stored.set_result(None)
        else:
            append.stored.set_exception(JournalError(f"the journal could not be written: {error}"))


def _opened(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=1.0, check_same_thread=False)
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
            database.execute(_SCHEMA)
            database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
