"""Why storage failed, in words that hold nothing of what is stored.

A library's own text may repeat a value of a row, and so a hidden piece. It is never logged, shown or sent.
"""

from typing import Final

from engine.errors import Template
from server.errors import HostError

# By SQLite's primary codes, the lowest 8 bits: Python does not know the names of all others. SQLite's texts
# may quote the file, and those of the module that calls it do.
_SQLITE: Final = {
    3: Template("permission denied"),  # SQLITE_PERM
    5: Template("another program has locked it"),  # SQLITE_BUSY
    6: Template("another program has locked it"),  # SQLITE_LOCKED
    7: Template("there is not enough memory"),  # SQLITE_NOMEM
    8: Template("it is read-only"),  # SQLITE_READONLY
    10: Template("the disk reports an error"),  # SQLITE_IOERR
    11: Template("the file is malformed"),  # SQLITE_CORRUPT
    13: Template("the disk is full"),  # SQLITE_FULL
    14: Template("the file cannot be opened"),  # SQLITE_CANTOPEN
    19: Template("it contradicts what is stored"),  # SQLITE_CONSTRAINT
    26: Template("it is not a database"),  # SQLITE_NOTADB
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
