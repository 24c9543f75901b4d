"""What a database holds, for its owner: tables to look at, and to move from and to data folders.

Looking changes nothing, and servers may run meanwhile.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from engine.events import Event
from server.errors import JournalError
from server.storage.archive_rows import COLUMNS, archive_row, archived_from
from server.storage.house import House, StoredTable, described, described_aside, replayed_game
from server.storage.postgresql import tables_in_database as stored
from server.storage.postgresql.database import FAILED, Connection, Database
from server.storage.postgresql.schema import check, prepare

T = TypeVar("T")

_SECONDS_FOR_ALL: Final = 600.0  # tables, which may be many


class DatabaseTables:
    """The tables in a database, as they were when it was opened; raises JournalError if it cannot be used."""

    def __init__(self, url: str) -> None:
        self._database = Database(url)
        self._house = house_in(url)

    def tables(self) -> list[StoredTable]:
        """Return all tables, the latest changed first."""
        found = [
            *map(described, self._house.in_use),
            *(described(table) for table, _ in self._house.archived),
            *map(described_aside, self._house.set_aside),
        ]
        return sorted(found, key=lambda table: (-(table.changed or 0), table.code))

    def table(self, code: str) -> StoredTable | None:
        """Return the table with this code, None if there is none."""
        return next((table for table in self.tables() if table.code == code), None)

    def game(self, code: str) -> tuple[Event, ...]:
        """Return the events of this table's game, hidden kinds included; none if it has not started.

        Raises JournalError if the table is damaged.
        """
        tables = (*self._house.in_use, *(table for table, _ in self._house.archived))
        try:
            return next(
                (replayed_game(table.whole_entries) for table in tables if table.code == code and table.rows),
                (),
            )
        except ValueError as error:
            raise JournalError("table {table} is damaged: {reason}", table=code, reason=error) from error


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
