"""The tables in the journal's file, and the steps from older versions to the newest.

A migration has to trust what it finds. What is visibly damaged gets no chain, and so counts as damaged.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from server.errors import JournalError
from server.storage.archive_index import ArchivedGame
from server.storage.entries import Entry, entry_of
from server.storage.operations import insert
from server.storage.reasons import Misfit
from server.storage.sqlite.rows import carry_out
from server.storage.stored_tables import Everything, Row, Stored, inflated, relinked

SCHEMA_VERSION: Final = 4
_APPLICATION_ID: Final = 0x50414C41  # "PALA"

_ARCHIVE_2: Final = """CREATE TABLE archive (
    code TEXT PRIMARY KEY, archived INTEGER NOT NULL, entries BLOB NOT NULL
)"""
_ARCHIVE: Final = """CREATE TABLE archive (
    code TEXT PRIMARY KEY, archived INTEGER NOT NULL, entries BLOB NOT NULL, origin TEXT NOT NULL,
    played INTEGER NOT NULL, length INTEGER NOT NULL, chain BLOB NOT NULL, opened INTEGER, changed INTEGER,
    contents TEXT NOT NULL, seal BLOB NOT NULL
)"""
_SINCE_4: Final = (
    """CREATE TABLE set_aside (
        code TEXT PRIMARY KEY, since INTEGER NOT NULL, reason TEXT NOT NULL, entries BLOB NOT NULL,
        whole INTEGER NOT NULL, length INTEGER NOT NULL
    )""",
    # Finished games whose records are not written yet.
    "CREATE TABLE record_due (code TEXT PRIMARY KEY, ended INTEGER NOT NULL)",
    "CREATE TABLE journal (id TEXT NOT NULL, commits INTEGER NOT NULL)",
    "INSERT INTO journal VALUES (lower(hex(randomblob(8))), 0)",
)
_SCHEMA: Final = (
    # In the order of writing, so that a commit for many tables touches the same last pages for all of them.
    """CREATE TABLE entry (
        id INTEGER PRIMARY KEY, code TEXT NOT NULL, number INTEGER NOT NULL, body TEXT NOT NULL, time INTEGER,
        chain BLOB NOT NULL DEFAULT x'', added INTEGER NOT NULL DEFAULT 0
    )""",
    "CREATE INDEX entry_of_table ON entry (code)",
    _ARCHIVE,
    *_SINCE_4,
)
_NEWER: Final = range(SCHEMA_VERSION + 1, 1000)  # versions that may be written one day
_MIGRATIONS: Final = {  # what makes the next version of each
    1: ("ALTER TABLE entry ADD COLUMN time INTEGER", _ARCHIVE_2),
    2: (
        "ALTER TABLE archive ADD COLUMN origin TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE archive ADD COLUMN played INTEGER NOT NULL DEFAULT 1",
        "UPDATE archive SET origin = code",  # nobody knows who opened them: each is of its own
    ),
    3: (
        "ALTER TABLE entry ADD COLUMN chain BLOB NOT NULL DEFAULT x''",
        "ALTER TABLE entry ADD COLUMN added INTEGER NOT NULL DEFAULT 0",  # by which commit
        "ALTER TABLE archive RENAME TO archive_3",
        _ARCHIVE,
        *_SINCE_4,
    ),
}


def checked_version(database: sqlite3.Connection, path: Path) -> int:
    """Return the version of a journal, 0 for an empty file.

    Raises JournalError if it is of a newer version or not a journal, Misfit if its header is damaged.
    """
    version = number_of(database, "user_version")
    made = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    if {"entry", "archive", "set_aside", "journal"} <= made and version not in _NEWER:
        # It has the newest schema, so only its header can be damaged.
        if version != SCHEMA_VERSION or number_of(database, "application_id") != _APPLICATION_ID:
            raise Misfit("the header is damaged")
        return version
    if version > SCHEMA_VERSION:
        raise JournalError(
            "{file} was written by a newer Palatinus (journal {version}; this one reads {known}). "
            "Update Palatinus, or choose another --data",
            file=path,
            version=version,
            known=SCHEMA_VERSION,
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
    if version == SCHEMA_VERSION:
        return
    with transaction(database):
        if version == 0:
            _run(database, _SCHEMA)
        for step in range(version or SCHEMA_VERSION, SCHEMA_VERSION):
            _run(database, _MIGRATIONS[step])
            if step == 3:
                _chain_tables(database)
        database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _run(database: sqlite3.Connection, statements: Iterable[str]) -> None:
    for statement in statements:
        database.execute(statement)


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Run statements that change the schema as one; sqlite3 begins transactions by itself only for rows."""
    with database:
        database.execute("BEGIN IMMEDIATE")
        yield


def number_of(database: sqlite3.Connection, pragma: str) -> int:
    return int(database.execute(f"PRAGMA {pragma}").fetchone()[0])


def _chain_tables(database: sqlite3.Connection) -> None:
    """Link the entries of every table; the archive of before is the table `archive_3`, and goes."""
    tables: dict[str, list[tuple[int, int, int | None, str]]] = {}
    for row in database.execute("SELECT code, id, number, time, body FROM entry ORDER BY number"):
        tables.setdefault(row[0], []).append(row[1:])
    for code, rows in tables.items():
        _link(database, code, rows)
    for row in database.execute("SELECT * FROM archive_3 ORDER BY archived, rowid").fetchall():
        _pack_again(database, row)
    database.execute("DROP TABLE archive_3")


def _link(database: sqlite3.Connection, code: str, rows: list[tuple[int, int, int | None, str]]) -> None:
    known = [row for index, row in enumerate(rows) if row[1] == index and isinstance(row[3], str)]
    links = relinked(code, ((when, body) for _, _, when, body in known))
    database.executemany(
        "UPDATE entry SET chain = ? WHERE id = ?",
        [(row.link, number) for row, (number, *_) in zip(links, known, strict=True)],
    )


def _pack_again(database: sqlite3.Connection, row: tuple[str, int, bytes, str, int]) -> None:
    code, archived, content, origin, played = row
    text, whole = inflated(content)
    lines = text.split("\n")
    rows, entries = _rows_3(code, lines)
    whole = whole and len(rows) == len(lines)
    if not rows:
        rows = [Row(None, "", b"")]
    table = Stored(code, rows, entries, archived, game=ArchivedGame(origin, bool(played)))
    carry_out(database, insert(Everything([table])))
    if not whole:
        database.execute("UPDATE archive SET seal = x'' WHERE code = ?", (code,))


def _rows_3(code: str, lines: list[str]) -> tuple[list[Row], list[Entry]]:
    """Return what version 3 packed, as far as it makes sense."""
    found: list[tuple[int | None, str]] = []
    entries: list[Entry] = []
    for line in lines:
        when, _, body = line.partition(" ")
        try:
            entry = entry_of(body)
            found.append((int(when) or None, body))
        except (msgspec.DecodeError, ValueError):
            break
        entries.append(entry)
    return relinked(code, found), entries
