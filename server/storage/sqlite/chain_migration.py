"""The step to version 4 of the journal: every table gets a chain.

A migration has to trust what it finds. What is visibly damaged gets no chain, and so counts as damaged.
"""

import sqlite3

import msgspec

from server.storage.archive_index import ArchivedGame
from server.storage.entries import Entry, entry_of
from server.storage.operations import insert
from server.storage.sqlite.tables_in_file import carry_out
from server.storage.stored_tables import Everything, Row, Stored, inflated, relinked


def chain_tables(database: sqlite3.Connection) -> None:
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
