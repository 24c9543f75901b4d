"""The tables in the database: those of the servers, the archive, and damaged tables that were set aside.

What changes anything is called within a change of a Line, with the server's term: a table in use is changed
by its owner alone.
"""

import time
from collections.abc import Sequence
from typing import Any, Final

from server.storage.archive_index import ArchivedGame
from server.storage.archive_rows import COLUMNS, archive_row, archived_from, listed_from
from server.storage.entries import LiveEntries
from server.storage.postgresql.database import Connection
from server.storage.reasons import Misfit
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

_VALUES: Final = ", ".join(f"${number}" for number in range(1, 12))
INSERT_ARCHIVED: Final = f"INSERT INTO archive ({COLUMNS}) VALUES ({_VALUES})"  # noqa: S608 - constants
_SET_ASIDE: Final = "SELECT code, since, reason, entries, whole, length FROM set_aside"


class NotOwned(Misfit):
    """Another server has the table."""


async def in_use(connection: Connection, codes: Sequence[str] | None = None) -> list[Stored]:
    """Return the tables in use, or those of them in `codes`, in the order in which they were opened."""
    rows = await connection.fetch(
        "SELECT code, number, body, time, chain FROM entry JOIN game_table USING (code)"
        " WHERE place = '=' AND ($1::text[] IS NULL OR code = ANY ($1)) ORDER BY opened, number",
        codes,
    )
    tables: dict[str, list[tuple[Any, Any, Any, Any]]] = {}
    for code, number, body, when, link in rows:
        tables.setdefault(code, []).append((number, body, when, link))
    return [checked(code, numbered) for code, numbered in tables.items()]


async def table_in_use(connection: Connection, code: str) -> Stored | None:
    """Return a table that is in use, None if there is none."""
    return next(iter(await in_use(connection, [code])), None)


async def archived_table(connection: Connection, code: str) -> Stored | None:
    """Return an archived table, None if there is none."""
    row = await connection.fetchrow(f"SELECT {COLUMNS} FROM archive WHERE code = $1", code)  # noqa: S608 - a constant
    return None if row is None else archived_from(tuple(row))[0]


async def archive_list(connection: Connection, codes: Sequence[str] | None = None) -> list[ArchivedTable]:
    """Return what the archive says of all its tables, or of those in `codes`, oldest first."""
    rows = await connection.fetch(
        f"SELECT {COLUMNS} FROM archive WHERE $1::text[] IS NULL OR code = ANY ($1) ORDER BY rank",  # noqa: S608 - a constant
        codes,
    )
    return [listed_from(tuple(row)) for row in rows]


async def archive_index(connection: Connection) -> list[tuple[str, ArchivedGame]]:
    """Return which games are archived, oldest first."""
    rows = await connection.fetch("SELECT code, origin, played FROM archive ORDER BY rank")
    return [(code, ArchivedGame(origin, bool(played))) for code, origin, played in rows]


async def archive_state(connection: Connection) -> tuple[int, int]:
    """Return what changes with the archive, which is cheap to ask: its size, and its last rank."""
    size, last = await connection.fetchrow("SELECT count(*), coalesce(max(rank), 0) FROM archive")
    return size, last


async def archive(
    connection: Connection, term: int, code: str, game: ArchivedGame, gone: Sequence[str]
) -> None:
    """Move a table's entries into the archive, and remove the tables `gone` from it.

    Raises Misfit if the table has no entries, or is damaged, or another server's.
    """
    await _claim(connection, term, code)
    found = await _whole(connection, code)
    table = Stored(code, found.rows, found.entries, int(time.time()))
    await connection.execute(INSERT_ARCHIVED, *archive_row(table, game))
    await connection.execute("DELETE FROM entry WHERE code = $1", code)
    await _move(connection, code, "~", None)
    await connection.execute("DELETE FROM archive WHERE code = ANY ($1)", list(gone))
    await connection.execute("DELETE FROM game_table WHERE place = '~' AND code = ANY ($1)", list(gone))


async def bring_back(connection: Connection, term: int, code: str) -> Stored:
    """Give the server an archived table; raises Misfit if there is none, or it is damaged."""
    if await _place(connection, code) != "~" or (found := await archived_table(connection, code)) is None:
        raise NotOwned(f"table {code} is not archived, or another server has brought it back")
    if found.damage is not None:
        raise Misfit(f"archived table {code}: {found.damage}")
    await insert(connection, code, found.rows)
    await connection.execute("DELETE FROM archive WHERE code = $1", code)
    await _move(connection, code, "=", term)
    return found


async def shorten(connection: Connection, term: int, code: str, live_entries: LiveEntries) -> list[Row]:
    """Keep only the entries of a table that `live_entries` names, with a new chain, and return them."""
    await _claim(connection, term, code)
    found = await _whole(connection, code)
    kept = relinked(code, ((found.rows[at].time, found.rows[at].body) for at in live_entries(found.entries)))
    await connection.execute("DELETE FROM entry WHERE code = $1", code)
    await insert(connection, code, kept)
    return kept


async def set_aside(connection: Connection, term: int, code: str, whole: int, reason: str) -> None:
    """Set a table aside, in use or archived, whose first `whole` entries make sense."""
    place = await _place(connection, code)
    if place == "=":
        await _claim(connection, term, code)
        found = await table_in_use(connection, code)
    else:
        found = await archived_table(connection, code)
    rows = [] if found is None else found.rows
    await insert_set_aside(
        connection, SetAside(code, int(time.time()), reason, rows, min(whole, len(rows)), len(rows))
    )
    await connection.execute("DELETE FROM entry WHERE code = $1", code)
    await connection.execute("DELETE FROM archive WHERE code = $1", code)
    await _move(connection, code, "!", None)


async def restore(connection: Connection, term: int, code: str, entries: int) -> list[Row]:
    """Give the server the first `entries` of a table that was set aside; raises Misfit."""
    if await _place(connection, code) != "!":
        raise NotOwned(f"another server has just restored table {code}, or removed it")
    (table,) = await set_aside_tables(connection, [code])
    rows = table.whole_part.rows[:entries]
    if len(rows) < entries:
        raise Misfit(f"table {code} has only {len(rows)} whole entries")
    await insert(connection, code, rows)
    await connection.execute("DELETE FROM set_aside WHERE code = $1", code)
    await _move(connection, code, "=", term)
    return rows


async def remove(connection: Connection, code: str) -> None:
    """Remove a table that is archived or set aside; raises NotOwned if it is neither any more."""
    query = "DELETE FROM game_table WHERE place <> '=' AND code = $1 RETURNING code"
    if await connection.fetchval(query, code) is None:
        raise NotOwned(f"another server has just brought table {code} back, or removed it")
    await connection.execute("DELETE FROM archive WHERE code = $1", code)
    await connection.execute("DELETE FROM set_aside WHERE code = $1", code)


async def insert(connection: Connection, code: str, rows: Sequence[Row]) -> None:
    """Add the entries of a table that has none."""
    await connection.executemany(
        "INSERT INTO entry (code, number, body, time, chain) VALUES ($1, $2, $3, $4, $5)",
        [(code, number, body, when, link) for number, (when, body, link) in enumerate(rows)],
    )


async def times_in_use(
    connection: Connection, codes: Sequence[str]
) -> dict[str, tuple[int | None, int | None]]:
    """Return when the first and the last entry of tables were stored, for those that are not archived."""
    rows = await connection.fetch(
        "SELECT code, min(time), max(time) FROM entry WHERE code = ANY ($1) GROUP BY code", codes
    )
    return dict.fromkeys(codes, (None, None)) | {code: (first, last) for code, first, last in rows}


async def codes_set_aside(connection: Connection) -> set[str]:
    """Return the codes of the tables that were set aside."""
    return {code for (code,) in await connection.fetch("SELECT code FROM set_aside")}


async def set_aside_tables(connection: Connection, codes: Sequence[str] | None = None) -> list[SetAside]:
    """Return the tables that were set aside, or those of them in `codes`, the latest first."""
    rows = await connection.fetch(
        f"{_SET_ASIDE} WHERE $1::text[] IS NULL OR code = ANY ($1) ORDER BY since DESC, code", codes
    )
    return [
        SetAside(code, since, reason, unpacked(content), whole, length)
        for code, since, reason, content, whole, length in rows
    ]


async def insert_set_aside(connection: Connection, table: SetAside) -> None:
    """Keep a damaged table, in place of an earlier one with its code."""
    await connection.execute("DELETE FROM set_aside WHERE code = $1", table.code)
    await connection.execute(
        "INSERT INTO set_aside (code, since, reason, entries, whole, length) VALUES ($1, $2, $3, $4, $5, $6)",
        table.code,
        table.since,
        table.reason,
        packed(table.rows),
        table.whole,
        table.length,
    )


async def records_due(connection: Connection, term: int) -> list[tuple[str, int]]:
    """Return the finished games of the server, and of nobody, whose records are due, and when they ended."""
    rows = await connection.fetch(
        "SELECT code, ended FROM record_due LEFT JOIN game_table USING (code)"
        " WHERE term IS NULL OR term = $1 ORDER BY ended, code",
        term,
    )
    return [(code, ended) for code, ended in rows]


async def record_written(connection: Connection, code: str) -> None:
    """Record that a game's record is due no longer."""
    await connection.execute("DELETE FROM record_due WHERE code = $1", code)


async def _claim(connection: Connection, term: int, code: str) -> None:
    """Raise NotOwned unless the table is in use, and the server's."""
    found = await connection.fetchval(
        "SELECT code FROM game_table WHERE code = $1 AND term = $2 AND place = '=' FOR UPDATE", code, term
    )
    if found is None:
        raise NotOwned(f"table {code} has no entries, or another server has taken it up")


async def _whole(connection: Connection, code: str) -> Stored:
    found = await table_in_use(connection, code)
    if found is None or found.damage is not None:
        raise Misfit(f"table {code}: {found.damage if found else 'it has no entries'}")
    return found


async def _place(connection: Connection, code: str) -> str | None:
    place: str | None = await connection.fetchval(
        "SELECT place FROM game_table WHERE code = $1 FOR UPDATE", code
    )
    return place


async def _move(connection: Connection, code: str, place: str, term: int | None) -> None:
    await connection.execute("UPDATE game_table SET place = $2, term = $3 WHERE code = $1", code, place, term)
