"""The journal's file: private, of one process alone, and brought to the newest schema when it is opened."""

import errno
import itertools
import logging
import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from server.config import Durable
from server.errors import JournalError, JournalInUse, in_the_way
from server.monitoring.logs import about
from server.storage.entries import JOURNAL_VERSION
from server.storage.reasons import Misfit, reason_of
from server.storage.sqlite.rows import need_no_list
from server.storage.sqlite.schema import TABLES_SINCE, check_version, number_of, upgrade

log = logging.getLogger(__name__)

FILE_NAME: Final = "palatinus.sqlite3"
_LOCKED_BY_ANOTHER: Final = frozenset({errno.EACCES, errno.EAGAIN, errno.EDEADLK})
# A second server on the same file would number the same tables' entries again. With this variant of SQLite's
# file access the process locks the file, not one connection, and no commit has to ask the system for a lock.
_OF_THIS_PROCESS: Final = "" if sys.platform == "win32" else "&vfs=unix-excl"


def open_journal(path: Path, durable: Durable = "normal") -> sqlite3.Connection:
    """Open the journal in the file `path`, made if there is none, for this process alone.

    Raises JournalError if it cannot be used, was written by a newer version, is not a journal or is in use.
    """
    try:
        path.touch(mode=0o600)  # it holds hidden pieces; SQLite gives its other files the same mode
        database = connect(path, durable)
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


@contextmanager
def lock_folder(data: Path) -> Iterator[None]:
    """Lock the folder `data`, made if there is none, whatever becomes of the files in it.

    The folder itself is locked, so nobody can remove the lock by deleting a file; Windows, where a folder
    cannot be locked, has a file for it, which nobody can delete while it is open.
    A file system without such locks is logged, and SQLite's own lock on the journal has to do.
    Raises JournalError if the folder cannot be used, JournalInUse if another process has locked it.
    """
    path = data / FILE_NAME
    try:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = _open_folder(data)
    except (FileExistsError, NotADirectoryError) as error:
        raise JournalError("{file} is not a folder. Choose another --data", file=in_the_way(data)) from error
    except OSError as error:
        raise unusable(path, error) from error
    try:
        try:
            _lock(descriptor)
        except OSError as error:
            if error.errno in _LOCKED_BY_ANOTHER:
                raise in_use(path) from error
            log.warning(
                "the folder cannot be locked", extra=about(path=str(data), reason=str(error.strerror))
            )
        yield
    finally:
        os.close(descriptor)


def connect(path: Path, durable: Durable = "normal") -> sqlite3.Connection:
    """Return a connection to the existing file, which other connections of this process may use too.

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
        # What is deleted does not stay in the file: Debian's SQLite does so by default, others do not.
        database.execute("PRAGMA secure_delete = ON")
        # Checkpoints wait for the disk, so the journal chooses when to make them.
        database.execute("PRAGMA wal_autocheckpoint = 0")
        # KiB: whatever is read again, such as the upper pages of indexes, fits. The default keeps 2,000.
        database.execute("PRAGMA cache_size = -512")
    except BaseException:
        database.close()
        raise
    return database


def unusable(path: Path, error: OSError | sqlite3.Error | Misfit) -> JournalError:
    return JournalError(
        "cannot use the journal {file}: {reason}. Choose another --data", file=path, reason=reason_of(error)
    )


def damage_error(path: Path, error: Exception) -> JournalError:
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
    version = check_version(database, path)
    if 0 < version < JOURNAL_VERSION:
        copy_beside(database, path, f"v{version}", listed=version < TABLES_SINCE)  # there was no list
    database.execute("PRAGMA journal_mode = WAL")
    number_of(database, "user_version")  # which opens the log, if the file had none before
    upgrade(database, version)
    with database:  # SQLite falls back to opening a file for reading without a word: this fails then
        database.execute("DELETE FROM entry WHERE false")


def copy_beside(database: sqlite3.Connection, path: Path, suffix: str, *, listed: bool) -> Path:
    """Copy what is in the file to a free name beside it that ends in `suffix`, and return that.

    A copy that is not `listed` can be put to use beside any log and commit list. Raises OSError or
    sqlite3.Error.
    """
    unfinished = path.with_name(f"{path.name}.{suffix}.unfinished")
    unfinished.unlink(missing_ok=True)  # from a killed attempt
    unfinished.touch(mode=0o600)
    with closing(sqlite3.connect(unfinished)) as copy:
        database.backup(copy)
        if not listed:
            need_no_list(copy)
            copy.execute("PRAGMA journal_mode = DELETE").fetchall()
    names = (f"{path.name}.{suffix}{f'-{number}' if number > 1 else ''}" for number in itertools.count(1))
    return unfinished.rename(next(free for name in names if not (free := path.with_name(name)).exists()))


if sys.platform == "win32":
    import msvcrt

    def _open_folder(data: Path) -> int:
        return os.open(data / "palatinus.lock", os.O_RDWR | os.O_CREAT)

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _open_folder(data: Path) -> int:
        return os.open(data, os.O_RDONLY | os.O_DIRECTORY)

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
