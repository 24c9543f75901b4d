"""The places where a journal can be, as the tests of what `Journal` promises see them."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Protocol

from server.storage.journal import Journal
from server.storage.owner import Check
from server.storage.postgresql.database import Database
from server.storage.postgresql.database_tables import DatabaseTables
from server.storage.postgresql.journal import PostgresJournal
from server.storage.sqlite.commit_list import FILE_NAME as LIST_NAME
from server.storage.sqlite.data_folder import DataFolder
from server.storage.sqlite.journal import SqliteJournal
from server.storage.sqlite.journal_file import FILE_NAME
from server.storage.stored_tables import Condition
from tests.server.peer import TIMEOUT


class Store(Protocol):
    """A place for one journal, which is opened again and again."""

    def opened(self, most_archived: int = 10_000) -> contextlib.AbstractAsyncContextManager[Journal]:
        """Open the journal while the context lasts, as a server does from its start to its end."""

    async def execute(self, statement: str) -> None:
        """Change what is stored, as no server does."""

    def restore(self, code: str) -> int:
        """Put a table that was set aside back into play, as `palatinus tables restore` does."""

    def listed(self) -> list[str]:
        """Return what `palatinus tables list` shows."""

    def damaged(self) -> list[str]:
        """Return what `palatinus tables check` finds damaged."""


@contextlib.asynccontextmanager
async def sqlite_journal(folder: Path, most_archived: int = 10_000) -> AsyncIterator[SqliteJournal]:
    """Open the journal in a folder as a server does."""
    journal = SqliteJournal(folder, most_archived=most_archived)
    try:
        yield journal
    finally:
        await journal.close()


class SqliteStore:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._database: sqlite3.Connection | None = None

    @contextlib.asynccontextmanager
    async def opened(self, most_archived: int = 10_000) -> AsyncIterator[Journal]:
        async with sqlite_journal(self.folder, most_archived) as journal:
            self._database = journal._database
            yield journal
            self._database = None

    async def execute(self, statement: str) -> None:
        if self._database is not None:
            with self._database as database:
                database.execute(statement)
            return
        with contextlib.closing(sqlite3.connect(self.folder / FILE_NAME)) as database, database:
            database.execute(statement)
        (self.folder / LIST_NAME).unlink(missing_ok=True)  # by which the damage would be noticed otherwise

    def restore(self, code: str) -> int:
        with DataFolder(self.folder) as tables:
            return tables.restore(code)

    def listed(self) -> list[str]:
        with DataFolder(self.folder) as tables:
            return [table.code for table in tables.tables()]

    def damaged(self) -> list[str]:
        with DataFolder(self.folder) as tables:
            return damaged_in(tables.check())


class PostgresStore:
    def __init__(self, url: str) -> None:
        self._url = url

    @contextlib.asynccontextmanager
    async def opened(self, most_archived: int = 10_000) -> AsyncIterator[Journal]:
        async with journal_at(self._url, most_archived=most_archived) as journal:
            yield journal

    async def execute(self, statement: str) -> None:
        async with Database(self._url).connection() as connection:
            await connection.execute(statement)

    def restore(self, code: str) -> int:
        return DatabaseTables(self._url).restore(code)

    def listed(self) -> list[str]:
        return [table.code for table in DatabaseTables(self._url).tables()]

    def damaged(self) -> list[str]:
        return damaged_in(DatabaseTables(self._url).check())

    @contextlib.asynccontextmanager
    async def locked(self, table: str) -> AsyncIterator[None]:
        """Keep everybody from changing a table in the database while the context lasts."""
        async with Database(self._url).connection() as blocker:
            await blocker.execute(f"BEGIN; LOCK TABLE {table} IN EXCLUSIVE MODE")
            yield


def damaged_in(check: Check) -> list[str]:
    return [table.code for table in check.tables if table.condition is not Condition.WHOLE]


async def rows(url: str, query: str) -> list[tuple[object, ...]]:
    """Return what a query finds in the database at `url`."""
    async with Database(url).connection() as connection:
        return [tuple(row) for row in await connection.fetch(query)]


async def found(url: str, query: str, number: int = 1) -> None:
    """Wait until a query finds so many rows in the database at `url`, which announces nothing."""
    async with asyncio.timeout(TIMEOUT):
        while len(await rows(url, query)) < number:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.01)


# Whose commits wait for a lock that a test has.
BUSY = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%append_entries%'"


@contextlib.asynccontextmanager
async def journal_at(
    url: str, name: str = "node", address: str = "", **limits: Any
) -> AsyncIterator[PostgresJournal]:
    """Open the journal in a database as the server with this name does."""
    journal = await PostgresJournal(Database(url), name, address, **limits).open()
    try:
        yield journal
    finally:
        await journal.close()
