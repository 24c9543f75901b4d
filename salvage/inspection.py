"""What can be had of each table from all files of a journal, whether or not SQLite shows it.

A table is intact if the chain of its entries fits and leads to where the commit list says that it stood. If
anything is wrong, the pages of all files are searched for what is missing.
"""

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from salvage.evidence import Evidence
from server.errors import JournalError
from server.storage.archive_index import ArchivedGame
from server.storage.owner import Condition, Verdict
from server.storage.reasons import reason_of
from server.storage.sqlite.commit_list import FILE_NAME as LIST_NAME
from server.storage.sqlite.commit_list import KnownCommits, known_commits
from server.storage.sqlite.inspection import (
    View,
    beside,
    content_of,
    faults_of,
    has_changed,
    is_only_behind,
    leads_to,
    log_damaged,
    log_is_foreign,
    reading,
    view_of,
)
from server.storage.sqlite.journal_file import FILE_NAME, unusable
from server.storage.sqlite.rows import is_copy
from server.storage.sqlite.write_ahead_log import is_intact
from server.storage.stored_tables import Place, Row, Standing, Stored, rechecked


@dataclass(frozen=True, slots=True)
class Findings:
    """What is wrong with a journal, and what can be had of every table."""

    faults: Sequence[JournalError] = ()
    verdicts: Sequence[Verdict] = ()
    commits: int = 0
    journal: str | None = None
    records_due: Mapping[str, int] = field(default_factory=dict)
    shown: Collection[str] = ()  # the tables that SQLite shows


def inspected(data: Path, suffix: str = "") -> Findings:
    """Return what the files of the journal in the folder `data` hold; `suffix` ends the names of copies.

    Raises JournalError if nothing can be read, or the journal is of a newer version or not a journal.
    """
    path, list_path = data / f"{FILE_NAME}{suffix}", data / f"{LIST_NAME}{suffix}"
    try:
        listed, log = content_of(list_path), content_of(beside(path, "-wal"))
        known = known_commits(listed)
        if not content_of(path):
            missing = JournalError("the journal is missing")
            return _found(known, _evidence_in(path), missing) if log or listed else Findings()
        evidence = Evidence()
        try:
            with reading(path) as (database, version):
                if version == 0:
                    return _never_written(path, known)
                view = view_of(database, version)
                if is_copy(view.journal):  # its list and log are of the journal that it replaced
                    known = KnownCommits()
                faults = faults_of(path, view, known, list_is_there=bool(listed))
                evidence.add_shown(database, view)
        except (sqlite3.Error, ValueError, TypeError) as error:
            evidence = _evidence_in(path)
            if not evidence.rows:
                raise JournalError(
                    "the journal {file} is unreadable ({reason}). Put a backup in its "
                    "place, or choose another --data",
                    file=path,
                    reason=reason_of(error),
                ) from error
            fault = JournalError("the journal is malformed: {reason}", reason=reason_of(error))
            return _found(known, evidence, fault)
        log_intact = log_is_foreign(path) or is_intact(log)
        if not log_intact:
            faults = [log_damaged(path), *faults]
        if faults:
            evidence.add_files(content_of(path), b"" if is_copy(view.journal) else log)
        if (
            log_intact
            and not log_is_foreign(path)
            and is_only_behind(known, view)
            and evidence.commits <= view.commits
        ):
            faults, known = [], KnownCommits(view.journal, view.commits)
        return Findings(
            faults,
            _verdicts(evidence, known, view, log_intact=log_intact),
            max(view.commits, known.commits),
            view.journal,
            view.records_due,
            view.standings.keys(),
        )
    except OSError as error:
        raise unusable(path, error) from error


def _never_written(path: Path, known: KnownCommits) -> Findings:
    """Return what is wrong with a file that holds nothing, as before its first checkpoint."""
    evidence = _evidence_in(path)
    if not evidence.rows and not known.tables:
        return Findings()
    fault = JournalError("the commit list {file} is missing", file=LIST_NAME)
    if known.commits:
        fault = JournalError("the last commits to the journal are missing: {commits}", commits=known.commits)
    return _found(known, evidence, fault)


def _evidence_in(path: Path) -> Evidence:
    """Return what the pages of a file and its log hold that SQLite does not show."""
    evidence = Evidence()
    evidence.add_files(content_of(path), content_of(beside(path, "-wal")))
    return evidence


def _found(known: KnownCommits, evidence: Evidence, fault: JournalError) -> Findings:
    journal = known.journal if _about(known, evidence) else next(iter(sorted(evidence.journals)), None)
    return Findings(
        [fault],
        _verdicts(evidence, known, None),
        known.commits,
        journal,
        evidence.records_due,
    )


def _about(known: KnownCommits, evidence: Evidence) -> bool:
    """Return whether a commit list is about these rows; if it is unknown which journal's they are, it is."""
    if known.journal is None or known.journal in evidence.journals or not evidence.journals:
        return True
    return any(evidence.holds(code, standing) for code, standing in known.tables.items())


def _verdicts(
    evidence: Evidence, known: KnownCommits, view: View | None, *, log_intact: bool = False
) -> list[Verdict]:
    if not _about(known, evidence):
        known = KnownCommits()
    commits = 0 if view is None else view.commits
    listed_to = -1 if known.journal is None or known.damaged else known.commits
    # Where neither the list nor SQLite need show all tables, any trace of one may be all that is left of it.
    traced = max(commits, evidence.commits) > listed_to and not (log_intact and evidence.commits <= commits)
    codes = dict.fromkeys([] if view is None else [*view.archived, *view.in_use])
    codes |= dict.fromkeys(known.tables)
    if view is None or commits <= known.commits:
        codes = {code: None for code in codes if code not in known.gone}
    codes |= dict.fromkeys(sorted(((evidence.codes if traced else set()) | known.named) - known.gone))
    aside = [table for code, table in evidence.set_aside.items() if _is_aside(code, known, view)]
    for table in aside:
        codes.pop(table.code, None)
    listed = {
        code: standing for code, standing in known.tables.items() if not _is_newer(view, code, known.commits)
    }
    found = [_verdict(code, listed.get(code), evidence, view, traced=traced) for code in codes]
    shown = {} if view is None else view.set_aside
    return found + [
        verdict if verdict.code in shown else replace(verdict, since=None)  # it is news
        for verdict in map(Verdict.of, aside)
    ]


def _is_newer(view: View | None, code: str, commits: int) -> bool:
    """Tell whether SQLite shows a whole table in use that is newer than what a commit list says of it."""
    if view is None or code not in view.in_use or code in view.damaged:
        return False
    return has_changed(view, code, commits)


def _is_aside(code: str, known: KnownCommits, view: View | None) -> bool:
    """Return whether a table that was set aside at some time is so still."""
    places = {None if view is None else view.place(code), getattr(known.tables.get(code), "place", None)}
    return code not in known.gone and places <= {None, Place.SET_ASIDE}


def _verdict(
    code: str, listed: Standing | None, evidence: Evidence, view: View | None, *, traced: bool
) -> Verdict:
    shown = None if view is None else view.in_use.get(code)
    removed = listed is None and view is not None and view.place(code) is None
    if listed is not None and listed.place == Place.SET_ASIDE:
        listed = None
    if shown is not None and shown.damage is None and (listed is None or leads_to(shown.rows, listed)):
        table = shown
        if traced:
            longer = _made(code, evidence.best(code, shown.standing, or_longer=True))
            table = longer if leads_to(longer.rows, shown.standing) else shown
    else:
        table = _made(code, evidence.best(code, listed, or_longer=traced))
        if view is not None and code in view.archived and code not in view.damaged:
            longer = _made(code, evidence.best(code, view.archived[code].standing, or_longer=traced))
            if listed is None or leads_to(longer.rows, listed):
                table = longer
    archived, game = _archived(code, table, listed, evidence, view)
    table = Stored(code, table.rows, table.entries, archived, table.damage, game)
    later = evidence.length_after(code, 0 if view is None else view.commits) if traced else 0
    length = max(len(table.rows), 0 if listed is None else listed.length, later)
    reached = listed is None or leads_to(table.rows, listed)
    more = _more(code, len(table.rows), evidence, view) and not (reached and listed is not None)
    reason = table.damage or (f"entry {len(table.rows)} is damaged" if more else "")
    if not reason and removed and not later:
        more, reason = True, "it was removed, or is lost"
    if not reason and len(table.rows) < length:
        reason = "its last entries are missing"
    if not reason and not reached:
        reason = "it is as it was earlier"
    if not reason:
        condition = Condition.WHOLE
    elif not table.entries:
        condition = Condition.LOST
    else:
        condition = Condition.DAMAGED if more or table.damage else Condition.SHORTER
    return Verdict(table, condition, length, reason)


def _made(code: str, rows: list[Row]) -> Stored:
    found = rechecked(code, rows)
    return Stored(code, rows, found.entries, damage=found.damage)


def _more(code: str, length: int, evidence: Evidence, view: View | None) -> bool:
    """Return whether a table has entries after its first `length` ones, which do not fit to them."""
    if view is not None:
        return code in view.damaged
    in_archive = any(standing.length > length for standing, _, _ in evidence.archived.get(code, ()))
    return in_archive or any(number >= length for number in evidence.rows.get(code, ()))


def _archived(
    code: str, table: Stored, listed: Standing | None, evidence: Evidence, view: View | None
) -> tuple[int | None, ArchivedGame | None]:
    """Return when a table was archived, and what decides how long it is kept; None if it is in use."""
    rows = evidence.archived.get(code, [])
    place = None if listed is None else listed.place
    if view is not None and code not in view.damaged:
        place = view.place(code) or place
    if place is None:
        ends = {standing.link for standing, _, _ in rows}
        place = Place.ARCHIVED if table.rows and table.rows[-1].link in ends else Place.IN_USE
    if place != Place.ARCHIVED:
        return None, None
    if not rows:
        return table.rows[-1].time or 0 if table.rows else 0, ArchivedGame(code, played=True)
    _, when, game = max(rows, key=lambda row: row[0].length)
    return when, game
