"""The name that a journal has for its commit list; a copy made by a running server needs no list."""

import sqlite3
from typing import Final

_COPIED: Final = "copy-of-"


def is_copy(journal: str) -> bool:
    """Return whether a journal of this name is a copy that is whole without a commit list."""
    return journal.startswith(_COPIED)


def mark_as_copy(copy: sqlite3.Connection) -> None:
    """Give a copy its name, in a transaction of its own."""
    with copy:
        copy.execute("UPDATE journal SET id = ? || id", (_COPIED,))


def identity_of(database: sqlite3.Connection) -> str:
    """Return the journal's name; a copy that is put to use gets a new one first, and from then on a list."""
    (journal,) = database.execute("SELECT id FROM journal").fetchone()
    if is_copy(str(journal)):
        with database:
            database.execute("UPDATE journal SET id = lower(hex(randomblob(8)))")
        (journal,) = database.execute("SELECT id FROM journal").fetchone()
    return str(journal)
