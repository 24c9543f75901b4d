"""What is whole in a database and what is damaged, found out without changing anything.

Nothing says how far a table had come but its own rows, so a table that is whole, but shorter than it was,
cannot be told from one that never was longer.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, TypeVar

from protocol.admin import StoredReport
from server.storage.operations import archive_rows, tables_in_use, tables_set_aside
from server.storage.owner import Condition, Verdict, describe_tables
from server.storage.postgresql import tables_in_database as stored
from server.storage.postgresql.database import Connection
from server.storage.stored_tables import COLUMNS, Stored, archived_from

T = TypeVar("T")

_TABLES_AT_ONCE: Final = 500  # there may be very many
_LENGTH: Final = COLUMNS["archive"].split(", ").index("length")
_GONE: Final = "it has no entries"


async def listed(connection: Connection, codes: Sequence[str] | None) -> list[StoredReport]:
    """Return all tables, or those of them in `codes`, in a few words; raises ValueError."""
    found: list[StoredReport] = []
    async for part in _parts(connection, codes):
        here = await stored.carry_out(connection, describe_tables(part))
        gone = set(part) - {table.code for table in here}
        found += [*here, *map(_lost, sorted(gone))]
    return found


async def inspected(
    connection: Connection, codes: Sequence[str] | None, told: Callable[[Verdict], T]
) -> list[T]:
    """Return what `told` says of each table, or of those of them in `codes`: the archived ones first."""
    archived, rest, aside = [], [], []
    async for part in _parts(connection, codes):
        archived += list(map(told, await _archived(connection, part)))
        rest += list(map(told, await _in_use(connection, part)))
        tables = await stored.carry_out(connection, tables_set_aside(part))
        aside += [told(Verdict.of_set_aside(table)) for table in tables]
    return archived + rest + aside


async def _in_use(connection: Connection, codes: Sequence[str]) -> list[Verdict]:
    rows = await connection.fetch(
        "SELECT game_table.code, coalesce(greatest(max(number) + 1, count(number)), 0) FROM game_table"
        " LEFT JOIN entry USING (code) WHERE place = '=' AND game_table.code = ANY ($1)"
        " GROUP BY game_table.code ORDER BY min(opened)",
        codes,
    )
    tables = {table.code: table for table in await stored.carry_out(connection, tables_in_use(codes))}
    return [_verdict(tables.get(code) or Stored(code, [], [], None, _GONE), length) for code, length in rows]


async def _archived(connection: Connection, codes: Sequence[str]) -> list[Verdict]:
    rows = await stored.carry_out(connection, archive_rows(codes))
    found = [_verdict(archived_from(row), row[_LENGTH]) for row in rows]
    gone = await connection.fetch(
        "SELECT code FROM game_table WHERE place = '~' AND code = ANY ($1)"
        " AND NOT EXISTS (SELECT FROM archive WHERE archive.code = game_table.code) ORDER BY code",
        codes,
    )
    return [*found, *(_verdict(Stored(code, [], [], 0, _GONE), 0) for (code,) in gone)]


def _verdict(table: Stored, length: int) -> Verdict:
    length = max(length, len(table.rows))
    if table.damage is None:
        return Verdict(table, Condition.WHOLE, length)
    condition = Condition.DAMAGED if table.entries else Condition.LOST
    return Verdict(table, condition, length, table.damage)


def _lost(code: str) -> StoredReport:
    return StoredReport(code, "gathering", False, (), 0, None, None, damaged=True, lost=True)


async def _parts(connection: Connection, codes: Sequence[str] | None) -> AsyncIterator[list[str]]:
    """Yield the codes of the tables that there are, a part at a time."""
    rows = await connection.fetch(
        "SELECT code FROM game_table WHERE $1::text[] IS NULL OR code = ANY ($1) ORDER BY opened", codes
    )
    found = [code for (code,) in rows]
    for start in range(0, len(found), _TABLES_AT_ONCE):
        yield found[start : start + _TABLES_AT_ONCE]
