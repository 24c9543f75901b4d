"""The tables in a journal's file: those of the server, the archive of games that everyone has left, and
damaged tables that were set aside.

In the archive a game is one row, packed, until one of its players comes back to it.
"""

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from server.storage.archive_index import ArchivedGame
from server.storage.archive_rows import COLUMNS, archive_row, archived_from, listed_from
from server.storage.entries import LiveEntries
from server.storage.reasons import Misfit
from server.storage.standing import SET_ASIDE, Changes, Place, Standing
from server.storage.stored_tables import (
    ArchivedTable,
    Row,
    SetAside,
    Stored,
    checked,
    packed,
    relinked,
    unpacked,
)

EntryRow: TypeAlias = tuple[str, int, str, int | None, bytes, int]  # as `insert_rows` has it


def in_use(database: sqlite3.Connection) -> list[Stored]:
    """Return the tables that are not archived, in the order in which they were opened."""
    tables: dict[str, list[tuple[Any, Any, Any, Any]]] = {}
    for code, *row in database.execute("SELECT code, number, body, time, chain FROM entry ORDER BY id"):
        tables.setdefault(str(code), []).append((row[0], row[1], row[2], row[3]))
    return [checked(code, rows) for code, rows in tables.items()]


def table_in_use(database: sqlite3.Connection, code: str) -> Stored | None:
    """Return a table that is not archived, None if there is none."""
    rows = _rows(database, code)
    return checked(code, rows) if rows else None


def archived_table(database: sqlite3.Connection, code: str) -> Stored | None:
    """Return an archived table, None if there is none."""
    row = database.execute(f"SELECT {COLUMNS} FROM archive WHERE code = ?", (code,)).fetchone()  # noqa: S608 - a constant
    return None if row is None else archived_from(row)[0]


def archived_tables(database: sqlite3.Connection) -> Iterator[tuple[Stored, ArchivedGame]]:
    """Yield the archived tables unpacked, oldest first, whatever is in them."""
    rows = database.execute(f"SELECT {COLUMNS} FROM archive ORDER BY archived, rowid")  # noqa: S608 - a constant
    yield from map(archived_from, rows)


def archive_list(database: sqlite3.Connection, codes: Sequence[str] | None = None) -> Iterator[ArchivedTable]:
    """Yield the archived tables, or those of them in `codes`, oldest first.

    Raises Misfit if what is said of one makes no sense.
    """
    only = "" if codes is None else f"WHERE code IN ({', '.join('?' * len(codes))})"
    rows = database.execute(
        f"SELECT {COLUMNS} FROM archive {only} ORDER BY archived, rowid",  # noqa: S608 - question marks
        codes or (),
    )
    yield from map(listed_from, rows)


def archive(database: sqlite3.Connection, code: str, game: ArchivedGame, gone: Sequence[str] = ()) -> Changes:
    """Move a table's entries into the archive, and remove the tables `gone` from it.

    Raises Misfit if the table has no entries, or is damaged.
    """
    found = table_in_use(database, code)
    if found is None:
        raise Misfit(f"table {code} has no entries")
    if found.damage is not None:
        raise Misfit(f"table {code}: {found.damage}")
    table = Stored(code, found.rows, found.entries, int(time.time()))
    insert_archived(database, table, game)
    database.execute("DELETE FROM entry WHERE code = ?", (code,))
    database.executemany("DELETE FROM archive WHERE code = ?", [(other,) for other in gone])
    return {code: table.standing, **dict.fromkeys(gone)}


def insert_archived(database: sqlite3.Connection, table: Stored, game: ArchivedGame) -> None:
    """Add a table to the archive; there must be none with its code."""
    database.execute(
        f"INSERT INTO archive ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - a constant
        archive_row(table, game),
    )


def shorten(database: sqlite3.Connection, code: str, live_entries: LiveEntries) -> Changes:
    """Keep only the entries of a table that `live_entries` names, with a new chain.

    Raises Misfit if the table is damaged.
    """
    found = table_in_use(database, code)
    if found is None or found.damage is not None:
        raise Misfit(f"table {code}: {found.damage if found else 'it has no entries'}")
    numbers = live_entries(found.entries)
    kept = relinked(code, ((found.rows[number].time, found.rows[number].body) for number in numbers))
    database.execute("DELETE FROM entry WHERE code = ?", (code,))
    insert(database, code, kept)
    return {code: Standing(Place.IN_USE, len(kept), kept[-1].link)}


def bring_back(database: sqlite3.Connection, code: str) -> Changes:
    """Move an archived table's entries back to those of the server's tables; raises Misfit."""
    found = archived_table(database, code)
    if found is None:
        raise Misfit(f"table {code} is not archived")
    if found.damage is not None:
        raise Misfit(f"archived table {code}: {found.damage}")
    insert(database, code, found.rows)
    database.execute("DELETE FROM archive WHERE code = ?", (code,))
    return {code: Standing(Place.IN_USE, len(found.rows), found.rows[-1].link)}


def records_due(database: sqlite3.Connection) -> list[tuple[str, int]]:
    """Return the codes of the finished games whose records are due, and when the games ended."""
    return database.execute("SELECT code, ended FROM record_due ORDER BY ended, rowid").fetchall()


def record_written(database: sqlite3.Connection, code: str) -> Changes:
    """Record that a game's record is due no longer; the tables stay as they are."""
    database.execute("DELETE FROM record_due WHERE code = ?", (code,))
    return {}


def remove(database: sqlite3.Connection, codes: Iterable[str]) -> Changes:
    """Remove tables, wherever they are."""
    gone = list(codes)
    for code in gone:
        for table in ("entry", "archive", "set_aside"):
            database.execute(f"DELETE FROM {table} WHERE code = ?", (code,))  # noqa: S608 - names from above
    return dict.fromkeys(gone)


def insert(
    database: sqlite3.Connection, code: str, rows: Iterable[Row], first: int = 0, commit: int = 0
) -> None:
    """Add entries of a table, from number `first`, in this commit."""
    insert_rows(
        database,
        [(code, number, body, when, link, commit) for number, (when, body, link) in enumerate(rows, first)],
    )


def insert_rows(database: sqlite3.Connection, rows: Iterable[EntryRow]) -> None:
    """Add entries of any tables."""
    database.executemany(
        "INSERT INTO entry (code, number, body, time, chain, added) VALUES (?, ?, ?, ?, ?, ?)", rows
    )


def times_in_use(
    database: sqlite3.Connection, codes: Iterable[str]
) -> dict[str, tuple[int | None, int | None]]:
    """Return when the first and the last entry of tables were stored, for those that are not archived."""
    found = {}
    for code in codes:
        first, last = database.execute(
            "SELECT min(time), max(time) FROM entry WHERE code = ?", (code,)
        ).fetchone()
        found[code] = (first, last)
    return found


def commits(database: sqlite3.Connection) -> int:
    """Return the number of the last commit.

    An entry holds the number of its commit, so that most commits need not write the page of the counter.
    """
    number: int = database.execute(
        "SELECT max(commits, (SELECT coalesce(max(added), 0) FROM entry)) FROM journal"
    ).fetchone()[0]
    return number


def _rows(database: sqlite3.Connection, code: str) -> list[tuple[Any, Any, Any, Any]]:
    return database.execute("SELECT number, body, time, chain FROM entry WHERE code = ?", (code,)).fetchall()


def standings(database: sqlite3.Connection) -> dict[str, Standing]:
    """Return where all tables are kept and how far they have come, without checking them."""
    found = {}
    for code, length, link in database.execute(
        "SELECT code, length, chain FROM archive ORDER BY archived, rowid"
    ):
        found[code] = Standing(Place.ARCHIVED, length, link)
    for code, length, link in database.execute(
        "SELECT code, number + 1, chain FROM entry WHERE (code, number) IN"
        " (SELECT code, max(number) FROM entry GROUP BY code)"
    ):
        found[code] = Standing(Place.IN_USE, length, link)
    return found | dict.fromkeys(codes_set_aside(database), SET_ASIDE)


def codes_set_aside(database: sqlite3.Connection) -> set[str]:
    """Return the codes of the tables that were set aside."""
    return {code for (code,) in database.execute("SELECT code FROM set_aside")}


def set_aside_tables(database: sqlite3.Connection, codes: Sequence[str] | None = None) -> list[SetAside]:
    """Return the tables that were set aside, or those of them in `codes`, the latest first."""
    only = "" if codes is None else f"WHERE code IN ({', '.join('?' * len(codes))})"
    rows = database.execute(
        f"SELECT code, since, reason, entries, whole, length FROM set_aside {only} ORDER BY since DESC, code",  # noqa: S608 - question marks
        codes or (),
    )
    return [
        SetAside(code, since, reason, unpacked(content), whole, length)
        for code, since, reason, content, whole, length in rows
    ]


def insert_set_aside(database: sqlite3.Connection, table: SetAside) -> None:
    """Keep a damaged table, in place of an earlier one with its code."""
    database.execute(
        "INSERT OR REPLACE INTO set_aside (code, since, reason, entries, whole, length)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (table.code, table.since, table.reason, packed(table.rows), table.whole, table.length),
    )


def set_aside(database: sqlite3.Connection, code: str, whole: int, reason: str) -> Changes:
    """Set a table aside whose first `whole` entries make sense."""
    found = table_in_use(database, code) or archived_table(database, code)
    rows = [] if found is None else found.rows
    now = int(time.time())
    insert_set_aside(database, SetAside(code, now, reason, rows, min(whole, len(rows)), len(rows)))
    database.execute("DELETE FROM entry WHERE code = ?", (code,))
    database.execute("DELETE FROM archive WHERE code = ?", (code,))
    return {code: SET_ASIDE}


def restore(database: sqlite3.Connection, code: str, entries: int) -> Changes:
    """Put the first `entries` of a table that was set aside back into use.

    Raises Misfit if it has fewer that are whole.
    """
    (table,) = set_aside_tables(database, [code])
    rows = table.whole_part.rows[:entries]
    if len(rows) < entries:
        raise Misfit(f"table {code} has only {len(rows)} whole entries")
    insert(database, code, rows)
    database.execute("DELETE FROM set_aside WHERE code = ?", (code,))
    return {code: Standing(Place.IN_USE, len(rows), rows[-1].link)}
