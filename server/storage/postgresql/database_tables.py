"""What a database holds, for its owner: tables to look at, check, take records of, restore, remove and move.

Looking changes nothing, and servers may run meanwhile.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

from engine.events import Event
from server.errors import JournalError
from server.storage.archive_rows import COLUMNS, archive_row, archived_from
from server.storage.condition import Check, CheckedTable, Condition, Salvaged, Verdict, table_faults
from server.storage.house import House, StoredTable, replayed_game
from server.storage.postgresql import repair
from server.storage.postgresql import tables_in_database as stored
from server.storage.postgresql.database import FAILED, Connection, Database, reason_of
from server.storage.postgresql.inspection import inspected, listed
from server.storage.postgresql.schema import check, prepare
from server.storage.reasons import Misfit

T = TypeVar("T")

_SECONDS_FOR_ALL: Final = 600.0  # tables, which may be many


class DatabaseTables:
    """The tables in the database at `url`, as they are at each question.

    What it is asked raises JournalError if the database cannot be used. Tables that a running server has are
    changed by that alone.
    """

    def __init__(self, url: str) -> None:
        self._database = Database(url)

    def tables(self) -> list[StoredTable]:
        """Return all tables, the latest changed first."""
        found = self._looked_at(lambda connection: listed(connection, None))
        return sorted(found, key=lambda table: (-(table.changed or 0), table.code))

    def table(self, code: str) -> StoredTable | None:
        """Return the table with this code, None if there is none."""
        return next(iter(self._looked_at(lambda connection: listed(connection, [code]))), None)

    def game(self, code: str) -> tuple[Event, ...]:
        """Return the events of this table's game, hidden kinds included; none if it has not started.

        Raises JournalError if the table is damaged.
        """

        def replayed(verdict: Verdict) -> tuple[Event, ...]:
            try:
                return () if verdict.since is not None else replayed_game(verdict.table.whole_entries)
            except ValueError as error:
                raise Misfit(f"table {code}: {reason_of(error)}") from error

        return next(iter(self._looked_at(lambda connection: inspected(connection, [code], replayed))), ())

    def remove(self, codes: Iterable[str]) -> None:
        """Remove all these tables for good; if JournalError is raised, none is removed."""
        gone = list(codes)
        self._changed(lambda connection: repair.remove(connection, gone))

    def restore(self, code: str) -> int:
        """Put a damaged table back into play at its last whole move; return that move's number."""
        return self._changed(lambda connection: repair.restore(connection, code))

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

    def _looked_at(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Return what `work` finds, all of the same moment."""

        async def look(connection: Connection) -> T:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                return await work(connection)

        return self._changed(look)

    def _changed(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        async def change(connection: Connection) -> T:
            await check(connection, self._database)
            try:
                return await work(connection)
            except ValueError as error:
                raise JournalError(
                    "the journal {file} is damaged: {reason}. See what is whole with palatinus tables check",
                    file=self._database,
                    reason=reason_of(error),
                ) from error

        return _with(self._database, change)


def house_in(url: str, *, alone: bool = False) -> House:
    """Return all that a database holds; raises JournalError, also if it is not to be in use (`alone`)."""

    database = Database(url)

    async def read(connection: Connection) -> House:
        await check(connection, database)
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            if alone:
                await _check_alone(connection)
            archived = await connection.fetch(f"SELECT {COLUMNS} FROM archive ORDER BY rank")  # noqa: S608 - a constant
            due = await connection.fetch("SELECT code, ended FROM record_due ORDER BY ended, code")
            return House(
                await stored.in_use(connection),
                [archived_from(tuple(row)) for row in archived],
                await stored.set_aside_tables(connection),
                [(code, ended) for code, ended in due],
            )

    return _with(database, read)


def fill_database(url: str, house: House) -> None:
    """Store all tables in a database that has none; raises JournalError and changes nothing."""

    database = Database(url)

    async def write(connection: Connection) -> None:
        await prepare(connection, database)
        async with connection.transaction():
            await connection.execute("LOCK TABLE node, game_table IN EXCLUSIVE MODE")
            await _check_alone(connection)
            if await connection.fetchval("SELECT count(*) FROM game_table"):
                raise JournalError("there are tables in the database already. Choose another --database")
            await _insert(connection, house)

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


async def _insert(connection: Connection, house: House) -> None:
    for place, codes in (
        ("=", [table.code for table in house.in_use]),
        ("~", [table.code for table, _ in house.archived]),
        ("!", [table.code for table in house.set_aside]),
    ):
        await connection.executemany(
            "INSERT INTO game_table (code, place) VALUES ($1, $2)", [(code, place) for code in codes]
        )
    for table in house.in_use:
        await stored.insert(connection, table.code, table.rows)
    await connection.executemany(
        stored.INSERT_ARCHIVED, [archive_row(table, game) for table, game in house.archived]
    )
    for aside in house.set_aside:
        await stored.insert_set_aside(connection, aside)
    await connection.executemany(
        "INSERT INTO record_due (code, ended) VALUES ($1, $2)", list(house.records_due)
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
