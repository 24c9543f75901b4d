"""The journal's file across versions: older ones are migrated, and no file is overwritten."""

import asyncio
import contextlib
import random
import signal
import sqlite3
import sys
from pathlib import Path

import pytest

from server.app import running
from server.config import Config, Durable
from server.errors import JournalError
from server.storage.entries import Entry, entry_text
from server.storage.sqlite.journal import SqliteJournal
from server.storage.sqlite.journal_file import FILE_NAME, open_journal
from server.storage.sqlite.schema import SCHEMA_VERSION
from tests.server.peer import game, play_on
from tests.server.storage.test_journal import journal_of

# As version 1 made it.
VERSION_1 = """
    CREATE TABLE entry (
        id INTEGER PRIMARY KEY, code TEXT NOT NULL, number INTEGER NOT NULL, body TEXT NOT NULL
    );
    CREATE INDEX entry_of_table ON entry (code);
    PRAGMA user_version = 1;
    PRAGMA journal_mode = WAL;
"""


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Entry]]:
    """Return the entries of two tables in the middle of their games."""
    data = tmp_path_factory.mktemp("before")

    async def played() -> dict[str, list[Entry]]:
        async with (
            running(Config(data=data)) as server,
            game(server.port, 2) as first,
            game(server.port, 3) as second,
        ):
            await play_on(first, random.Random(1), moves=5)
            await play_on(second, random.Random(1), moves=7)
        return await stored_entries(data)

    return asyncio.run(played())


async def stored_entries(data: Path) -> dict[str, list[Entry]]:
    journal = SqliteJournal(data)
    try:
        return await journal.tables()
    finally:
        await journal.close()


def write_version_1(data: Path, entries: dict[str, list[Entry]]) -> Path:
    data.mkdir(exist_ok=True)
    path = data / FILE_NAME
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript(VERSION_1)
        for code, known in entries.items():
            database.executemany(
                "INSERT INTO entry (code, number, body) VALUES (?, ?, ?)",
                [(code, number, entry_text(entry)) for number, entry in enumerate(known)],
            )
        database.commit()
    return path


def version(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as database:
        return int(database.execute("PRAGMA user_version").fetchone()[0])


async def test_a_file_of_version_1_is_migrated(tmp_path: Path, entries: dict[str, list[Entry]]) -> None:
    """Every table goes on, and a private copy of the old file stays beside the new one, and older copies."""
    older, copy = (tmp_path / f"{FILE_NAME}.{suffix}" for suffix in ("v1", "v1-2"))
    older.write_text("dear to somebody")
    path = write_version_1(tmp_path, entries)
    assert await stored_entries(tmp_path) == entries
    assert (version(path), version(copy)) == (SCHEMA_VERSION, 1)
    assert older.read_text() == "dear to somebody"
    assert copy.stat().st_mode & 0o077 == 0
    with contextlib.closing(sqlite3.connect(copy)) as database:
        kept = database.execute("SELECT code, body FROM entry ORDER BY id").fetchall()
    assert kept == [(code, entry_text(entry)) for code, known in entries.items() for entry in known]


KILLED_WHILE_MIGRATING = """
import os, signal, sqlite3, sys
from functools import partial
from pathlib import Path

class Dying(sqlite3.Connection):
    def execute(self, statement, *values):
        found = super().execute(statement, *values)
        if sys.argv[2] in statement:
            os.kill(os.getpid(), signal.SIGKILL)
        return found
    def backup(self, copy):
        super().backup(copy)
        if sys.argv[2] == "backup":
            os.kill(os.getpid(), signal.SIGKILL)

sqlite3.connect = partial(sqlite3.connect, factory=Dying)
from server.storage.sqlite.journal_file import open_journal
open_journal(Path(sys.argv[1]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["backup", "DROP TABLE", "CREATE TABLE archive", "user_version = "])
async def test_a_killed_migration(tmp_path: Path, entries: dict[str, list[Entry]], moment: str) -> None:
    """Whenever it is killed, the file is either unchanged or fully migrated."""
    path = write_version_1(tmp_path, entries)
    root = Path(__file__).parents[3]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED_WHILE_MIGRATING, str(path), moment, cwd=root
    )
    assert await process.wait() == -signal.SIGKILL
    assert await stored_entries(tmp_path) == entries
    assert version(path) == SCHEMA_VERSION
    assert not list(tmp_path.glob("*.unfinished"))  # noqa: ASYNC240


@pytest.mark.parametrize("number", [0, 1, SCHEMA_VERSION])
def test_a_foreign_database_is_refused_and_not_changed(tmp_path: Path, number: int) -> None:
    """Its version number makes no difference."""
    path = tmp_path / FILE_NAME
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE bookmark (address)")
        database.execute(f"PRAGMA user_version = {number}")
    before = path.read_bytes()
    with pytest.raises(JournalError, match="is not a Palatinus journal"):
        open_journal(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("durable", "level"), [("normal", 1), ("full", 2)])
async def test_sqlite_is_set_to_the_durability(tmp_path: Path, durable: Durable, level: int) -> None:
    async with running(Config(data=tmp_path, durable=durable)) as server:
        journal = journal_of(server)
        assert journal._database.execute("PRAGMA synchronous").fetchone() == (level,)
