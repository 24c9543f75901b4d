"""What is whole in a data folder and what is damaged, found out before anything is written.

A table is whole if the chain of its entries fits and leads to where the commit list says that it stood. If
anything is wrong, the pages of all files are searched for what is missing.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from server.errors import JournalError
from server.storage.archive_index import ArchivedGame
from server.storage.condition import Condition, Verdict, table_faults
from server.storage.reasons import reason_of
from server.storage.sqlite.commit_list import FILE_NAME as LIST_NAME
from server.storage.sqlite.commit_list import KnownCommits, known_commits
from server.storage.sqlite.damage.evidence import Evidence, View, beside, content_of, reading, view_of
from server.storage.sqlite.damage.write_ahead_log import belongs_to_none
from server.storage.sqlite.identity import is_copy
from server.storage.sqlite.journal_file import FILE_NAME, SCHEMA_VERSION
from server.storage.standing import Place, Standing
from server.storage.stored_tables import Row, Stored, rechecked

_COMMITS_OF_A_KILL: Final = 1  # that a killed server may have made without listing them


@dataclass(frozen=True, slots=True)
class Findings:
    """What is wrong in a data folder; if nothing is, the tables were not looked at more closely."""

    faults: Sequence[JournalError] = ()
    verdicts: Sequence[Verdict] = ()
    commits: int = 0
    journal: str | None = None
    unlisted: int = 0  # commits that the journal has and only the commit list lacks: no fault
    set_aside: Sequence[str] = ()
    records_due: Mapping[str, int] = field(default_factory=dict)


def inspected(data: Path, *, closely: bool = False, suffix: str = "") -> Findings:
    """Return what is wrong with the journal in the folder `data`; `closely` looks at every table in any case.

    `suffix` ends the names of copies of its files. Raises JournalError if the journal is of a newer version,
    not a journal or cannot be read.
    """
    path, list_path = data / f"{FILE_NAME}{suffix}", data / f"{LIST_NAME}{suffix}"
    try:
        listed = content_of(list_path)
        log = beside(path, "-wal")
        if not content_of(path) and not content_of(log) and not listed:
            return Findings()
        known = known_commits(listed)
        if not content_of(path):
            return _found(known, _evidence_in(path), JournalError("the journal is missing"))
        try:
            with reading(path) as (database, version, log_intact):
                if version == 0:
                    return _never_written(path, known)
                view = view_of(database, version)
                if is_copy(
                    view.journal
                ):  # the list and the log beside it are of the journal that it replaced
                    known = KnownCommits()
                faults = _faults(view, known, list_is_there=bool(listed))
                belongs_here = not belongs_to_none(content_of(path), content_of(log))
                if not belongs_here:
                    faults = [
                        JournalError("the log {file} belongs to another journal", file=log.name),
                        *faults,
                    ]
                elif not log_intact:
                    faults = [JournalError("the log {file} is damaged", file=log.name), *faults]
                if not faults and not closely:
                    return Findings(set_aside=list(view.set_aside))
                evidence = Evidence()
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
            fault = JournalError("the journal is malformed ({reason})", reason=reason_of(error))
            return _found(known, evidence, fault)
        if faults:
            evidence.add_files(content_of(path), b"" if is_copy(view.journal) else content_of(log))
        unlisted = 0
        if belongs_here and log_intact and _is_only_behind(known, view, evidence):
            unlisted = view.commits - known.commits
            faults, known = [], KnownCommits(view.journal, view.commits)
        return Findings(
            faults,
            _verdicts(evidence, known, view, log_intact=log_intact),
            max(view.commits, known.commits),
            view.journal,
            unlisted,
            list(view.set_aside),
            view.records_due,
        )
    except OSError as error:
        raise JournalError(
            "cannot use the journal {file}: {reason}. Choose another --data",
            file=path,
            reason=reason_of(error),
        ) from error


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
        set_aside=list(evidence.set_aside),
        records_due=evidence.records_due,
    )


def _faults(view: View, known: KnownCommits, *, list_is_there: bool) -> list[JournalError]:
    """Return what is wrong with the files as a whole, so that every table has to be looked at."""
    if view.version < SCHEMA_VERSION or is_copy(view.journal):  # which have no commit list
        return table_faults(view.damaged)
    if not list_is_there:
        if not (view.in_use or view.archived or view.set_aside):
            return table_faults(view.damaged)
        return [JournalError("the commit list {file} is missing", file=LIST_NAME)]
    if known.journal is not None and known.journal != view.journal:
        return [JournalError("the commit list {file} belongs to another journal", file=LIST_NAME)]
    faults = []
    if known.damaged:
        faults.append(JournalError("the commit list {file} is damaged", file=LIST_NAME))
    if view.commits < known.commits:
        number = known.commits - view.commits
        faults.append(JournalError("the last commits to the journal are missing: {commits}", commits=number))
    if view.commits > known.commits + _COMMITS_OF_A_KILL:
        number = view.commits - known.commits
        faults.append(
            JournalError(
                "the commit list {file} lacks the last commits: {commits}", file=LIST_NAME, commits=number
            )
        )
    return faults + table_faults(view.damaged | _not_as_listed(view, known))


def _not_as_listed(view: View, known: KnownCommits) -> set[str]:
    """Return the tables that are not where the commit list says."""
    found = {code for code, standing in known.tables.items() if not _as_listed(view, code, standing)}
    if view.commits <= known.commits:
        return found | {code for code in known.gone if view.place(code) is not None}
    # A last commit that is not listed may have removed tables, or shortened one.
    found = {code for code in found if view.place(code) is not None}
    return found if len(found) > 1 else found & view.damaged


def _as_listed(view: View, code: str, standing: Standing) -> bool:
    if standing.place == Place.SET_ASIDE or code in view.set_aside:
        return code in view.set_aside
    if (table := view.in_use.get(code)) is not None:
        return _leads_to(table.rows, standing)
    archived = view.archived.get(code)
    return archived is not None and archived[1:] == standing[1:]


def _is_only_behind(known: KnownCommits, view: View, evidence: Evidence) -> bool:
    """Tell whether all that is wrong is that the commit list ends earlier than a whole journal.

    A power cut leaves that, and so does a kill while the list could not be written.
    """
    if known.damaged or known.journal != view.journal or view.damaged:
        return False
    if not known.commits < view.commits or evidence.commits > view.commits:
        return False
    return all(
        _as_listed(view, code, standing) or _has_changed(view, code, known.commits)
        for code, standing in known.tables.items()
    )


def _has_changed(view: View, code: str, commits: int) -> bool:
    """Tell whether a commit after number `commits` may have left a table as SQLite shows it.

    One that is in use says so; one that was removed or archived cannot, but the journal counts such commits.
    """
    return (view.added[code] if code in view.in_use else view.counted) > commits


def _leads_to(rows: Sequence[Row], standing: Standing) -> bool:
    return len(rows) >= standing.length and rows[standing.length - 1].link == standing.link


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
    return found + [Verdict.of_set_aside(table, known=table.code in shown) for table in aside]


def _is_newer(view: View | None, code: str, commits: int) -> bool:
    """Tell whether SQLite shows a whole table in use that is newer than what a commit list says of it."""
    if view is None or code not in view.in_use or code in view.damaged:
        return False
    return _has_changed(view, code, commits)


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
    if shown is not None and shown.damage is None and (listed is None or _leads_to(shown.rows, listed)):
        table = shown
        if traced:
            longer = _made(code, evidence.best(code, shown.standing, or_longer=True))
            table = longer if _leads_to(longer.rows, shown.standing) else shown
    else:
        table = _made(code, evidence.best(code, listed, or_longer=traced))
        if view is not None and code in view.archived and code not in view.damaged:
            longer = _made(code, evidence.best(code, view.archived[code], or_longer=traced))
            if listed is None or _leads_to(longer.rows, listed):
                table = longer
    archived, game = _archived(code, table, listed, evidence, view)
    table = Stored(code, table.rows, table.entries, archived, table.damage)
    later = evidence.length_after(code, 0 if view is None else view.commits) if traced else 0
    length = max(len(table.rows), 0 if listed is None else listed.length, later)
    reached = listed is None or _leads_to(table.rows, listed)
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
    return Verdict(table, condition, length, reason, game)


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
