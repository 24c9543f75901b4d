"""A journal written again from what can be had of it; the earlier files are kept beside it.

The new files take their places together: once the new journal has the name that ends in `.repaired`, this
salvage or the next one puts all of them in place.
"""

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from salvage.inspection import Remains, search_files
from server.errors import JournalError
from server.storage.operations import insert
from server.storage.owner import CheckedTable
from server.storage.reasons import reason_of
from server.storage.sqlite.commit_list import FILE_NAME as LIST_NAME
from server.storage.sqlite.commit_list import list_content, replace_file
from server.storage.sqlite.inspection import REPAIRED, beside
from server.storage.sqlite.journal_file import FILE_NAME
from server.storage.sqlite.ready import KEPT, keep_copies
from server.storage.sqlite.rows import carry_out, standings
from server.storage.sqlite.schema import upgrade
from server.storage.stored_tables import Everything

_SEARCHED: Final = ".salvaged-"  # in the names of copies that have nothing more to give


def salvage_tables(data: Path, kept: Path, codes: Iterable[str] = ()) -> list[CheckedTable]:
    """Return these tables, or all, as far as any file in the folder has them.

    The copies in `kept` are searched as well.
    """
    wanted = set(codes)
    best: dict[str, CheckedTable] = {}
    for folder, suffix in ((data, ""), *((kept, suffix) for suffix in _copies(kept, ".*ed-"))):
        with contextlib.suppress(JournalError):  # what cannot be read at all holds no game
            for table in search_files(folder, suffix).tables:
                if wanted and table.code not in wanted:
                    continue
                found, known = CheckedTable.of(table), best.get(table.code)
                if known is None or len(found.events) > len(known.events):
                    best[table.code] = found
    return list(best.values())


def repair(data: Path) -> tuple[Remains, Path | None]:
    """Write the journal in the folder `data` again if more of it can be had, or it is damaged.

    Return what was found, and where the main file of before is kept, None if nothing had to be changed.
    Nobody else may use the folder. Raises JournalError if nothing can be read, or the disk is too full.
    """
    kept = None
    try:
        _finish(data)
        here = search_files(data)
        remains = _with_copies(data, here)
        if remains is not here or here.damaged:
            kept = keep_copies(data, _SEARCHED)
            _put_in_place(data, remains)
        for copy in data.glob(f"*{KEPT}*"):  # what is removed from now on shall not come back
            copy.rename(copy.with_name(copy.name.replace(KEPT, _SEARCHED)))
    except (OSError, sqlite3.Error) as error:
        raise JournalError(
            "the journal {file} could not be written again: {reason}. Nothing was changed. "
            "Make room on the disk",
            file=data / FILE_NAME,
            reason=reason_of(error),
        ) from error
    return remains, kept


def _copies(data: Path, kind: str) -> list[str]:
    """Return how the names of the copies end that are kept in the folder, the latest first."""
    names = (path.name.removeprefix(FILE_NAME) for path in data.glob(f"{FILE_NAME}{kind}*"))
    return sorted((name for name in names if not name.endswith(("-wal", "-shm"))), reverse=True)


def _with_copies(data: Path, here: Remains) -> Remains:
    """Return what there is with what the copies of earlier starts hold and those starts could not read.

    A table is as long as there if it has not gone on since.
    """
    best = {table.code: table for table in here.tables}
    for suffix in _copies(data, KEPT):
        try:
            found = search_files(data, suffix)
        except JournalError:
            continue
        for table in found.tables:
            rows, known = table.rows, best.get(table.code)
            before = [] if known is None else known.rows
            longer = len(rows) > len(before) and rows[: len(before)] == before and table.since is None
            if longer if known is not None else table.code not in found.shown:
                best[table.code] = table
    tables = list(best.values())
    return here if tables == [*here.tables] else replace(here, tables=tables)


def _put_in_place(data: Path, remains: Remains) -> None:
    path = data / FILE_NAME
    new_file, new_list = beside(path, ".unfinished"), data / f"{LIST_NAME}{REPAIRED}"
    with contextlib.ExitStack() as undo:
        for made in (new_file, beside(new_file, "-journal"), new_list):
            made.unlink(missing_ok=True)  # from a killed attempt
            undo.callback(made.unlink, missing_ok=True)
        content = _write(new_file, remains)
        replace_file(new_list, content)
        new_file.replace(beside(path, REPAIRED))
        _sync(data)
        undo.pop_all()
    _finish(data)


def _write(path: Path, remains: Remains) -> bytes:
    """Write a new journal with what is whole; return its commit list."""
    path.touch(mode=0o600)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA synchronous = FULL")
        upgrade(database, 0)
        with database:
            carry_out(database, insert(_set_damaged_aside(remains)))
            commits = remains.commits + 1
            database.execute("UPDATE journal SET commits = ?", (commits,))
            if remains.journal is not None:
                database.execute("UPDATE journal SET id = ?", (remains.journal,))
        (journal,) = database.execute("SELECT id FROM journal").fetchone()
        return list_content(journal, commits, standings(database))


def _set_damaged_aside(remains: Remains) -> Everything:
    now = int(time.time())
    kept = [
        table if table.damage is None or table.since is not None else replace(table, since=now)
        for table in remains.tables
    ]
    codes = {table.code for table in kept}
    return Everything(kept, [each for each in remains.records_due.items() if each[0] in codes])


def _finish(data: Path) -> None:
    """Put the files of a repair in their places; it may have been killed while it did that."""
    path = data / FILE_NAME
    new_file, new_list = beside(path, REPAIRED), data / f"{LIST_NAME}{REPAIRED}"
    if not new_file.exists():
        return
    if new_list.exists():
        new_list.replace(data / LIST_NAME)
    for suffix in ("-wal", "-journal", "-shm"):
        beside(path, suffix).unlink(missing_ok=True)
    new_file.replace(path)
    _sync(data)


def _sync(folder: Path) -> None:
    """Wait until the folder's names are on the disk, where the system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
