"""The journal's file: private, of one process alone, and brought to the newest schema when it is opened."""

import itertools
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from server.config import Durable
from server.errors import JournalError, JournalInUse, in_the_way
from server.storage.reasons import Misfit, reason_of
from server.storage.sqlite.chain_migration import chain_tables
from server.storage.sqlite.folder_lock import FolderInUse, FolderLock

FILE_NAME: Final = "palatinus.sqlite3"
SCHEMA_VERSION: Final = 4
_APPLICATION_ID: Final = 0x50414C41  # "PALA"
# A second server on the same file would number the same tables' entries again. With this variant of SQLite's
# file access the process locks the file, not one connection, and no commit has to ask the system for a lock.
_OF_THIS_PROCESS: Final = "" if sys.platform == "win32" else "&vfs=unix-excl"

_ARCHIVE_2: Final = """CREATE TABLE archive (
    code TEXT PRIMARY KEY, archived INTEGER NOT NULL, entries BLOB NOT NULL
)"""
_ARCHIVE: Final = """CREATE TABLE archive (
    code TEXT PRIMARY KEY, archived INTEGER NOT NULL, entries BLOB NOT NULL, origin TEXT NOT NULL,
    played INTEGER NOT NULL, length INTEGER NOT NULL, chain BLOB NOT NULL, opened INTEGER, changed INTEGER,
    contents TEXT NOT NULL, seal BLOB NOT NULL
)"""
_SINCE_4: Final = (
    """CREATE TABLE set_aside (
        code TEXT PRIMARY KEY, since INTEGER NOT NULL, reason TEXT NOT NULL, entries BLOB NOT NULL,
        whole INTEGER NOT NULL, length INTEGER NOT NULL
    )""",
    # Finished games whose records are not written yet.
    "CREATE TABLE record_due (code TEXT PRIMARY KEY, ended INTEGER NOT NULL)",
    "CREATE TABLE journal (id TEXT NOT NULL, commits INTEGER NOT NULL)",
    "INSERT INTO journal VALUES (lower(hex(randomblob(8))), 0)",
)
_SCHEMA: Final = (
    # In the order of writing, so that a commit for many tables touches the same last pages for all of them.
    """CREATE TABLE entry (
        id INTEGER PRIMARY KEY, code TEXT NOT NULL, number INTEGER NOT NULL, body TEXT NOT NULL, time INTEGER,
        chain BLOB NOT NULL DEFAULT x'', added INTEGER NOT NULL DEFAULT 0
    )""",
    "CREATE INDEX entry_of_table ON entry (code)",
    _ARCHIVE,
    *_SINCE_4,
)
_NEWER: Final = range(SCHEMA_VERSION + 1, 1000)  # versions that may be written one day
_MIGRATIONS: Final = {  # what makes the next version of each
    1: ("ALTER TABLE entry ADD COLUMN time INTEGER", _ARCHIVE_2),
    2: (
        "ALTER TABLE archive ADD COLUMN origin TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE archive ADD COLUMN played INTEGER NOT NULL DEFAULT 1",
        "UPDATE archive SET origin = code",  # nobody knows who opened them: each is of its own
    ),
    3: (
        "ALTER TABLE entry ADD COLUMN chain BLOB NOT NULL DEFAULT x''",
        "ALTER TABLE entry ADD COLUMN added INTEGER NOT NULL DEFAULT 0",  # by which commit
        "ALTER TABLE archive RENAME TO archive_3",
        _ARCHIVE,
        *_SINCE_4,
    ),
}


def opened(path: Path, durable: Durable = "normal") -> sqlite3.Connection:
    """Open the journal in the file `path`, made if there is none, for this process alone.

    Raises JournalError if it cannot be used, was written by a newer version, is not a journal or is in use.
    """
    try:
        path.touch(mode=0o600)  # it holds hidden pieces; SQLite gives its other files the same mode
        database = connected(path, durable)
        try:
            _prepare(database, path)
        except BaseException:
            database.close()
            raise
    except (OSError, sqlite3.Error, Misfit) as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
            raise in_use(path) from error
        raise unusable(path, error) from error
    return database


def locked(data: Path) -> FolderLock:
    """Lock the folder `data`, made if there is none, for this process alone.

    Raises JournalError if that cannot be, or another process has locked it.
    """
    path = data / FILE_NAME
    try:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        return FolderLock(data)
    except FolderInUse as error:
        raise in_use(path) from error
    except (FileExistsError, NotADirectoryError) as error:
        raise JournalError("{file} is not a folder. Choose another --data", file=in_the_way(data)) from error
    except OSError as error:
        raise unusable(path, error) from error


def connected(path: Path, durable: Durable = "normal") -> sqlite3.Connection:
    """Return a connection to the file, which must exist; others of this process may use it meanwhile.

    Raises sqlite3.Error.
    """
    # One thread at a time uses the connection, though not always the same.
    database = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw{_OF_THIS_PROCESS}",
        timeout=1.0,
        check_same_thread=False,
        uri=True,
    )
    try:
        database.execute(f"PRAGMA synchronous = {durable.upper()}")
        # Checkpoints wait for the disk, so the journal chooses when to make them.
        database.execute("PRAGMA wal_autocheckpoint = 0")
    except BaseException:
        database.close()
        raise
    return database


def mark(database: sqlite3.Connection) -> None:
    """Commit something that changes nothing: a new count of changes on the first page.

    Raises sqlite3.Error if nothing can be stored.
    """
    with _transaction(database):
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def unusable(path: Path, error: OSError | sqlite3.Error | Misfit) -> JournalError:
    """Return the error for a file that cannot be opened."""
    return JournalError(
        "cannot use the journal {file}: {reason}. Choose another --data",
        file=path,
        reason=reason_of(error),
    )


def damaged(path: Path, error: Exception) -> JournalError:
    """Return the error for a file whose content makes no sense."""
    return JournalError(
        "the journal {file} is damaged: {reason}. Restore a copy of the file, or choose another --data",
        file=path,
        reason=reason_of(error),
    )


def in_use(path: Path) -> JournalInUse:
    return JournalInUse(
        "another server, or palatinus tables, is using the journal {file}. Stop it, or choose another --data",
        file=path,
    )


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    version = checked_version(database, path)
    if 0 < version < SCHEMA_VERSION:
        copied(database, path, f"v{version}")
    database.execute("PRAGMA journal_mode = WAL")
    _number(database, "user_version")  # which opens the log, if the file had none before
    upgrade(database, version)
    with database:  # SQLite falls back to opening a file for reading without a word: this fails then
        database.execute("DELETE FROM entry WHERE false")


def checked_version(database: sqlite3.Connection, path: Path) -> int:
    """Return the version of a journal, 0 for an empty file.

    Raises JournalError if it is of a newer version or not a journal, Misfit if its header is damaged.
    """
    version = _number(database, "user_version")
    made = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    if {"entry", "archive", "set_aside", "journal"} <= made and version not in _NEWER:
        # It has the newest schema, so only its header can be damaged.
        if version != SCHEMA_VERSION or _number(database, "application_id") != _APPLICATION_ID:
            raise Misfit("the header is damaged")
        return version
    if version > SCHEMA_VERSION:
        raise JournalError(
            "{file} was written by a newer Palatinus (journal {version}; this one reads {known}). "
            "Update Palatinus, or choose another --data",
            file=path,
            version=version,
            known=SCHEMA_VERSION,
        )
    if version == 0:
        ours = not made
    elif version == 1:  # which had no application id
        ours = "entry" in made
    else:
        ours = _number(database, "application_id") == _APPLICATION_ID
    if not ours:
        raise JournalError("{file} is not a Palatinus journal. Choose another --data", file=path)
    return version


def upgrade(database: sqlite3.Connection, version: int) -> None:
    """Bring a journal of this version to the newest one."""
    if version == SCHEMA_VERSION:
        return
    with _transaction(database):
        if version == 0:
            _run(database, _SCHEMA)
        for step in range(version or SCHEMA_VERSION, SCHEMA_VERSION):
            _run(database, _MIGRATIONS[step])
            if step == 3:
                chain_tables(database)
        database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _run(database: sqlite3.Connection, statements: Iterable[str]) -> None:
    for statement in statements:
        database.execute(statement)


def copied(database: sqlite3.Connection, path: Path, suffix: str) -> Path:
    """Copy what is in the file to a free name beside it that ends in `suffix`, and return that.

    Raises OSError or sqlite3.Error.
    """
    unfinished = path.with_name(f"{path.name}.{suffix}.unfinished")
    unfinished.unlink(missing_ok=True)  # from a killed attempt
    unfinished.touch(mode=0o600)
    with closing(sqlite3.connect(unfinished)) as copy:
        database.backup(copy)
    names = (f"{path.name}.{suffix}{number}" for number in _numbers())
    return unfinished.rename(next(free for name in names if not (free := path.with_name(name)).exists()))


def _numbers() -> Iterator[str]:
    yield ""
    yield from (f"-{number}" for number in itertools.count(2))


@contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Run statements that change the schema as one; sqlite3 begins transactions by itself only for rows."""
    with database:
        database.execute("BEGIN IMMEDIATE")
        yield


def _number(database: sqlite3.Connection, pragma: str) -> int:
    return int(database.execute(f"PRAGMA {pragma}").fetchone()[0])
