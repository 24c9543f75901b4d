"""How the rows of operations are read and written in a journal's file."""

import sqlite3
from collections.abc import Iterable
from typing import Any, Final, TypeAlias, TypeVar

from server.storage.operations import Claim, Delete, Insert, Operation, Select
from server.storage.stored_tables import COLUMNS, SET_ASIDE, Place, Standing

T = TypeVar("T")

EntryRow: TypeAlias = tuple[str, int, str, int | None, bytes, int]  # as `insert_rows` has it
_ORDER: Final = {"entry": "id", "archive": "archived, rowid", "record_due": "ended, rowid"} | {
    "set_aside": "since DESC, code"
}
_SELECTS: Final = {
    rows: (f"SELECT {columns} FROM {rows}", f" ORDER BY {_ORDER[rows]}") for rows, columns in COLUMNS.items()
} | {
    "archived codes": ("SELECT code FROM archive", ""),
    "codes set aside": ("SELECT code FROM set_aside", ""),
    "times": ("SELECT code, min(time), max(time) FROM entry", " GROUP BY code"),
}


def carry_out(database: sqlite3.Connection, operation: Operation[T]) -> T:
    """Return what an operation returns; raises what it raises, or sqlite3.Error."""
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


def insert_rows(database: sqlite3.Connection, rows: Iterable[EntryRow]) -> None:
    """Add entries of any tables, with the number of the commit that adds them."""
    database.executemany(
        "INSERT INTO entry (code, number, body, time, chain, added) VALUES (?, ?, ?, ?, ?, ?)", rows
    )


def commits(database: sqlite3.Connection) -> int:
    """Return the number of the last commit.

    An entry holds the number of its commit, so that most commits need not write the page of the counter.
    """
    number: int = database.execute(
        "SELECT max(commits, (SELECT coalesce(max(added), 0) FROM entry)) FROM journal"
    ).fetchone()[0]
    return number


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
    return found | dict.fromkeys(
        (code for (code,) in database.execute("SELECT code FROM set_aside")), SET_ASIDE
    )
