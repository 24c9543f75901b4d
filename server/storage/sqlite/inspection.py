"""What a journal holds and what is damaged, found out in one reading that changes no byte of its files.

A table is intact if the chain of its entries fits and leads to where the commit list says that it stood.
"""

import contextlib
import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from server.errors import JournalError
from server.storage.operations import archive_list, archive_rows, records_due, tables_in_use, tables_set_aside
from server.storage.owner import table_faults
from server.storage.reasons import Misfit, reason_of
from server.storage.sqlite.commit_list import FILE_NAME as LIST_NAME
from server.storage.sqlite.commit_list import KnownCommits, known_commits
from server.storage.sqlite.journal_file import FILE_NAME, unusable
from server.storage.sqlite.journal_file import in_use as journal_in_use
from server.storage.sqlite.rows import carry_out, commits, is_copy
from server.storage.sqlite.schema import TABLES_SINCE, check_version, upgrade
from server.storage.sqlite.write_ahead_log import is_intact
from server.storage.stored_tables import (
    SET_ASIDE,
    ArchivedTable,
    Row,
    Stored,
    StoredState,
    TablePlace,
    archived_from,
)

REPAIRED: Final = ".repaired"  # ends the names of files that palatinus tables salvage has yet to put in place
# Asks for no lock, which cannot be had for reading; the folder is locked.
_WITHOUT_LOCKS: Final = "win32-none" if sys.platform == "win32" else "unix-none"
_MODE: Final = slice(18, 20)  # in the file's header: whether it has a log
_WITHOUT_LOG: Final = b"\x01\x01"


@dataclass(slots=True)
class ShownJournal:
    """A journal as SQLite shows it; the contents may still be damaged."""

    version: int  # of the file, before it was upgraded for being read; 0 if it holds nothing yet
    journal: str
    commits: int
    counted: int  # the last of those commits that did more than add entries
    in_use: dict[str, Stored]
    added: dict[str, int]  # by table in use: the last commit that changed it
    archived: dict[str, ArchivedTable]
    damaged: set[str]  # tables of which something does not fit
    set_aside: dict[str, Stored]
    records_due: dict[str, int]

    def place(self, code: str) -> TablePlace | None:
        found = self.set_aside.get(code) or self.in_use.get(code) or self.archived.get(code)
        return None if found is None else found.standing.place

    @property
    def listed(self) -> bool:
        """Whether a commit list belongs to it: a copy has none, nor has an older version."""
        return not is_copy(self.journal) and (not self.version or self.version >= TABLES_SINCE)

    @property
    def standings(self) -> dict[str, StoredState]:
        """Where all tables are kept and how far they have come."""
        found = {code: table.standing for code, table in self.archived.items()}
        found |= {code: table.standing for code, table in self.in_use.items()}
        return found | dict.fromkeys(self.set_aside, SET_ASIDE)


@dataclass(frozen=True, slots=True)
class Findings:
    """The contents and faults of a journal; `tables` is filled only if there are faults, or on request."""

    view: ShownJournal
    known: KnownCommits  # by the commit list, if that is about this journal
    faults: Sequence[JournalError] = ()
    tables: Sequence[Stored] = ()
    unlisted: int = 0  # commits that the journal has and only the commit list lacks


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def content_of(path: Path) -> bytes:
    """Return a file's content, empty if there is no such file; raises OSError."""
    return path.read_bytes() if path.exists() else b""


def log_is_foreign(path: Path) -> bool:
    """Return whether the log beside a journal is not its own: a copy took the place of another journal."""
    if not size_of(beside(path, "-wal")):
        return False
    with path.open("rb") as file:
        return file.read(_MODE.stop)[_MODE] == _WITHOUT_LOG


@contextlib.contextmanager
def reading(path: Path) -> Iterator[tuple[sqlite3.Connection, int]]:
    """Read a journal into memory, in the newest version; yield a connection, and the version of the file.

    SQLite would merge the log into the main file on closing it.
    Raises sqlite3.Error, OSError, Misfit, or JournalError for a file of a newer version or not a journal.
    """
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        if size_of(path):
            options = "immutable=1" if log_is_foreign(path) else f"mode=ro&vfs={_WITHOUT_LOCKS}"
            with (
                _second_name(path) as name,
                contextlib.closing(
                    sqlite3.connect(f"{name.absolute().as_uri()}?{options}", uri=True)
                ) as file,
            ):
                file.execute("PRAGMA locking_mode = EXCLUSIVE")  # otherwise a log needs a file for sharing it
                file.backup(database)
        version = check_version(database, path)
        upgrade(database, version)
        yield database, version


@contextlib.contextmanager
def _second_name(path: Path) -> Iterator[Path]:
    """Yield another name of a journal: SQLite deletes a log in which it finds no commit."""
    name = beside(path, ".read")
    names = {path: name, beside(path, "-wal"): beside(name, "-wal")}
    with contextlib.ExitStack() as undo:
        for given, other in names.items():
            other.unlink(missing_ok=True)  # from a killed attempt
            undo.callback(other.unlink, missing_ok=True)
            if given.exists():
                try:
                    os.link(given, other)
                except OSError:
                    shutil.copy2(given, other)
        yield name


def view_of(database: sqlite3.Connection, version: int) -> ShownJournal:
    """Return the tables as SQLite reads them; raises sqlite3.Error or ValueError if the file is malformed."""
    (result,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    if result != "ok":
        raise Misfit(str(result).replace("\n", " "))
    row = database.execute("SELECT id, commits FROM journal").fetchone()
    if row is None:
        raise Misfit("its number is missing")
    tables = {table.code: table for table in carry_out(database, tables_in_use())}
    archived = {table.report.code: table for table in carry_out(database, archive_list())}
    damaged = {code for code, table in tables.items() if table.damage is not None}
    damaged |= {code for code, table in archived.items() if table.report.damaged or code in tables}
    return ShownJournal(
        version,
        row[0],
        commits(database),
        row[1],
        tables,
        dict(database.execute("SELECT code, max(added) FROM entry GROUP BY code")),
        archived,
        damaged,
        {table.code: table for table in carry_out(database, tables_set_aside())},
        dict(carry_out(database, records_due())),
    )


def inspect_folder(data: Path, *, closely: bool = False) -> Findings:
    """Return what the journal in the folder `data` holds; `closely` has every table in any case.

    Raises JournalError if the journal cannot be read, is of a newer version, or not a journal.
    """
    path = data / FILE_NAME
    try:
        known = known_commits(content_of(data / LIST_NAME))
        if not size_of(path) and (size_of(beside(path, "-wal")) or known.tells_of_more):
            raise Misfit("it is missing or empty")
        with reading(path) as (database, version):
            view = view_of(database, version)
            faults = faults_of(path, view, known)
            if not (view.listed and _is_about(known, view)):
                known = KnownCommits()
            unlisted = 0
            if not log_is_foreign(path) and not is_intact(content_of(beside(path, "-wal"))):
                faults.append(JournalError("the log {file} is damaged", file=beside(path, "-wal").name))
            elif not faults and is_only_behind(known, view):
                unlisted = view.commits - known.commits
                known = KnownCommits(view.journal, view.commits)  # those commits may have removed tables
            if not faults and not closely:
                return Findings(view, known, unlisted=unlisted)
            unpacked = map(archived_from, carry_out(database, archive_rows()))
            archive = {table.code: table for table in unpacked}
            return Findings(view, known, faults, _tables(view, known, archive), unlisted)
    except OSError as error:
        raise unusable(path, error) from error
    except (sqlite3.Error, ValueError, TypeError) as error:
        raise JournalError(
            "the journal {file} is malformed: {reason}. Nothing was changed. Run palatinus tables salvage "
            "--data {folder}, which writes it again from what can be read, or restore a backup",
            file=path,
            folder=data,
            reason=reason_of(error),
        ) from error


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def faults_of(path: Path, view: ShownJournal, known: KnownCommits) -> list[JournalError]:
    """Return the faults of the files as a whole, which require a check of every table.

    A commit list that only ends earlier than the journal is no fault.
    """
    faults = []
    if log_is_foreign(path):
        log = beside(path, "-wal")
        faults.append(JournalError("the log {file} belongs to another journal", file=log.name))
    if not view.listed:
        return faults + table_faults(view.damaged)
    if known.journal is not None and known.journal != view.journal and view.version:
        return [*faults, JournalError("the commit list {file} belongs to another journal", file=LIST_NAME)]
    if known.damaged and (known.named or view.in_use or view.archived or view.set_aside):
        faults.append(JournalError("the commit list {file} is missing or damaged", file=LIST_NAME))
    if view.commits < known.commits and (view.version or known.tables):
        number = known.commits - view.commits
        faults.append(JournalError("the last commits to the journal are missing: {commits}", commits=number))
    return faults + table_faults(view.damaged | _not_as_listed(view, known))


def _is_about(known: KnownCommits, view: ShownJournal) -> bool:
    """Return whether a commit list is about this journal, whose number may be damaged."""
    if known.journal in {None, view.journal} or not view.version:
        return True
    shown = view.standings
    return any(standing.length and shown.get(code) == standing for code, standing in known.tables.items())


def _not_as_listed(view: ShownJournal, known: KnownCommits) -> set[str]:
    """Return the tables that are not where the commit list says, and that no later commit has changed."""
    found = {code for code, standing in known.tables.items() if not _as_listed(view, code, standing)}
    return {code for code in found if not has_changed(view, code, known.commits)} | removed_since(view, known)


def _as_listed(view: ShownJournal, code: str, standing: StoredState) -> bool:
    if standing.place == TablePlace.SET_ASIDE or code in view.set_aside:
        return code in view.set_aside
    if (table := view.in_use.get(code)) is not None:
        return leads_to(table.rows, standing)
    if (archived := view.archived.get(code)) is None:
        return False
    return (archived.standing.length, archived.standing.link) == (standing.length, standing.link)


def is_only_behind(known: KnownCommits, view: ShownJournal) -> bool:
    """Return whether all that is wrong is that the commit list ends earlier than an intact journal.

    A power cut leaves that, and so does a kill while the list could not be written.
    """
    if known.damaged or known.journal != view.journal or view.damaged or known.commits >= view.commits:
        return False
    return not _not_as_listed(view, known)


def has_changed(view: ShownJournal, code: str, commits: int) -> bool:
    """Return whether a commit after number `commits` may have left an intact table as SQLite shows it.

    One that is in use says so; one that was removed or archived cannot, but the journal counts such commits.
    """
    if code in view.damaged:
        return False
    return (view.added[code] if code in view.in_use else view.counted) > commits


def leads_to(rows: Sequence[Row], standing: StoredState) -> bool:
    return len(rows) >= standing.length and rows[standing.length - 1].link == standing.link


def _tables(view: ShownJournal, known: KnownCommits, archive: Mapping[str, Stored]) -> list[Stored]:
    """Return what is left of every table, but not of those that are listed as removed since."""
    codes = dict.fromkeys([*view.archived, *view.in_use, *known.tables, *sorted(known.named - known.gone)])
    gone = removed_since(view, known)
    found = [_table(code, view, known, archive) for code in codes if code not in gone | view.set_aside.keys()]
    return found + [table for code, table in view.set_aside.items() if code not in gone]


def removed_since(view: ShownJournal, known: KnownCommits) -> set[str]:
    """Return the tables that SQLite shows, but the commit list says were removed later."""
    shown = (code for code in known.gone if view.place(code) is not None)
    return {code for code in shown if not has_changed(view, code, known.commits)}


def _table(code: str, view: ShownJournal, known: KnownCommits, archive: Mapping[str, Stored]) -> Stored:
    table = view.in_use.get(code) or archive.get(code)
    listed = known.tables.get(code)
    if listed is not None and listed.place == TablePlace.SET_ASIDE:
        listed = None
    length = 0 if listed is None else listed.length
    if table is None:
        reason = "it was removed, or is lost" if listed is None else "its last entries are missing"
        return Stored(code, [], [], damage=reason, length=length)
    table = replace(table, length=max(len(table.rows), length))
    if code in view.damaged:
        return replace(table, damage=table.damage or "it is in two places")
    changed = code in view.in_use and has_changed(view, code, known.commits)
    if changed or listed is None or leads_to(table.rows, listed):
        return table
    early = len(table.rows) >= listed.length
    return replace(table, shorter="it is as it was earlier" if early else "its last entries are missing")


def refuse_during_salvage(path: Path) -> None:
    """Raise JournalError if a salvage has yet to end, which would undo every change."""
    if beside(path, REPAIRED).exists():
        raise JournalError(
            "palatinus tables salvage was interrupted. Run it again with --data {folder}", folder=path.parent
        )


def refuse_if_in_use(path: Path) -> None:
    """Raise JournalError if another connection has the journal; nothing is changed by asking."""
    if not size_of(path):  # SQLite would delete the log of an empty file
        return
    try:
        with contextlib.closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=1.0)
        ) as database:
            # Without this SQLite would make a file for sharing the log.
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            raise journal_in_use(path) from error
        # Any other error is for the inspection to find: a lock cannot be had for reading.
