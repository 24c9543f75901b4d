"""What a database holds, for its owner: tables to look at, check, take records of, restore, remove and move.

Looking changes nothing, and servers may run meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from protocol.admin import StoredReport
from server.errors import JournalError
from server.storage import operations
from server.storage.operations import Operation, Outcome, all_tables
from server.storage.owner import Check, CheckedTable, OwnersTables, table_faults
from server.storage.postgresql import lease
from server.storage.postgresql import rows as stored
from server.storage.postgresql.database import FAILED, Connection, Database, Signal, notify, reason_of
from server.storage.postgresql.schema import check, prepare
from server.storage.stored_tables import Everything, Stored

T = TypeVar("T")

_SECONDS_FOR_ALL: Final = 600.0  # tables, which may be many
_TABLES_AT_ONCE: Final = 500


class DatabaseTables(OwnersTables):
    """The tables in the database at `url`, read anew for each question.

    Its methods raise JournalError if the database cannot be used. The tables of a running server are never
    changed.
    """

    def __init__(self, url: str) -> None:
        self._database = self._place = Database(url)

    def everything(self, *, alone: bool = False) -> Everything:
        """Return all that the database holds; raises JournalError if `alone` and servers use it."""

        async def read(connection: Connection) -> Everything:
            if alone:
                await _check_alone(connection)
            return await stored.carry_out(connection, operations.everything())

        return self._look(read)

    def check(self) -> Check:
        """Look at every table closely."""

        async def look(connection: Connection) -> Check:
            damaged, tables = [], []
            async for table in find_tables(connection, None):
                if table.damage is not None and table.since is None:
                    damaged.append(table.code)
                tables.append(replace(CheckedTable.of(table), events=()))  # not all games at once
            return Check(table_faults(damaged), tables)

        return self._look(look)

    def salvage(self, codes: Sequence[str]) -> list[CheckedTable]:
        """Return the intact parts of these tables, or of all."""

        async def look(connection: Connection) -> list[CheckedTable]:
            return [CheckedTable.of(table) async for table in find_tables(connection, codes or None)]

        return self._look(look)

    def _reports(self, codes: Sequence[str] | None) -> list[StoredReport]:
        return self._look(lambda connection: describe_all(connection, codes))

    def _read(self, make: Callable[[], Operation[T]]) -> T:
        return self._look(lambda connection: stored.carry_out(connection, make()))

    def _change(self, codes: Sequence[str], make: Callable[[], Operation[Outcome]]) -> Outcome:
        async def change(connection: Connection) -> Outcome:
            await lease.end_abandoned(connection, codes)
            async with connection.transaction():
                await _refuse_if_owned(connection, codes)
                outcome = await stored.change(connection, make())
                await notify(connection, Signal.TABLES_WAIT)  # the next server that looks takes them up
            return outcome

        return self._with(change)

    def _look(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run `work` on a consistent snapshot and return its result."""

        async def look(connection: Connection) -> T:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                return await work(connection)

        return self._with(look)

    def _with(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        async def work_safely(connection: Connection) -> T:
            await check(connection, self._database)
            try:
                return await work(connection)
            except ValueError as error:
                raise self._damage_error(reason_of(error)) from error

        return _with(self._database, work_safely)


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


async def describe_all(connection: Connection, codes: Sequence[str] | None) -> list[StoredReport]:
    """Return all tables, or those of them in `codes`, in a few words; raises ValueError."""
    found: list[StoredReport] = []
    async for part in _parts(connection, codes):
        found += await stored.carry_out(connection, operations.describe_tables(part))
        for code in sorted(set(part) - {table.code for table in found}):
            found.append(StoredReport(code, "gathering", False, (), 0, None, None, damaged=True, lost=True))
    return found


async def find_tables(connection: Connection, codes: Sequence[str] | None) -> AsyncIterator[Stored]:
    """Yield each table, or those in `codes`, including those of which nothing is left."""
    async for part in _parts(connection, codes):
        tables = {table.code: table for table in await stored.carry_out(connection, all_tables(part))}
        for code in part:
            yield tables.get(code) or Stored(code, [], [], damage="it has no entries")


async def _parts(connection: Connection, codes: Sequence[str] | None) -> AsyncIterator[list[str]]:
    """Yield the codes of the tables that there are, a part at a time."""
    rows = await connection.fetch(
        "SELECT code FROM game_table WHERE $1::text[] IS NULL OR code = ANY ($1) ORDER BY opened", codes
    )
    found = [code for (code,) in rows]
    for start in range(0, len(found), _TABLES_AT_ONCE):
        yield found[start : start + _TABLES_AT_ONCE]
