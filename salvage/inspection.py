"""What can be had of each table from all files of a journal, whether or not SQLite shows it.

A table is intact if the chain of its entries fits and leads to where the commit list says that it stood. If
anything is wrong, the pages of all files are searched for what is missing.
"""

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from salvage.page_scan import Value, rows_in
from server.errors import JournalError
from server.storage.archive_index import ArchivedGame
from server.storage.names import is_name, name_now
from server.storage.operations import archive_rows
from server.storage.reasons import reason_of
from server.storage.sqlite.commit_list import FILE_NAME as LIST_NAME
from server.storage.sqlite.commit_list import KnownCommits, known_commits
from server.storage.sqlite.inspection import (
    ShownJournal,
    beside,
    content_of,
    faults_of,
    has_changed,
    is_only_behind,
    leads_to,
    log_is_foreign,
    reading,
    view_of,
)
from server.storage.sqlite.journal_file import FILE_NAME, unusable
from server.storage.sqlite.rows import carry_out, is_copy
from server.storage.sqlite.write_ahead_log import is_intact
from server.storage.stored_tables import (
    Row,
    Stored,
    StoredState,
    TablePlace,
    archived_from,
    first_link,
    next_link,
    recheck_table,
    set_aside_from,
)

# Of rows with the ends of chains; a table that was shortened hundreds of times needs half as many. In a file
# made so that everything fits everything, they would have no end.
_MOST_COMPARISONS: Final = 20_000_000

_Chain: TypeAlias = "tuple[_Chain, Row] | None"  # its last row, and those before it


def _rows_of(chain: _Chain) -> list[Row]:
    rows = []
    while chain is not None:
        chain, row = chain
        rows.append(row)
    return rows[::-1]


@dataclass(slots=True)
class Traces:
    """Rows that were found anywhere, whole or damaged, of now or of earlier."""

    rows: dict[str, dict[int, set[Row]]] = field(default_factory=dict)  # by table and number
    named: set[str] = field(default_factory=set)  # tables of which an index has a row
    last: dict[str, tuple[int, int]] = field(default_factory=dict)  # by table: a commit, the length after it
    archived: dict[str, list[tuple[StoredState, int, ArchivedGame]]] = field(default_factory=dict)  # and when
    set_aside: dict[str, Stored] = field(default_factory=dict)
    records_due: dict[str, int] = field(default_factory=dict)  # when the games ended
    journals: set[str] = field(default_factory=set)
    comparisons: int = 0  # of rows with the ends of chains

    def add_files(self, file: bytes, log: bytes) -> None:
        """Add the rows in the pages of a file and its write-ahead log."""
        for row in rows_in(file, log):
            self._add(row)

    def add_shown(self, database: sqlite3.Connection, view: ShownJournal) -> None:
        for table in view.in_use.values():
            self._add_rows(table.code, table.rows)
        for row in carry_out(database, archive_rows()):
            table = archived_from(row)
            self._add_archived(table, view.archived[table.code].standing)
        self.set_aside |= view.set_aside
        self.records_due |= view.records_due
        self.journals.add(view.journal)

    def holds(self, code: str, standing: StoredState) -> bool:
        """Return whether the entry at which a table stood is among the rows."""
        rows = self.rows.get(code, {}).get(standing.length - 1, ())
        return any(row.link == standing.link for row in rows)

    @property
    def codes(self) -> set[str]:
        return {*self.rows, *self.archived, *self.records_due, *self.named}

    @property
    def commits(self) -> int:
        """The number of the last commit that added a row."""
        return max((commit for commit, _ in self.last.values()), default=0)

    def length_after(self, code: str, commits: int) -> int:
        """Return how many entries commits after number `commits` left a table with, 0 if they added none."""
        commit, length = self.last.get(code, (0, 0))
        return length if commit > commits else 0

    def best(self, code: str, wanted: StoredState | None, *, or_longer: bool = False) -> list[Row]:
        """Return the longest chain of a table, or the one that ends where it is `wanted` to end.

        `or_longer` follows that one as far as it leads.
        """
        known = self.rows.get(code, {})
        chains: dict[bytes, _Chain] = {first_link(code): None}
        longest: _Chain = None
        for number in range(len(known)):
            rows = known.get(number, ())
            self.comparisons += len(rows) * len(chains)
            if self.comparisons > _MOST_COMPARISONS:
                break
            chains = {
                row.link: (chain, row)
                for row in rows
                for link, chain in chains.items()
                if row.link == next_link(link, number, row.time, row.body)
            }
            if not chains:
                break
            if wanted is not None and number + 1 == wanted.length and wanted.link in chains:
                if not or_longer:
                    return _rows_of(chains[wanted.link])
                chains = {wanted.link: chains[wanted.link]}
            longest = next(iter(chains.values()))
        return _rows_of(longest)

    def _add(self, row: list[Value]) -> None:
        match row:
            case [None, str(stored), int(number), str(body), int() | None as time, bytes(link), int(commit)]:
                if is_name(code := name_now(stored)):
                    self.rows.setdefault(code, {}).setdefault(number, set()).add(Row(time, body, link))
                    self.last[code] = max(self.last.get(code, (0, 0)), (commit, number + 1))
            case [str(stored)] if is_name(stored):
                self.named.add(name_now(stored))
            case [str(stored), int(), str(), bytes(), int(), int()]:
                code = name_now(stored)
                self.set_aside[code] = set_aside_from([code, *row[1:]])
            case [str(), int(), bytes(), str(), int(), int(), bytes(), _, _, str(), bytes()]:
                columns: list[Any] = row
                self._add_archived(
                    archived_from(columns), StoredState(TablePlace.ARCHIVED, columns[5], columns[6])
                )
            case [str(code), int(ended)] if is_name(code):
                self.records_due[code] = ended
            case [str(journal), int()]:
                self.journals.add(journal)

    def _add_archived(self, table: Stored, standing: StoredState) -> None:
        """Add a row of the archive, which says how the table stood whatever is left of its entries."""
        self.archived.setdefault(table.code, []).append(
            (standing, table.archived or 0, table.game or ArchivedGame("", played=True))
        )
        self._add_rows(table.code, table.rows)

    def _add_rows(self, code: str, rows: Iterable[Row]) -> None:
        for number, row in enumerate(rows):
            self.rows.setdefault(code, {}).setdefault(number, set()).add(row)


@dataclass(frozen=True, slots=True)
class Remains:
    """What can be had of every table, and whether the journal is `damaged`.

    A table that was set aside although this version can read all of it counts as damage.
    """

    damaged: bool = False
    tables: Sequence[Stored] = ()
    commits: int = 0
    journal: str | None = None
    records_due: Mapping[str, int] = field(default_factory=dict)
    shown: Collection[str] = ()  # the tables that SQLite shows


def search_files(data: Path, suffix: str = "") -> Remains:
    """Return what the files of the journal in the folder `data` hold; `suffix` ends the names of copies.

    Raises JournalError if nothing can be read, or the journal is of a newer version or not a journal.
    """
    path, list_path = data / f"{FILE_NAME}{suffix}", data / f"{LIST_NAME}{suffix}"
    try:
        known, log = known_commits(content_of(list_path)), content_of(beside(path, "-wal"))
        traces = Traces()
        try:
            with reading(path) as (database, version):
                if version == 0:  # it is missing, or without its log as before its first checkpoint
                    traces.add_files(content_of(path), log)
                    found_any = traces.rows or known.tells_of_more
                    return _remains_of_pages(known, traces) if found_any else Remains()
                view = view_of(database, version)
                traces.add_shown(database, view)
        except (sqlite3.Error, ValueError, TypeError) as error:
            traces = Traces()
            traces.add_files(content_of(path), log)
            if not traces.rows:
                raise JournalError(
                    "the journal {file} is unreadable ({reason}). Put a backup in its "
                    "place, or choose another --data",
                    file=path,
                    reason=reason_of(error),
                ) from error
            return _remains_of_pages(known, traces)
        if is_copy(view.journal):  # its list and log are of the journal that it replaced
            known, log = KnownCommits(), b""
        foreign = log_is_foreign(path)
        log_intact = foreign or is_intact(log)
        damaged = not log_intact or bool(faults_of(path, view, known))
        behind = log_intact and not foreign and is_only_behind(known, view)
        if damaged or behind:
            traces.add_files(content_of(path), log)
        if behind and traces.commits <= view.commits:
            known = KnownCommits(view.journal, view.commits)
        return Remains(
            damaged
            or traces.commits > view.commits
            or any(table.readable_again for table in view.set_aside.values()),
            _tables(traces, known, view, log_intact=log_intact),
            max(view.commits, known.commits),
            view.journal,
            view.records_due,
            view.standings.keys(),
        )
    except OSError as error:
        raise unusable(path, error) from error


def _remains_of_pages(known: KnownCommits, traces: Traces) -> Remains:
    """Return what there is of a journal of which SQLite shows nothing."""
    journal = known.journal if _about(known, traces) else next(iter(sorted(traces.journals)), None)
    return Remains(True, _tables(traces, known, None), known.commits, journal, traces.records_due)


def _about(known: KnownCommits, traces: Traces) -> bool:
    """Return whether a commit list is about these rows; if it is unknown which journal's they are, it is."""
    if known.journal is None or known.journal in traces.journals or not traces.journals:
        return True
    return any(traces.holds(code, standing) for code, standing in known.tables.items())


def _tables(
    traces: Traces, known: KnownCommits, view: ShownJournal | None, *, log_intact: bool = False
) -> list[Stored]:
    if not _about(known, traces):
        known = KnownCommits()
    commits = 0 if view is None else view.commits
    listed_to = -1 if known.journal is None or known.damaged else known.commits
    # Where neither the list nor SQLite need show all tables, any trace of one may be all that is left of it.
    traced = max(commits, traces.commits) > listed_to and not (log_intact and traces.commits <= commits)
    codes = dict.fromkeys([] if view is None else [*view.archived, *view.in_use])
    codes |= dict.fromkeys(known.tables)
    if view is None or commits <= known.commits:
        codes = {code: None for code in codes if code not in known.gone}
    codes |= dict.fromkeys(sorted(((traces.codes if traced else set()) | known.named) - known.gone))
    aside = [table for code, table in traces.set_aside.items() if _is_aside(code, known, view)]
    for table in aside:
        codes.pop(table.code, None)
    listed = {
        code: standing for code, standing in known.tables.items() if not _is_newer(view, code, known.commits)
    }
    found = [_table(code, listed.get(code), traces, view, traced=traced) for code in codes]
    shown = {} if view is None else view.set_aside
    for table in aside:
        if table.readable_again:
            found.append(Stored(table.code, table.rows, table.entries))
        else:  # what only the pages show of one that was set aside is news
            found.append(table if table.code in shown else replace(table, since=None))
    return found


def _is_newer(view: ShownJournal | None, code: str, commits: int) -> bool:
    """Tell whether SQLite shows a whole table in use that is newer than what a commit list says of it."""
    return view is not None and code in view.in_use and has_changed(view, code, commits)


def _is_aside(code: str, known: KnownCommits, view: ShownJournal | None) -> bool:
    """Return whether a table that was set aside at some time is so still."""
    places = {None if view is None else view.place(code), getattr(known.tables.get(code), "place", None)}
    return code not in known.gone and places <= {None, TablePlace.SET_ASIDE}


def _table(
    code: str, listed: StoredState | None, traces: Traces, view: ShownJournal | None, *, traced: bool
) -> Stored:
    removed = listed is None and view is not None and view.place(code) is None
    if listed is not None and listed.place == TablePlace.SET_ASIDE:
        listed = None
    rows = traces.best(code, _shown_standing(code, view), or_longer=traced)
    if listed is not None and not leads_to(rows, listed):
        rows = traces.best(code, listed, or_longer=traced)
    archived, game = _find_archiving(code, rows, listed, traces, view)
    table = replace(recheck_table(code, rows, archived), rows=rows, game=game)
    later = traces.length_after(code, 0 if view is None else view.commits) if traced else 0
    length = max(len(rows), 0 if listed is None else listed.length, later)
    reached = listed is None or leads_to(rows, listed)
    damaged = table.damage is not None or (removed and not later)
    if listed is None or not reached:
        damaged |= _more(code, len(rows), traces, view)
    reason = f"entry {len(rows)} is damaged or missing"
    if damaged or not rows:
        return replace(table, damage=table.damage or reason, length=length)
    return replace(table, shorter="" if reached and len(rows) == length else reason, length=length)


def _shown_standing(code: str, view: ShownJournal | None) -> StoredState | None:
    """Return where SQLite shows a whole table."""
    if view is None:
        return None
    if (table := view.in_use.get(code)) is not None:
        return table.standing if table.damage is None else None
    return view.archived[code].standing if code in view.archived and code not in view.damaged else None


def _more(code: str, length: int, traces: Traces, view: ShownJournal | None) -> bool:
    """Return whether a table has entries after its first `length` ones, which do not fit to them."""
    if view is not None:
        return code in view.damaged
    in_archive = any(standing.length > length for standing, _, _ in traces.archived.get(code, ()))
    return in_archive or any(number >= length for number in traces.rows.get(code, ()))


def _find_archiving(
    code: str, rows: Sequence[Row], listed: StoredState | None, traces: Traces, view: ShownJournal | None
) -> tuple[int | None, ArchivedGame | None]:
    """Return when a table was archived, and what decides how long it is kept; None if it is in use."""
    copies = traces.archived.get(code, [])
    place = None if listed is None else listed.place
    if view is not None and code not in view.damaged:
        place = view.place(code) or place
    if place is None:
        ends = {standing.link for standing, _, _ in copies}
        place = TablePlace.ARCHIVED if rows and rows[-1].link in ends else TablePlace.IN_USE
    if place != TablePlace.ARCHIVED:
        return None, None
    if not copies:
        return (rows[-1].time or 0) if rows else 0, ArchivedGame(code, played=True)
    _, when, game = max(copies, key=lambda copy: copy[0].length)
    return when, game
