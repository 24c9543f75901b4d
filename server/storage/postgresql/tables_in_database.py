"""How the rows of operations are read and written in the database, and whose tables are.

What changes anything is called within a change of a Line, with the server's term: a table in use is changed
by its owner alone.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from server.storage.archive_index import ArchivedGame
from server.storage.operations import Claim, Delete, Insert, Operation, Outcome, Select
from server.storage.postgresql.database import Connection
from server.storage.rows import COLUMNS
from server.storage.standing import Place

T = TypeVar("T")

_CHOSEN: Final = "($1::text[] IS NULL OR code = ANY ($1))"
_SELECTS: Final = {
    "entry": f"SELECT {COLUMNS['entry']} FROM entry JOIN game_table USING (code)"
    f" WHERE place = '=' AND {_CHOSEN} ORDER BY opened, number",
    "archive": f"SELECT {COLUMNS['archive']} FROM archive WHERE {_CHOSEN} ORDER BY rank",
    "set_aside": f"SELECT {COLUMNS['set_aside']} FROM set_aside WHERE {_CHOSEN} ORDER BY since DESC, code",
    "record_due": f"SELECT {COLUMNS['record_due']} FROM record_due WHERE {_CHOSEN} ORDER BY ended, code",
    "archived codes": f"SELECT code FROM archive WHERE {_CHOSEN}",
    "codes set aside": f"SELECT code FROM set_aside WHERE {_CHOSEN}",
    "times": f"SELECT code, min(time), max(time) FROM entry WHERE {_CHOSEN} GROUP BY code",
}
_CLAIM: Final = """
SELECT code, place = '=' AND term IS DISTINCT FROM $2 FROM game_table
    WHERE code = ANY ($1) ORDER BY code FOR UPDATE
"""
_PLACE: Final = """
INSERT INTO game_table (code, place, term) VALUES ($1, $2, $3)
    ON CONFLICT (code) DO UPDATE SET place = EXCLUDED.place, term = EXCLUDED.term
"""


async def carry_out(connection: Connection, operation: Operation[T], term: int | None = None) -> T:
    """Return what an operation of the server with this term returns; raises what it raises, or FAILED."""
    rows: Any = None
    while True:
        try:
            statement = operation.send(rows)
        except StopIteration as ended:
            result: T = ended.value
            return result
        rows = await _rows(connection, statement, term)


async def change(connection: Connection, operation: Operation[Outcome], term: int | None = None) -> Outcome:
    """Carry out an operation that changes tables; those in use afterwards are the server's."""
    outcome = await carry_out(connection, operation, term)
    kept = [(code, table.standing.place) for code, table in outcome.items() if table is not None]
    if kept:
        owners = {Place.IN_USE: term}
        await connection.executemany(_PLACE, [(code, place, owners.get(place)) for code, place in kept])
    if gone := [code for code, table in outcome.items() if table is None]:
        await connection.execute("DELETE FROM game_table WHERE code = ANY ($1)", gone)
    return outcome


async def _rows(
    connection: Connection, statement: Select | Insert | Delete | Claim, term: int | None
) -> Sequence[Any]:
    match statement:
        case Select(rows, codes):
            found: list[Any] = await connection.fetch(_SELECTS[rows], codes)
            return [tuple(row) for row in found]
        case Insert(rows, values):
            columns = COLUMNS[rows]
            marks = ", ".join(f"${number}" for number in range(1, len(columns.split(", ")) + 1))
            await connection.executemany(f"INSERT INTO {rows} ({columns}) VALUES ({marks})", values)
        case Delete(rows, codes):
            await connection.execute(f"DELETE FROM {rows} WHERE code = ANY ($1)", codes)
        case Claim(codes):
            return [(code,) for code, others in await connection.fetch(_CLAIM, codes, term) if others]
    return []


async def archive_index(connection: Connection) -> list[tuple[str, ArchivedGame]]:
    """Return which games are archived, oldest first."""
    rows = await connection.fetch("SELECT code, origin, played FROM archive ORDER BY rank")
    return [(code, ArchivedGame(origin, bool(played))) for code, origin, played in rows]


async def archive_state(connection: Connection) -> tuple[int, int]:
    """Return what changes with the archive, which is cheap to ask: its size, and its last rank."""
    size, last = await connection.fetchrow("SELECT count(*), coalesce(max(rank), 0) FROM archive")
    return size, last


async def records_due(connection: Connection, term: int) -> list[tuple[str, int]]:
    """Return the finished games of the server, and of nobody, whose records are due, and when they ended."""
    rows = await connection.fetch(
        "SELECT code, ended FROM record_due LEFT JOIN game_table USING (code)"
        " WHERE term IS NULL OR term = $1 ORDER BY ended, code",
        term,
    )
    return [(code, ended) for code, ended in rows]
