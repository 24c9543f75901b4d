"""What a database holds, for its owner: tables to look at, check, take records of, restore, remove and move.

Looking changes nothing, and servers may run meanwhile.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, TypeVar

from protocol.admin import StoredReport
from server.errors import JournalError
from server.storage import operations
from server.storage.operations import Operation, Outcome
from server.storage.owner import Check, CheckedTable, Condition, OwnersTables, Salvaged, Verdict, table_faults
from server.storage.postgresql import lease
from server.storage.postgresql import tables_in_database as stored
from server.storage.postgresql.database import FAILED, Connection, Database, reason_of
from server.storage.postgresql.inspection import inspected, listed
from server.storage.postgresql.schema import check, prepare
from server.storage.postgresql.signals import Signal, notify
from server.storage.stored_tables import Everything

T = TypeVar("T")

_SECONDS_FOR_ALL: Final = 600.0  # tables, which may be many


class DatabaseTables(OwnersTables):
    """The tables in the database at `url`, as they are at each question.

    What it is asked raises JournalError if the database cannot be used. Tables that a running server has are
    changed by that alone.
    """

    def __init__(self, url: str) -> None:
        self._database = Database(url)

    def check(self) -> Check:
        """Look at every table closely."""

        def told(verdict: Verdict) -> tuple[CheckedTable, bool]:
            return CheckedTable.of(
                verdict
            ), verdict.condition is not Condition.WHOLE and verdict.since is None

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

    def _damaged(self, what: str) -> JournalError:
        return JournalError(
            "the journal {file} is damaged: {reason}. See what is intact with palatinus tables check",
            file=self._database,
            reason=what,
        )


def everything_in(url: str, *, alone: bool = False) -> Everything:
    """Return all that a database holds; raises JournalError, also if it is not to be in use (`alone`)."""

    database = Database(url)

    async def read(connection: Connection) -> Everything:
        await check(connection, database)
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            if alone:
                await _check_alone(connection)
            return await stored.carry_out(connection, operations.everything())

    return _with(database, read)


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
        connection = await database.connect()
        try:
            async with asyncio.timeout(_SECONDS_FOR_ALL):
                return await work(connection)
        finally:
            connection.terminate()

    try:
        return asyncio.run(run())
    except (*FAILED, ValueError) as error:
        raise database.unusable(error) from error
