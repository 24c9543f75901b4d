"""Why storage failed, in words that hold nothing of what is stored.

A library's own text may repeat a value of a row, and so a hidden piece. It is never logged, shown or sent.
"""

import sqlite3
from typing import Final

from server.errors import HostError

# What SQLite's codes mean. Its texts may quote the file, and those of the module that calls it do.
_SQLITE: Final = {
    sqlite3.SQLITE_PERM: "access permission denied",
    sqlite3.SQLITE_BUSY: "database is locked",
    sqlite3.SQLITE_LOCKED: "database table is locked",
    sqlite3.SQLITE_NOMEM: "out of memory",
    sqlite3.SQLITE_READONLY: "attempt to write a readonly database",
    sqlite3.SQLITE_IOERR: "disk I/O error",
    sqlite3.SQLITE_CORRUPT: "database disk image is malformed",
    sqlite3.SQLITE_FULL: "database or disk is full",
    sqlite3.SQLITE_CANTOPEN: "unable to open database file",
    sqlite3.SQLITE_CONSTRAINT: "constraint failed",
    sqlite3.SQLITE_NOTADB: "file is not a database",
}
_PRIMARY: Final = 0xFF  # the part of a code that is not about details


class Fault(Exception):
    """What is wrong with storage; its text is ours."""


class Misfit(Fault, ValueError):
    """What is stored makes no sense, or what is to be stored does not fit it."""


def reason_of(error: BaseException) -> str:
    """Return why something failed: our own words, or the system's, or else the kind of error."""
    if isinstance(error, Fault | HostError):
        return str(error)
    if isinstance(error, OSError):
        return error.strerror or str(error) or type(error).__name__
    kind: str = getattr(error, "sqlite_errorname", type(error).__name__)
    return _SQLITE.get(getattr(error, "sqlite_errorcode", 0) & _PRIMARY, kind)
