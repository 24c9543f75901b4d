"""The tables in the journal's file, and how an older journal is brought to the newest version.

A migration has to trust what it finds. What is visibly damaged gets no chain, and so counts as damaged.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from server.errors import JournalError
from server.storage.archive_index import ArchivedGame
from server.storage.entries import JOURNAL_VERSION, Entry, entry_of
from server.storage.names import BEFORE_JOURNAL_6, EVENING
from server.storage.operations import insert
from server.storage.reasons import Misfit
from server.storage.sqlite.rows import carry_out
from server.storage.stored_tables import Everything, Row, Stored, inflate, link_rows

_EVENING_SINCE: Final = 6  # the version since which an evening is not called as a table could be
TABLES_SINCE: Final = 4  # the version of the journal that had the tables of now first, and a commit list
_APPLICATION_ID: Final = 0x50414C41  # "PALA"

_SCHEMA: Final = (
    # In the order of writing, so that a commit for many tables touches the same last pages for all of them.
    """CREATE TABLE entry (
        id INTEGER PRIMARY KEY, code TEXT NOT NULL, number INTEGER NOT NULL, body TEXT NOT NULL, time INTEGER,
        chain BLOB NOT NULL DEFAULT x'', added INTEGER NOT NULL DEFAULT 0  -- by which commit
    )""",
    "CREATE UNIQUE INDEX entry_of_table ON entry (code, number)",
    """CREATE TABLE archive (
        code TEXT PRIMARY KEY, archived INTEGER NOT NULL, entries BLOB NOT NULL, origin TEXT NOT NULL,
        played INTEGER NOT NULL, length INTEGER NOT NULL, chain BLOB NOT NULL, opened INTEGER,
        changed INTEGER, contents TEXT NOT NULL, seal BLOB NOT NULL
    )""",
    """CREATE TABLE set_aside (
        code TEXT PRIMARY KEY, since INTEGER NOT NULL, reason TEXT NOT NULL, entries BLOB NOT NULL,
        whole INTEGER NOT NULL, length INTEGER NOT NULL
    )""",
    # Finished games whose records are not written yet.
    "CREATE TABLE record_due (code TEXT PRIMARY KEY, ended INTEGER NOT NULL)",
    "CREATE TABLE journal (id TEXT NOT NULL, commits INTEGER NOT NULL)",
    "INSERT INTO journal VALUES (lower(hex(randomblob(8))), 0)",
)
_NEWER: Final = range(JOURNAL_VERSION + 1, 1000)  # versions that may be written one day


def check_version(database: sqlite3.Connection, path: Path) -> int:
    """Return the version of a journal, 0 for an empty file.

    Raises JournalError if it is of a newer version or not a journal, Misfit if its header is damaged.
    """
    version = number_of(database, "user_version")
    made = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    if {"entry", "archive", "set_aside", "journal"} <= made and version not in _NEWER:
        # It has the newest tables, so only its header can be damaged.
        if version < TABLES_SINCE or number_of(database, "application_id") != _APPLICATION_ID:
            raise Misfit("the header is damaged")
        return version
    if version > JOURNAL_VERSION:
        raise JournalError(
            "{file} was written by a newer Palatinus (journal {version}; this one reads {known}). "
            "Update Palatinus, or choose another --data",
            file=path,
            version=version,
            known=JOURNAL_VERSION,
        )
    if version == 0:
        ours = not made
    elif version == 1:  # which had no application id
        ours = "entry" in made
    else:
        ours = number_of(database, "application_id") == _APPLICATION_ID
    if not ours:
        raise JournalError("{file} is not a Palatinus journal. Choose another --data", file=path)
    return version


def upgrade(database: sqlite3.Connection, version: int) -> None:
    """Bring a journal of this version to the newest one."""
    if version == JOURNAL_VERSION:
        return
    with transaction(database):
        if version < TABLES_SINCE:
            _make_tables(database, version)
        # Version 4 could leave a game in the archive that had given way, and give its code to another table.
        database.execute("DELETE FROM archive WHERE code IN (SELECT code FROM entry)")
        if version < _EVENING_SINCE:
            for rows in ("entry", "set_aside"):
                database.execute(
                    f"UPDATE {rows} SET code = ? WHERE code = ?",  # noqa: S608 - names from above
                    (EVENING, BEFORE_JOURNAL_6),
                )
        database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {JOURNAL_VERSION}")


def _make_tables(database: sqlite3.Connection, version: int) -> None:
    """Make the tables, and fill them with what is in those of an older version."""
    entries: list[tuple[Any, ...]] = []
    archive: list[tuple[Any, ...]] = []
    if version:
        time = "NULL" if version == 1 else "time"
        entries = database.execute(
            f"SELECT id, code, number, body, {time} FROM entry ORDER BY number"  # noqa: S608 - from above
        ).fetchall()
        database.execute("DROP TABLE entry")
    if version > 1:
        archive = database.execute("SELECT * FROM archive ORDER BY archived, rowid").fetchall()
        database.execute("DROP TABLE archive")
    for statement in _SCHEMA:
        database.execute(statement)
    _insert_entries(database, entries)
    for row in archive:
        _insert_archived(database, row)


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Run statements that change the schema in one transaction, which sqlite3 begins only for rows."""
    with database:
        database.execute("BEGIN IMMEDIATE")
        yield


def number_of(database: sqlite3.Connection, pragma: str) -> int:
    return int(database.execute(f"PRAGMA {pragma}").fetchone()[0])


def _insert_entries(database: sqlite3.Connection, entries: Iterable[tuple[Any, ...]]) -> None:
    """Insert entries of tables, sorted by number, with their chains."""
    tables: dict[str, list[tuple[Any, ...]]] = {}
    for row in entries:
        tables.setdefault(row[1], []).append(row)
    for code, rows in tables.items():
        known = [row for index, row in enumerate(rows) if row[2] == index and isinstance(row[3], str)]
        links = link_rows(code, ((when, body) for *_, body, when in known))
        chain = {row[0]: linked.link for row, linked in zip(known, links, strict=True)}
        database.executemany(
            # A number that stands there twice is damage, and so are the entries after it.
            "INSERT OR IGNORE INTO entry (id, code, number, body, time, chain) VALUES (?, ?, ?, ?, ?, ?)",
            [(*row, chain.get(row[0], b"")) for row in rows],
        )


def _insert_archived(database: sqlite3.Connection, row: tuple[Any, ...]) -> None:
    """Insert a table from an older archive, as far as it makes sense."""
    code, archived, content, *owner = row
    origin, played = owner or (code, True)  # until version 2 nobody knows who opened it: it is of its own
    text, whole = inflate(content)
    found: list[tuple[int | None, str]] = []
    entries: list[Entry] = []
    for line in text.split("\n"):
        when, _, body = line.partition(" ")
        try:
            entry, time = entry_of(body), int(when) or None
        except (msgspec.DecodeError, ValueError):
            whole = False
            break
        entries.append(entry)
        found.append((time, body))
    rows = link_rows(code, found) or [Row(None, "", b"")]
    game = ArchivedGame(origin, bool(played))
    carry_out(database, insert(Everything([Stored(code, rows, entries, archived, game=game)])))
    if not whole:
        database.execute("UPDATE archive SET seal = x'' WHERE code = ?", (code,))
