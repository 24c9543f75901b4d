"""What a journal's file holds: the tables of the server, and the archive of games that everyone has left.

In the archive a game is one row, packed, until one of its players comes back to it.
"""

import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from server.storage.archive_index import ArchivedGame
from server.storage.entries import Entry, LiveEntries, entry_of

StoredEntry: TypeAlias = tuple[int | None, str]  # when an entry was stored, if that is known, and its text


@dataclass(frozen=True, slots=True)
class Stored:
    """A table as a journal holds it: its entries, and when the first and the last were stored if known."""

    code: str
    entries: list[Entry]
    opened: int | None
    changed: int | None
    archived: int | None = None  # None: it is not archived


def packed(rows: Iterable[StoredEntry]) -> bytes:
    """Return the entries of a table, compressed: they are some 40, and much alike."""
    return zlib.compress("\n".join(f"{time or 0} {body}" for time, body in rows).encode())


def unpacked(content: bytes) -> list[StoredEntry]:
    """Return the entries that `content` packs; raises ValueError if it is damaged."""
    try:
        lines = zlib.decompress(content).decode().split("\n")
    except zlib.error as error:
        raise ValueError(str(error)) from error
    split = (line.partition(" ") for line in lines)
    return [(int(when) or None, body) for when, _, body in split]


def stored(code: str, rows: list[StoredEntry], archived: int | None = None) -> Stored:
    """Return the table `code` with these entries; raises ValueError if there is something else among them."""
    entries = []
    for number, (_, body) in enumerate(rows):
        try:
            entries.append(entry_of(body))
        except (msgspec.DecodeError, TypeError) as error:
            raise ValueError(f"entry {number} of table {code}: {error}") from error
    return Stored(code, entries, rows[0][0], rows[-1][0], archived)


def in_use(database: sqlite3.Connection) -> list[Stored]:
    """Return the tables that are not archived; raises ValueError if they are damaged."""
    tables: dict[str, list[StoredEntry]] = {}
    for code, number, body, when in database.execute(
        "SELECT code, number, body, time FROM entry ORDER BY id"
    ):
        rows = tables.setdefault(code, [])
        if number != len(rows):
            raise ValueError(f"entry {len(rows)} of table {code} is missing")
        rows.append((when, body))
    return [stored(code, rows) for code, rows in tables.items()]


def archived(database: sqlite3.Connection) -> list[Stored]:
    """Return the archived tables, oldest first; raises ValueError if they are damaged."""
    rows = database.execute("SELECT code, archived, entries FROM archive ORDER BY archived, rowid")
    return [_of_row(*row) for row in rows]


def archived_table(database: sqlite3.Connection, code: str) -> Stored | None:
    """Return an archived table, None if there is none; raises ValueError if it is damaged."""
    rows = database.execute("SELECT code, archived, entries FROM archive WHERE code = ?", (code,))
    row = rows.fetchone()
    return None if row is None else _of_row(*row)


def archived_games(database: sqlite3.Connection) -> Iterator[tuple[str, ArchivedGame]]:
    """Yield the archived games by their codes, oldest first."""
    rows = database.execute("SELECT code, origin, played FROM archive ORDER BY archived, rowid")
    for code, origin, played in rows:
        yield code, ArchivedGame(origin, bool(played))


def archive(database: sqlite3.Connection, code: str, game: ArchivedGame) -> None:
    """Move a table's entries into the archive."""
    rows = database.execute("SELECT time, body FROM entry WHERE code = ? ORDER BY number", (code,))
    row = (code, int(time.time()), packed(rows), game.origin, game.played)
    database.execute(
        "INSERT OR REPLACE INTO archive (code, archived, entries, origin, played) VALUES (?, ?, ?, ?, ?)", row
    )
    database.execute("DELETE FROM entry WHERE code = ?", (code,))


def shorten(database: sqlite3.Connection, code: str, live_entries: LiveEntries) -> int:
    """Keep only the entries of a table that `live_entries` names; return how many there are."""
    found = database.execute("SELECT time, body FROM entry WHERE code = ? ORDER BY number", (code,))
    rows: list[StoredEntry] = found.fetchall()
    kept = [rows[number] for number in live_entries(stored(code, rows).entries)]
    database.execute("DELETE FROM entry WHERE code = ?", (code,))
    _insert(database, code, kept)
    return len(kept)


def bring_back(database: sqlite3.Connection, code: str) -> None:
    """Move an archived table's entries back to those of the server's tables."""
    row = database.execute("SELECT entries FROM archive WHERE code = ?", (code,)).fetchone()
    if row is None:
        raise ValueError(f"table {code} is not archived")
    _insert(database, code, unpacked(row[0]))
    database.execute("DELETE FROM archive WHERE code = ?", (code,))


def remove(database: sqlite3.Connection, code: str) -> None:
    """Remove a table, wherever it is."""
    database.execute("DELETE FROM entry WHERE code = ?", (code,))
    database.execute("DELETE FROM archive WHERE code = ?", (code,))


def _insert(database: sqlite3.Connection, code: str, rows: Iterable[StoredEntry]) -> None:
    database.executemany(
        "INSERT INTO entry (code, number, body, time) VALUES (?, ?, ?, ?)",
        [(code, number, body, when) for number, (when, body) in enumerate(rows)],
    )


def _of_row(code: str, when: int, content: bytes) -> Stored:
    try:
        return stored(code, unpacked(content), when)
    except ValueError as error:
        raise ValueError(f"archived table {code}: {error}") from error
