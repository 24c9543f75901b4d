"""How rows are read and written: a change is a transaction in the file, then a line in the commit list."""

import contextlib
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from server.storage.commit_queue import Batch
from server.storage.operations import Claim, Delete, Insert, Operation, Outcome, Select
from server.storage.sqlite.commit_list import FILE_NAME, CommitList, removed_if_it_fails
from server.storage.stored_tables import COLUMNS, SET_ASIDE, Changes, StoredState, TablePlace

T = TypeVar("T")

_COPIED: Final = "copy-of-"  # begins the name of a journal that needs no commit list
_ATTEMPTS_TO_OVERWRITE: Final = 10
_TRIAL_BYTES: Final = 64 * 1024  # more than the moves of several tables take

_ORDER: Final = {
    "entry": "id",
    "archive": "archived, rowid",
    "record_due": "ended, rowid",
    "set_aside": "since DESC, code",
}
_SELECTS: Final = {
    rows: (f"SELECT {columns} FROM {rows}", f" ORDER BY {_ORDER[rows]}") for rows, columns in COLUMNS.items()
} | {
    "archived codes": ("SELECT code FROM archive", ""),
    "codes set aside": ("SELECT code FROM set_aside", ""),
    "times": ("SELECT code, min(time), max(time) FROM entry", " GROUP BY code"),
}


def carry_out(database: sqlite3.Connection, operation: Operation[T]) -> T:
    """Run the operation and return its result; raises its errors, or sqlite3.Error."""
    rows: Any = None
    while True:
        try:
            statement = operation.send(rows)
        except StopIteration as ended:
            result: T = ended.value
            return result
        rows = _rows(database, statement)


def _rows(database: sqlite3.Connection, statement: Select | Insert | Delete | Claim) -> list[Any]:
    match statement:
        case Select(rows, codes):
            select, order = _SELECTS[rows]
            only = "" if codes is None else f" WHERE code IN ({', '.join('?' * len(codes))})"
            return database.execute(f"{select}{only}{order}", codes or ()).fetchall()
        case Insert(rows, values):
            columns = COLUMNS[rows]
            marks = ", ".join("?" * len(columns.split(", ")))
            database.executemany(f"INSERT INTO {rows} ({columns}) VALUES ({marks})", values)
        case Delete(rows, codes):
            database.executemany(f"DELETE FROM {rows} WHERE code = ?", [(code,) for code in codes])
    return []  # one process alone has the file


def commits(database: sqlite3.Connection) -> int:
    """Return the number of the last commit.

    An entry holds the number of its commit, so that most commits need not write the page of the counter.
    """
    number: int = database.execute(
        "SELECT max(commits, (SELECT coalesce(max(added), 0) FROM entry)) FROM journal"
    ).fetchone()[0]
    return number


def standings(database: sqlite3.Connection) -> dict[str, StoredState]:
    """Return where all tables are kept and how far they have come, without checking them."""
    found = {}
    for code, length, link in database.execute(
        "SELECT code, length, chain FROM archive ORDER BY archived, rowid"
    ):
        found[code] = StoredState(TablePlace.ARCHIVED, length, link)
    # To SQLite, `chain` is that of the row with the maximum.
    for code, length, link in database.execute(
        "SELECT code, max(number) + 1, chain FROM entry GROUP BY code"
    ):
        found[code] = StoredState(TablePlace.IN_USE, length, link)
    return found | dict.fromkeys(
        (code for (code,) in database.execute("SELECT code FROM set_aside")), SET_ASIDE
    )


def mark(database: sqlite3.Connection) -> None:
    """Commit something that changes nothing: a new count of changes on the first page.

    Raises sqlite3.Error if nothing can be stored.
    """
    (version,) = database.execute("PRAGMA user_version").fetchone()
    database.execute(f"PRAGMA user_version = {version}")


def is_copy(journal: str) -> bool:
    """Return whether a journal of this name is a copy that is whole without a commit list."""
    return journal.startswith(_COPIED)


def need_no_list(copy: sqlite3.Connection) -> None:
    """Have a copy of a journal need no commit list."""
    with copy:
        copy.execute("UPDATE journal SET id = ? || id", (_COPIED,))


def write_copy(database: sqlite3.Connection, path: Path, *, exact: bool) -> None:
    """Copy what `database` shows, which is closed then, into the new file `path`.

    Only an `exact` copy belongs to the same commit list. Raises sqlite3.Error or OSError.
    """
    with contextlib.closing(database):
        path.touch(mode=0o600, exist_ok=False)
        with removed_if_it_fails(path), contextlib.closing(sqlite3.connect(path)) as copy:
            copy.execute("PRAGMA synchronous = OFF")
            database.backup(copy)
            if not exact:
                need_no_list(copy)
            copy.execute("PRAGMA journal_mode = DELETE").fetchall()  # one file, not three


def identity_of(database: sqlite3.Connection) -> str:
    """Return the journal's name; a copy that is put to use gets a new one first, and from then on a list."""
    (journal,) = database.execute("SELECT id FROM journal").fetchone()
    if is_copy(str(journal)):
        with database:
            database.execute("UPDATE journal SET id = lower(hex(randomblob(8)))")
        (journal,) = database.execute("SELECT id FROM journal").fetchone()
    return str(journal)


class Ledger:
    """The tables in `database`, the journal of the folder `data`.

    One thread at a time may use it. Whatever fails raises and changes nothing, even if the server ends right
    after that; `before_commit` is called last of all, and may raise to undo a transaction. `known` says how
    far the tables have come.
    """

    def __init__(
        self,
        database: sqlite3.Connection,
        data: Path,
        before_commit: Callable[[], None] = lambda: None,
        known: Mapping[str, StoredState] | None = None,
    ) -> None:
        self._database = database
        self._before_commit = before_commit
        self._commits = commits(database)
        journal = identity_of(database)
        known = standings(database) if known is None else known
        self.in_use = {code: each for code, each in known.items() if each.place == TablePlace.IN_USE}
        self._list = CommitList(data / FILE_NAME, journal, self._commits, known)

    def append(self, batch: Batch) -> None:
        commit = self._commits + 1
        try:
            with self._database:
                if batch.forgotten:
                    self._database.executemany(
                        "DELETE FROM entry WHERE code = ?", [(c,) for c in batch.forgotten]
                    )
                if batch.forgotten or not batch.rows:
                    self._count()
                self._database.executemany(
                    "INSERT INTO entry (code, number, body, time, chain, added) VALUES (?, ?, ?, ?, ?, ?)",
                    # Python asks bytes, but no bytearray, how to adapt them, which takes long.
                    [
                        (code, number, body, time, bytearray(link), commit)
                        for code, number, body, time, link in batch.rows
                    ],
                )
                if batch.ended:
                    self._database.executemany(
                        "INSERT OR REPLACE INTO record_due (code, ended) VALUES (?, ?)", batch.ended
                    )
                self._before_commit()
        except sqlite3.Error as error:
            self._overwrite_commit(error)
            raise
        self._take_note(batch.changes)

    def try_moves(self) -> None:
        """Store as much as moves take, and remove it in the same transaction, so that nothing changes."""
        try:
            with self._database:
                self._database.execute(
                    "INSERT INTO entry (code, number, body) VALUES ('', 0, zeroblob(?))", (_TRIAL_BYTES,)
                )
                self._database.execute("DELETE FROM entry WHERE code = ''")
                self._before_commit()
        except sqlite3.Error as error:
            self._overwrite_commit(error)
            raise

    def change(self, operation: Operation[Outcome]) -> Outcome:
        """Carry out an operation in a transaction of its own."""
        try:
            with self._database:
                outcome = carry_out(self._database, operation)
                changes = {code: None if table is None else table.standing for code, table in outcome.items()}
                if changes:
                    self._count()
                    self._sign(changes)
                self._before_commit()
        except sqlite3.Error as error:
            self._overwrite_commit(error)
            raise
        if changes:
            self._take_note(changes)
        return outcome

    def shorten_list(self) -> None:
        """Rewrite the commit list if it has grown long; raises OSError if that fails."""
        if self._list.long:
            self._list.rewrite(self._commits, standings(self._database))

    def close(self) -> None:
        self._list.close()
        self._database.close()

    def _overwrite_commit(self, error: sqlite3.Error) -> None:
        """Overwrite a commit whose sync failed: it is in the log, and the next start would find it."""
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_IOERR_FSYNC:
            for _ in range(_ATTEMPTS_TO_OVERWRITE):
                with contextlib.suppress(sqlite3.Error):
                    mark(self._database)
                    return

    def _sign(self, changes: Changes) -> None:
        """Have tables in use say that this commit changed them, should the commit list lack that."""
        self._database.executemany(
            "UPDATE entry SET added = ? WHERE code = ? AND number = ?",
            [
                (self._commits + 1, code, standing.length - 1)
                for code, standing in changes.items()
                if standing is not None and standing.place == TablePlace.IN_USE
            ],
        )

    def _count(self) -> None:
        self._database.execute("UPDATE journal SET commits = ?", (self._commits + 1,))

    def _take_note(self, changes: Changes) -> None:
        self._commits += 1
        self._list.add(self._commits, changes)
