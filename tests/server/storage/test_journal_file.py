"""The journal's file across versions: older ones are migrated, and no file is overwritten."""

import asyncio
import contextlib
import random
import signal
import sqlite3
import sys
import zlib
from pathlib import Path

import pytest

from server.app import running
from server.config import Config, Durable
from server.errors import JournalError
from server.storage.archive_index import ArchivedGame
from server.storage.entries import Entry, entry_text
from server.storage.sqlite.journal import SqliteJournal
from server.storage.sqlite.journal_file import FILE_NAME, open_journal
from server.storage.sqlite.schema import SCHEMA_VERSION
from tests.server.peer import game, play_on

# As version 1 made it.
VERSION_1 = """
    CREATE TABLE entry (
        id INTEGER PRIMARY KEY, code TEXT NOT NULL, number INTEGER NOT NULL, body TEXT NOT NULL
    );
    CREATE INDEX entry_of_table ON entry (code);
    PRAGMA user_version = 1;
    PRAGMA journal_mode = WAL;
"""
# The migration from version 1 to version 2.
FROM_1_TO_2 = """
    ALTER TABLE entry ADD COLUMN time INTEGER;
    CREATE TABLE archive (code TEXT PRIMARY KEY, archived INTEGER NOT NULL, entries BLOB NOT NULL);
    PRAGMA application_id = 0x50414C41;
    PRAGMA user_version = 2;
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


def unfinished_copies(data: Path) -> list[Path]:
    return list(data.glob("*.unfinished"))


async def test_a_file_of_version_1_is_migrated_and_copied(
    tmp_path: Path, entries: dict[str, list[Entry]]
) -> None:
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


async def test_archived_games_of_version_2_count_as_played(
    tmp_path: Path, entries: dict[str, list[Entry]]
) -> None:
    """Each counts as left by another address, since nobody knows by whom it was opened."""
    path = write_version_1(tmp_path, {})
    lines = {code: "\n".join(f"1 {entry_text(entry)}" for entry in known) for code, known in entries.items()}
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript(FROM_1_TO_2)
        rows = [(code, 1, zlib.compress(known.encode())) for code, known in lines.items()]
        database.executemany("INSERT INTO archive VALUES (?, ?, ?)", rows)
        database.commit()
    journal = SqliteJournal(tmp_path)
    try:
        assert set(journal.archived) == entries.keys()
        for code, known in entries.items():
            assert journal._archive._games[code] == ArchivedGame(code, played=True)
            assert await journal.archived_entries(code) == known
    finally:
        await journal.close()
    assert (version(path), version(tmp_path / f"{FILE_NAME}.v2")) == (SCHEMA_VERSION, 2)


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
async def test_a_killed_migration_is_repeated(
    tmp_path: Path, entries: dict[str, list[Entry]], moment: str
) -> None:
    """Whenever it is killed, the file is either unchanged or fully migrated."""
    path = write_version_1(tmp_path, entries)
    root = Path(__file__).parents[3]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED_WHILE_MIGRATING, str(path), moment, cwd=root
    )
    assert await process.wait() == -signal.SIGKILL
    assert await stored_entries(tmp_path) == entries
    assert version(path) == SCHEMA_VERSION
    assert not unfinished_copies(tmp_path)


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
        journal = server.lobby.journal
        assert isinstance(journal, SqliteJournal)
        assert journal._database.execute("PRAGMA synchronous").fetchone() == (level,)
