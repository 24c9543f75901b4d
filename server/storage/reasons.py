"""Why storage failed, in words that hold nothing of what is stored.

A library's own text may repeat a value of a row, and so a hidden piece. It is never logged, shown or sent.
"""

import sqlite3
from typing import Final

from engine.errors import Template
from server.errors import HostError

# By SQLite's primary codes, the lowest 8 bits: Python does not know the names of all others. SQLite's texts
# may quote the file, and those of the module that calls it do.
_SQLITE: Final = {
    sqlite3.SQLITE_PERM: Template("permission denied"),
    sqlite3.SQLITE_BUSY: Template("another program has locked it"),
    sqlite3.SQLITE_LOCKED: Template("another program has locked it"),
    sqlite3.SQLITE_NOMEM: Template("there is not enough memory"),
    sqlite3.SQLITE_READONLY: Template("it is read-only"),
    sqlite3.SQLITE_IOERR: Template("the disk reports an error"),
    sqlite3.SQLITE_CORRUPT: Template("the file is malformed"),
    sqlite3.SQLITE_FULL: Template("the disk is full"),
    sqlite3.SQLITE_CANTOPEN: Template("the file cannot be opened"),
    sqlite3.SQLITE_CONSTRAINT: Template("it contradicts what is stored"),
    sqlite3.SQLITE_NOTADB: Template("it is not a database"),
}


class StorageFault(Exception):
    """A fault of storage, in a text of ours rather than the database's."""


class Misfit(StorageFault, ValueError):
    """Stored data makes no sense, or data to be stored contradicts it."""


def reason_of(error: BaseException) -> str:
    """Return why something failed: our own words, or the system's, or else the kind of error."""
    if isinstance(error, StorageFault | HostError):
        return str(error)
    if isinstance(error, OSError):
        return error.strerror or str(error) or type(error).__name__
    kind: str = getattr(error, "sqlite_errorname", type(error).__name__)
    return _SQLITE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, kind)
