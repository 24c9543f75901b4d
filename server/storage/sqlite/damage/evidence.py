"""What is found in a journal's files, read without changing a byte of them.

SQLite merges the write-ahead log into the main file on closing it, so everything is read in memory.
Reading in memory also needs no disk space, which matters when the disk is full.
"""

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from server.storage.archive_index import ArchivedGame
from server.storage.chain import first_link, next_link
from server.storage.operations import (
    archive_list,
    archive_rows,
    records_due,
    tables_in_use,
    tables_set_aside,
)
from server.storage.reasons import Misfit
from server.storage.rows import archived_from
from server.storage.sqlite.damage.page_scan import Value, rows_in
from server.storage.sqlite.damage.write_ahead_log import merged
from server.storage.sqlite.journal_file import checked_version, upgrade
from server.storage.sqlite.journal_file import in_use as journal_in_use
from server.storage.sqlite.tables_in_file import carry_out, commits
from server.storage.standing import Place, Standing
from server.storage.stored_tables import Row, SetAside, Stored, unpacked


@dataclass(slots=True)
class View:
    """What SQLite shows of a journal: all of it is there, but not all of it need be whole."""

    version: int  # of the file, before it was upgraded for being read
    journal: str
    commits: int
    counted: int  # the last of those commits that did more than add entries
    in_use: dict[str, Stored]
    added: dict[str, int]  # by table in use: the last commit that changed it
    archived: dict[str, Standing]
    damaged: set[str]  # tables of which something does not fit
    set_aside: dict[str, SetAside]
    records_due: dict[str, int]

    def place(self, code: str) -> Place | None:
        if code in self.set_aside:
            return Place.SET_ASIDE
        if code in self.in_use:
            return Place.IN_USE
        return Place.ARCHIVED if code in self.archived else None


@contextlib.contextmanager
def reading(path: Path) -> Iterator[tuple[sqlite3.Connection, int, bool]]:
    """Read a journal into memory; yield a connection, the file's version, and whether its log is intact.

    The connection shows it in the newest version.
    Raises sqlite3.Error, OSError, Misfit, or JournalError for a file of a newer version or not a journal.
    """
    content, log_intact = merged(content_of(path), content_of(beside(path, "-wal")))
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        if content:
            database.deserialize(content)
        version = checked_version(database, path)
        upgrade(database, version)
        yield database, version, log_intact


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def content_of(path: Path) -> bytes:
    """Return a file's content, nothing if there is no such file; raises OSError."""
    return path.read_bytes() if path.exists() else b""


def view_of(database: sqlite3.Connection, version: int) -> View:
    """Return what SQLite shows; raises sqlite3.Error or ValueError if the file is malformed."""
    (result,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    if result != "ok":
        raise Misfit(str(result).replace("\n", " "))
    row = database.execute("SELECT id, commits FROM journal").fetchone()
    if row is None:
        raise Misfit("its number is missing")
    tables = {table.code: table for table in carry_out(database, tables_in_use())}
    archived = carry_out(database, archive_list())
    damaged = {code for code, table in tables.items() if table.damage is not None}
    damaged |= {table.code for table in archived if not table.whole or table.code in tables}
    return View(
        version,
        row[0],
        commits(database),
        row[1],
        tables,
        dict(database.execute("SELECT code, max(added) FROM entry GROUP BY code")),
        {table.code: table.standing for table in archived},
        damaged,
        {table.code: table for table in carry_out(database, tables_set_aside())},
        dict(carry_out(database, records_due())),
    )


@dataclass(slots=True)
class Evidence:
    """Rows that were found anywhere, whole or damaged, of now or of earlier."""

    rows: dict[str, dict[int, set[Row]]] = field(default_factory=dict)  # by table and number
    named: set[str] = field(default_factory=set)  # tables of which an index has a row
    last: dict[str, tuple[int, int]] = field(default_factory=dict)  # by table: a commit, the length after it
    archived: dict[str, list[tuple[Standing, int, ArchivedGame]]] = field(default_factory=dict)  # and when
    set_aside: dict[str, SetAside] = field(default_factory=dict)
    records_due: dict[str, int] = field(default_factory=dict)  # when the games ended
    journals: set[str] = field(default_factory=set)

    def add_files(self, file: bytes, log: bytes) -> None:
        """Add the rows in the pages of a file and its write-ahead log."""
        for row in rows_in(file, log):
            self._add(row)

    def add_shown(self, database: sqlite3.Connection, view: View) -> None:
        """Add what SQLite shows."""
        for table in view.in_use.values():
            self._add_rows(table.code, table.rows)
        for row in carry_out(database, archive_rows()):
            table = archived_from(row)
            self._add_archived(table, view.archived[table.code])
        self.set_aside |= view.set_aside
        self.records_due |= view.records_due
        self.journals.add(view.journal)

    def holds(self, code: str, standing: Standing) -> bool:
        """Return whether the entry at which a table stood is among the rows."""
        rows = self.rows.get(code, {}).get(standing.length - 1, ())
        return any(row.link == standing.link for row in rows)

    @property
    def codes(self) -> set[str]:
        """All tables that are named anywhere."""
        return {*self.rows, *self.archived, *self.records_due, *self.named}

    @property
    def commits(self) -> int:
        """The number of the last commit that added a row."""
        return max((commit for commit, _ in self.last.values()), default=0)

    def length_after(self, code: str, commits: int) -> int:
        """Return how many entries commits after number `commits` left a table with, 0 if they added none."""
        commit, length = self.last.get(code, (0, 0))
        return length if commit > commits else 0

    def best(self, code: str, wanted: Standing | None, *, or_longer: bool = False) -> list[Row]:
        """Return the longest chain of a table, or the one that ends where it is `wanted` to end.

        `or_longer` follows that one as far as it leads.
        """
        known = self.rows.get(code, {})
        chains: dict[bytes, list[Row]] = {first_link(code): []}
        longest: list[Row] = []
        for number in range(len(known)):
            chains = {
                row.link: [*chain, row]
                for row in known.get(number, ())
                for link, chain in chains.items()
                if row.link == next_link(link, number, row.time, row.body)
            }
            if not chains:
                break
            if wanted is not None and number + 1 == wanted.length and wanted.link in chains:
                if not or_longer:
                    return chains[wanted.link]
                chains = {wanted.link: chains[wanted.link]}
            longest = next(iter(chains.values()))
        return longest

    def _add(self, row: list[Value]) -> None:
        match row:
            case [None, str(code), int(number), str(body), int() | None as time, bytes(link), int(commit)]:
                if _is_code(code):
                    self.rows.setdefault(code, {}).setdefault(number, set()).add(Row(time, body, link))
                    self.last[code] = max(self.last.get(code, (0, 0)), (commit, number + 1))
            case [str(code)] if _is_code(code):
                self.named.add(code)
            case [str(code), int(since), str(reason), bytes(content), int(whole), int(length)]:
                self.set_aside[code] = SetAside(code, since, reason, unpacked(content), whole, length)
            case [str(), int(), bytes(), str(), int(), int(), bytes(), _, _, str(), bytes()]:
                columns: list[Any] = row
                self._add_archived(archived_from(columns), Standing(Place.ARCHIVED, columns[5], columns[6]))
            case [str(code), int(ended)] if _is_code(code):
                self.records_due[code] = ended
            case [str(journal), int()]:
                self.journals.add(journal)

    def _add_archived(self, table: Stored, standing: Standing) -> None:
        """Add a row of the archive, which says how the table stood whatever is left of its entries."""
        self.archived.setdefault(table.code, []).append(
            (standing, table.archived or 0, table.game or ArchivedGame("", played=True))
        )
        self._add_rows(table.code, table.rows)

    def _add_rows(self, code: str, rows: Iterable[Row]) -> None:
        for number, row in enumerate(rows):
            self.rows.setdefault(code, {}).setdefault(number, set()).add(row)


def _is_code(text: str) -> bool:
    return text.isascii() and text.isalpha() and text.isupper()


def refuse_if_in_use(path: Path) -> None:
    """Raise JournalError if another connection has the journal; nothing is changed by asking."""
    if not path.exists() or not path.stat().st_size:  # SQLite would delete the log of an empty file
        return
    try:
        with contextlib.closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=1.0)
        ) as database:
            # Without this SQLite would make a file for sharing the log.
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            raise journal_in_use(path) from error
        # Any other error is for the inspection to find: a lock cannot be had for reading.
