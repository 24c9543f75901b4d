"""The name that a journal has for its commit list; a copy made by a running server needs no list."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Final

from server.storage.sqlite.commit_list import removed_if_it_fails

_COPIED: Final = "copy-of-"


def is_copy(journal: str) -> bool:
    """Return whether a journal of this name is a copy that is whole without a commit list."""
    return journal.startswith(_COPIED)


def write_copy(database: sqlite3.Connection, path: Path, *, exact: bool) -> None:
    """Copy what `database` shows, which is closed then, into the new file `path`.

    Only an `exact` copy belongs to the same commit list. Raises sqlite3.Error or OSError.
    """
    with contextlib.closing(database):
        path.touch(mode=0o600, exist_ok=False)
        with removed_if_it_fails(path), contextlib.closing(sqlite3.connect(path)) as copy:
            copy.execute("PRAGMA synchronous = OFF")
            database.backup(copy)
            if not exact:
                with copy:
                    copy.execute("UPDATE journal SET id = ? || id", (_COPIED,))
            copy.execute("PRAGMA journal_mode = DELETE").fetchall()  # one file, not three


def identity_of(database: sqlite3.Connection) -> str:
    """Return the journal's name; a copy that is put to use gets a new one first, and from then on a list."""
    (journal,) = database.execute("SELECT id FROM journal").fetchone()
    if is_copy(str(journal)):
        with database:
            database.execute("UPDATE journal SET id = lower(hex(randomblob(8)))")
        (journal,) = database.execute("SELECT id FROM journal").fetchone()
    return str(journal)
