"""Why storage failed, in words that hold nothing of what is stored.

A library's own text may repeat a value of a row, and so a hidden piece. It is never logged, shown or sent.
"""

from typing import Final

from engine.errors import Template
from server.errors import HostError

# By the first words of the names of SQLite's codes. Its texts may quote the file, and those of the module
# that calls it do.
_SQLITE: Final = {
    "PERM": Template("permission denied"),
    "BUSY": Template("another program has locked it"),
    "LOCKED": Template("another program has locked it"),
    "NOMEM": Template("there is not enough memory"),
    "READONLY": Template("it is read-only"),
    "IOERR": Template("the disk reports an error"),
    "CORRUPT": Template("the file is malformed"),
    "FULL": Template("the disk is full"),
    "CANTOPEN": Template("the file cannot be opened"),
    "CONSTRAINT": Template("it contradicts what is stored"),
    "NOTADB": Template("it is not a database"),
}


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
    return _SQLITE.get(kind.removeprefix("SQLITE_").partition("_")[0], kind)
