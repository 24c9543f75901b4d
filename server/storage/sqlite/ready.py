"""Making a data folder ready: damaged tables are set aside, after a copy of all its files was kept."""

import contextlib
import logging
import shutil
import sqlite3
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Final

from server.errors import JournalError
from server.monitoring.logs import about
from server.storage.entries import contents
from server.storage.operations import insert
from server.storage.reasons import Misfit, reason_of
from server.storage.sqlite.commit_list import FILE_NAME as LIST_NAME
from server.storage.sqlite.inspection import (
    Findings,
    ShownJournal,
    beside,
    inspect_folder,
    log_is_foreign,
    reading,
    refuse_during_salvage,
    refuse_if_in_use,
    removed_since,
    view_of,
)
from server.storage.sqlite.journal_file import FILE_NAME, open_journal, unusable
from server.storage.sqlite.rows import carry_out
from server.storage.stored_tables import Condition, Everything, Stored

KEPT: Final = ".damaged-"  # and then the date
_COMMITS_OF_A_KILL: Final = 1  # that a killed server may have made without listing them
_MOST_LINES: Final = 20  # about single tables
_REMEDY: Final = "palatinus tables salvage, while the server is stopped"

log = logging.getLogger(__name__)


def make_ready(data: Path) -> ShownJournal:
    """Return the journal in the folder `data`, with damaged tables set aside.

    What was found is logged. Raises JournalError if it cannot be used, or the disk is too full.
    """
    path = data / FILE_NAME
    refuse_if_in_use(path)
    refuse_during_salvage(path)
    findings = inspect_folder(data)
    if findings.unlisted > _COMMITS_OF_A_KILL:
        log.warning("the commit list lacked the last commits", extra=about(commits=findings.unlisted))
    if readable := sum(table.readable_again for table in findings.view.set_aside.values()):
        log.warning(
            "tables that another version set aside can be read", extra=about(tables=readable, remedy=_REMEDY)
        )
    if not findings.faults:
        return findings.view
    kept = keep_copies(data, KEPT)
    try:
        _set_aside(path, findings)
        with reading(path) as (database, version):
            view = view_of(database, version)
    except (OSError, sqlite3.Error, Misfit) as error:
        raise unusable(path, error) from error
    _report(findings, kept)
    return view


def keep_copies(data: Path, kind: str) -> Path:
    """Copy a journal's files; return the main file's copy. Raises JournalError if the disk is too full."""
    path = data / FILE_NAME
    now = time.strftime(f"{kind}%Y%m%d-%H%M%S")
    names = (now, *(f"{now}-{number}" for number in range(2, 1000)))
    suffix = next(name for name in names if not any(data.glob(f"*{name}*")))
    copies = {
        path: beside(path, suffix),
        beside(path, "-wal"): beside(path, f"{suffix}-wal"),  # SQLite finds a log by the name of its file
        data / LIST_NAME: data / f"{LIST_NAME}{suffix}",
    }
    with contextlib.ExitStack() as undo:
        try:
            for given, copy in copies.items():
                if given.exists():
                    undo.callback(copy.unlink, missing_ok=True)
                    shutil.copy2(given, copy)
        except OSError as error:
            raise JournalError(
                "the journal {file} is damaged, and there is no room for a copy of it: {reason}. "
                "Nothing was changed. Make room on the disk",
                file=path,
                reason=reason_of(error),
            ) from error
        undo.pop_all()
    return copies[path]


def _set_aside(path: Path, findings: Findings) -> None:
    """Set tables aside that cannot be played on, and remove those that the commit list says are gone."""
    if log_is_foreign(path):
        beside(path, "-wal").unlink()
    view, known = findings.view, findings.known
    news = [table for table in findings.tables if table.damage is not None and table.since is None]
    with contextlib.closing(open_journal(path)) as database, database:
        for code in (*removed_since(view, known), *(table.code for table in news)):
            for place in ("entry", "archive", "set_aside"):
                database.execute(
                    f"DELETE FROM {place} WHERE CAST(code AS BLOB) = ?",  # noqa: S608 - names from above
                    (code.encode("utf-8", "surrogateescape"),),
                )
        now = int(time.time())
        aside = [
            replace(table, code=table.code.encode("ascii", "replace").decode(), since=now) for table in news
        ]
        carry_out(database, insert(Everything(aside)))
        commits = max(view.commits, known.commits) + 1
        database.execute("UPDATE journal SET commits = ?", (commits,))


def _report(findings: Findings, kept: Path) -> None:
    changed = [
        table for table in findings.tables if table.condition is not Condition.WHOLE and table.since is None
    ]
    for table in changed[:_MOST_LINES]:
        _report_table(table)
    counts = Counter(table.condition for table in changed)
    log.warning(
        "the journal is damaged",
        extra=about(
            reason="; ".join(map(str, findings.faults)),
            whole=sum(table.condition is Condition.WHOLE for table in findings.tables),
            shorter=counts[Condition.SHORTER],
            damaged=counts[Condition.DAMAGED],
            lost=counts[Condition.LOST],
            kept=str(kept),
            remedy=f"{_REMEDY}: the copies may hold more",
        ),
    )


def _report_table(table: Stored) -> None:
    code, entries = table.code, len(table.entries)
    missing = max(0, table.length - entries)
    if table.damage is None:
        moves = contents(table.entries).moves
        log.warning(
            "a table has lost its last entries",
            extra=about(table=code, entries=entries, moves=moves, missing=missing, reason=table.shorter),
        )
    elif entries:
        log.warning(
            "a damaged table is set aside", extra=about(table=code, entries=entries, reason=table.damage)
        )
    else:
        log.warning("a table is lost", extra=about(table=code, missing=missing))
