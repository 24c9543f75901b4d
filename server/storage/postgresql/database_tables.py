"""What a database holds, for its owner: tables to look at, check, take records of, restore, remove and move.

Looking changes nothing, and servers may run meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeVar

from protocol.admin import StoredReport
from server.errors import JournalError
from server.storage import operations
from server.storage.operations import Operation, Outcome, archive_rows, tables_in_use, tables_set_aside
from server.storage.owner import (
    Check,
    CheckedTable,
    Condition,
    OwnersTables,
    Salvaged,
    Verdict,
    describe_tables,
    table_faults,
)
from server.storage.postgresql import lease
from server.storage.postgresql import rows as stored
from server.storage.postgresql.database import FAILED, Connection, Database, Signal, notify, reason_of
from server.storage.postgresql.schema import check, prepare
from server.storage.stored_tables import COLUMNS, Everything, Stored, archived_from

T = TypeVar("T")

_SECONDS_FOR_ALL: Final = 600.0  # tables, which may be many
_TABLES_AT_ONCE: Final = 500
_LENGTH: Final = COLUMNS["archive"].split(", ").index("length")
_GONE: Final = "it has no entries"


class DatabaseTables(OwnersTables):
    """The tables in the database at `url`, as they are at each question.

    What it is asked raises JournalError if the database cannot be used. Tables that a running server has are
    changed by that alone.
    """

    def __init__(self, url: str) -> None:
        self._database = Database(url)

    @property
    def _place(self) -> Database:
        return self._database

    def everything(self, *, alone: bool = False) -> Everything:
        """Return all that the database holds; raises JournalError if `alone` and servers use it."""

        async def read(connection: Connection) -> Everything:
            if alone:
                await _check_alone(connection)
            return await stored.carry_out(connection, operations.everything())

        return self._looked_at(read)

    def check(self) -> Check:
        """Look at every table closely."""

        def told(verdict: Verdict) -> tuple[CheckedTable, bool]:
            is_new = verdict.condition is not Condition.WHOLE and verdict.since is None
            return CheckedTable.of(verdict), is_new

        found = self._looked_at(lambda connection: inspected(connection, None, told))
        faults = table_faults(table.code for table, is_new in found if is_new)
        return Check(faults, [table for table, _ in found])

    def salvaged(self, codes: Iterable[str] = ()) -> list[Salvaged]:
        """Return the games of these tables, or of all, as far as they are whole."""
        wanted = list(codes) or None
        return self._looked_at(lambda connection: inspected(connection, wanted, Salvaged.of))

    def _listed(self, codes: Sequence[str] | None) -> list[StoredReport]:
        return self._looked_at(lambda connection: listed(connection, codes))

    def _read(self, make: Callable[[], Operation[T]]) -> T:
        return self._looked_at(lambda connection: stored.carry_out(connection, make()))

    def _change(self, codes: Sequence[str], make: Callable[[], Operation[Outcome]]) -> Outcome:
        async def change(connection: Connection) -> Outcome:
            await lease.end_abandoned(connection, codes)
            async with connection.transaction():
                await _refuse_if_owned(connection, codes)
                outcome = await stored.change(connection, make())
                await notify(connection, Signal.TABLES_WAIT)  # the next server that looks takes them up
            return outcome

        return self._with(change)

    def _looked_at(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Return what `work` finds, all of the same moment."""

        async def look(connection: Connection) -> T:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                return await work(connection)

        return self._with(look)

    def _with(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        async def checked(connection: Connection) -> T:
            await check(connection, self._database)
            try:
                return await work(connection)
            except ValueError as error:
                raise self._damaged(reason_of(error)) from error

        return _with(self._database, checked)


def fill_database(url: str, content: Everything) -> None:
    """Store all tables in a database that has none; raises JournalError and changes nothing."""

    database = Database(url)

    async def write(connection: Connection) -> None:
        await prepare(connection, database)
        async with connection.transaction():
            await connection.execute("LOCK TABLE node, game_table IN EXCLUSIVE MODE")
            await _check_alone(connection)
            if await connection.fetchval("SELECT count(*) FROM game_table"):
                raise JournalError("there are tables in the database already. Choose another --database")
            await stored.change(connection, operations.insert(content))

    _with(database, write)


async def _check_alone(connection: Connection) -> None:
    names = [
        name
        for (name,) in await connection.fetch(
            "SELECT name FROM node WHERE expires > clock_timestamp() ORDER BY name"
        )
    ]
    if names:
        raise JournalError("servers are using the database: {names}. Stop them first", names=", ".join(names))


async def _refuse_if_owned(connection: Connection, codes: Sequence[str]) -> None:
    """Keep servers from taking the tables up until the transaction ends; raises JournalError if one has."""
    there = await connection.fetch(
        "SELECT code FROM game_table WHERE code = ANY ($1) ORDER BY code FOR UPDATE", codes
    )
    if missing := sorted(set(codes) - {code for (code,) in there}):
        raise JournalError("there is no table {code}", code=missing[0])
    owned = await connection.fetchrow(
        "SELECT code, name FROM game_table JOIN node USING (term) WHERE code = ANY ($1) ORDER BY code", codes
    )
    if owned is not None:
        raise JournalError(
            "table {code} is at the node {node}. Close it with palatinus admin close at any node, "
            "or stop that one first",
            code=owned["code"],
            node=owned["name"],
        )


def _with(database: Database, work: Callable[[Connection], Awaitable[T]]) -> T:
    """Do something in a database; raises JournalError."""

    async def run() -> T:
        async with database.connection() as connection, asyncio.timeout(_SECONDS_FOR_ALL):
            return await work(connection)

    try:
        return asyncio.run(run())
    except (*FAILED, ValueError) as error:
        raise database.unusable(error) from error


# What is intact and what is damaged: only a table's own rows say how far it had come, so one that is intact
# but shorter than it was cannot be distinguished from one that never was longer.


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
