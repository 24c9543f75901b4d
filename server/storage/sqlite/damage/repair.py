"""Making a data folder ready: a damaged journal is written anew from what is whole.

Its files are first kept beside it under names with the date. The new files take their places together: once
the new journal has the name that ends in `.repaired`, this start or the next one puts all of them in place.
"""

import contextlib
import logging
import os
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from server.errors import JournalError
from server.logs import about
from server.storage.condition import Condition, Verdict
from server.storage.house import House
from server.storage.operations import insert
from server.storage.reasons import reason_of
from server.storage.sqlite.commit_list import FILE_NAME as LIST_NAME
from server.storage.sqlite.commit_list import replace_file, written
from server.storage.sqlite.damage.evidence import beside, refuse_if_in_use
from server.storage.sqlite.damage.inspection import Findings, inspected
from server.storage.sqlite.journal_file import FILE_NAME, upgrade
from server.storage.sqlite.tables_in_file import carry_out, standings
from server.storage.stored_tables import SetAside

_MOST_LINES: Final = 20  # about single tables
_REPAIRED: Final = ".repaired"
_KEPT: Final = ".damaged-"

log = logging.getLogger(__name__)


def copies(data: Path) -> list[str]:
    """Return how the names of the copies end that repairs have kept in the folder, the latest first."""
    names = (path.name.removeprefix(FILE_NAME) for path in data.glob(f"{FILE_NAME}{_KEPT}*"))
    return sorted((name for name in names if not name.endswith(("-wal", "-shm"))), reverse=True)


def make_ready(data: Path) -> None:
    """Look at the journal in the folder `data` without changing it, and repair it if anything is damaged.

    What was found is logged. Raises JournalError if it cannot be used, or the disk is too full.
    """
    if not data.exists():
        return
    refuse_if_in_use(data / FILE_NAME)
    _finish(data)
    findings = inspected(data)
    if findings.unlisted:
        log.warning("the commit list lacked the last commits", extra=about(commits=findings.unlisted))
    if not findings.faults:
        return
    try:
        kept = _repair(data, findings)
    except (OSError, sqlite3.Error) as error:
        raise JournalError(
            "the journal {file} is damaged, and cannot be repaired: {reason}. Nothing was changed. "
            "Make room on the disk, or look at it with palatinus tables check",
            file=data / FILE_NAME,
            reason=reason_of(error),
        ) from error
    _tell(findings, kept)


def _repair(data: Path, findings: Findings) -> Path:
    """Write the journal anew from what is whole; return where the main file of before is kept."""
    path = data / FILE_NAME
    new_file, new_list = beside(path, ".unfinished"), data / f"{LIST_NAME}{_REPAIRED}"
    with contextlib.ExitStack() as undo:
        for made in (new_file, beside(new_file, "-journal"), new_list):
            made.unlink(missing_ok=True)  # from a killed attempt
            undo.callback(made.unlink, missing_ok=True)
        suffix = next(_free_suffixes(data))
        for given in (path, beside(path, "-wal"), data / LIST_NAME):
            copy = _copy_of(given, suffix)
            if given.exists():
                undo.callback(copy.unlink, missing_ok=True)
                _keep(given, copy)
        content = _write(new_file, findings)
        replace_file(new_list, content)
        new_file.replace(beside(path, _REPAIRED))
        _sync(data)
        undo.pop_all()
    _finish(data)
    return _copy_of(path, suffix)


def _free_suffixes(data: Path) -> Iterator[str]:
    """Yield names for copies that no file in the folder has."""
    now = time.strftime(f"{_KEPT}%Y%m%d-%H%M%S")
    for suffix in (now, *(f"{now}-{number}" for number in range(2, 1000))):
        if not any(data.glob(f"*{suffix}*")):
            yield suffix


def _copy_of(given: Path, suffix: str) -> Path:
    """Return the name of a copy; SQLite finds a log by the name of its file's copy."""
    if given.name.endswith("-wal"):
        return given.with_name(f"{given.name.removesuffix('-wal')}{suffix}-wal")
    return beside(given, suffix)


def _keep(given: Path, copy: Path) -> None:
    """Give a file, which will be replaced and not be written to, a second name; where that fails, copy it."""
    try:
        os.link(given, copy)
    except OSError:
        shutil.copy2(given, copy)


def _write(path: Path, findings: Findings) -> bytes:
    """Write a new journal with what is whole; return its commit list."""
    path.touch(mode=0o600)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA synchronous = FULL")
        upgrade(database, 0)
        with database:
            carry_out(database, insert(_kept(findings)))
            commits = findings.commits + 1
            database.execute("UPDATE journal SET commits = ?", (commits,))
            if findings.journal is not None:
                database.execute("UPDATE journal SET id = ?", (findings.journal,))
        (journal,) = database.execute("SELECT id FROM journal").fetchone()
        return written(journal, commits, standings(database))


def _kept(findings: Findings) -> House:
    """Return what is put into the new journal."""
    codes = {verdict.code for verdict in findings.verdicts}
    kept = House([], [], [], [each for each in findings.records_due.items() if each[0] in codes])
    for verdict in findings.verdicts:
        table = verdict.table
        if verdict.condition not in {Condition.WHOLE, Condition.SHORTER}:
            since = int(time.time()) if verdict.since is None else verdict.since
            kept.set_aside.append(
                SetAside(table.code, since, verdict.reason, table.rows, len(table.entries), verdict.length)
            )
        elif verdict.game is not None:
            kept.archived.append(replace(table, game=verdict.game))
        else:
            kept.in_use.append(table)
    return kept


def _finish(data: Path) -> None:
    """Put the files of a repair in their places; it may have been killed while it did that."""
    path = data / FILE_NAME
    new_file, new_list = beside(path, _REPAIRED), data / f"{LIST_NAME}{_REPAIRED}"
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


def _tell(findings: Findings, kept: Path) -> None:
    changed = [
        verdict
        for verdict in findings.verdicts
        if verdict.condition is not Condition.WHOLE and verdict.since is None
    ]
    for verdict in changed[:_MOST_LINES]:
        _tell_of_table(verdict)
    counts = Counter(verdict.condition for verdict in changed)
    log.warning(
        "the journal was damaged and has been repaired",
        extra=about(
            reason="; ".join(map(str, findings.faults)),
            whole=sum(verdict.condition is Condition.WHOLE for verdict in findings.verdicts),
            shorter=counts[Condition.SHORTER],
            damaged=counts[Condition.DAMAGED],
            lost=counts[Condition.LOST],
            kept=str(kept),
        ),
    )


def _tell_of_table(verdict: Verdict) -> None:
    code, reason = verdict.code, verdict.reason
    entries = len(verdict.table.entries)
    missing = max(0, verdict.length - entries)
    if verdict.condition is Condition.SHORTER:
        log.warning(
            "a table has lost its last entries",
            extra=about(table=code, entries=entries, moves=verdict.moves, missing=missing, reason=reason),
        )
    elif verdict.condition is Condition.DAMAGED:
        log.warning("a damaged table is set aside", extra=about(table=code, entries=entries, reason=reason))
    else:
        log.warning("a table is lost", extra=about(table=code, missing=missing))
