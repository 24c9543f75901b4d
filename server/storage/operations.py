"""Every operation on stored tables, once for all databases: what it reads, decides, and changes.

An operation is a generator. It yields statements, which a driver carries out in one transaction, and is sent
the rows that were read. What changes tables returns how they are stored then, None for one that is gone.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

from protocol.admin import StoredReport
from server.errors import TableLost
from server.storage.archive_index import ArchivedGame
from server.storage.entries import LiveEntries, contents
from server.storage.reasons import Misfit
from server.storage.stored_tables import (
    KEPT_IN,
    ArchivedTable,
    Everything,
    Stored,
    TablePlace,
    archived_from,
    link_rows,
    listed_from,
    rows_of,
    set_aside_from,
    tables_from,
)

T = TypeVar("T")


class Select(NamedTuple):
    """Read rows of all tables, or of those in `codes`; `rows` says which, as in COLUMNS."""

    rows: str
    codes: Sequence[str] | None = None


class Insert(NamedTuple):
    rows: str
    values: Sequence[tuple[Any, ...]]


class Delete(NamedTuple):
    rows: str
    codes: Sequence[str]


class Claim(NamedTuple):
    """Keep other servers from changing these tables for now; read which of them belong to others.

    That is, those that another server has in use, and those that need a newer one.
    """

    codes: Sequence[str]


Operation: TypeAlias = Generator[Select | Insert | Delete | Claim, Any, T]
Outcome: TypeAlias = Mapping[str, Stored | None]


# -- what only reads ---------------------------------------------------------------------------------


def tables_in_use(codes: Sequence[str] | None = None) -> Operation[list[Stored]]:
    """Return the tables in use, in the order in which they were opened."""
    return tables_from((yield Select("entry", codes)))


def archive_rows(codes: Sequence[str] | None = None) -> Operation[list[tuple[Any, ...]]]:
    """Return the rows of the archive, oldest first."""
    rows: list[tuple[Any, ...]] = yield Select("archive", codes)
    return rows


def archive_list(codes: Sequence[str] | None = None) -> Operation[list[ArchivedTable]]:
    """Return the archive's facts about its tables, oldest first; raises ValueError if they make no sense."""
    return list(map(listed_from, (yield from archive_rows(codes))))


def tables_set_aside(codes: Sequence[str] | None = None) -> Operation[list[Stored]]:
    """Return the tables that were set aside, the latest first."""
    return list(map(set_aside_from, (yield Select("set_aside", codes))))


def describe_tables(codes: Sequence[str] | None = None) -> Operation[list[StoredReport]]:
    """Return all tables, or those of them in `codes`, in a few words; raises ValueError."""
    archived = yield from archive_list(codes)
    in_use = yield from tables_in_use(codes)
    aside = yield from tables_set_aside(codes)
    return [table.report for table in archived] + [_describe(table) for table in in_use + aside]


def _describe(table: Stored) -> StoredReport:
    found, rows = contents(table.entries), table.rows[: len(table.entries)]
    return StoredReport(
        table.code,
        found.stage,
        table.archived is not None,
        found.names,
        found.moves,
        rows[0].time if rows else None,
        rows[-1].time if rows else None,
        damaged=table.damage is not None,
        lost=table.since is not None and not rows,
    )


def codes_set_aside() -> Operation[set[str]]:
    return {code for (code,) in (yield Select("codes set aside"))}


def times(codes: Sequence[str]) -> Operation[dict[str, tuple[int | None, int | None]]]:
    """Return when the first and the last entry of tables were stored, for those that are in use."""
    found = {code: (first, last) for code, first, last in (yield Select("times", codes))}
    return dict.fromkeys(codes, (None, None)) | found


def records_due() -> Operation[list[tuple[str, int]]]:
    """Return the codes and ends of the finished games whose records are not written yet."""
    return [(code, ended) for code, ended in (yield Select("record_due"))]


def find(code: str) -> Operation[Stored | None]:
    """Return a table, wherever it is; None if there is none."""
    if found := tables_from((yield Select("entry", [code]))):
        return found[0]
    if rows := (yield Select("archive", [code])):
        return archived_from(rows[0])
    rows = yield Select("set_aside", [code])
    return set_aside_from(rows[0]) if rows else None


def all_tables(codes: Sequence[str] | None = None) -> Operation[list[Stored]]:
    """Return the tables in use, the archived ones, and those that were set aside."""
    in_use = yield from tables_in_use(codes)
    archived = map(archived_from, (yield from archive_rows(codes)))
    return [*in_use, *archived, *(yield from tables_set_aside(codes))]


def everything() -> Operation[Everything]:
    return Everything((yield from all_tables()), (yield from records_due()))


# -- what changes tables -----------------------------------------------------------------------------


def insert(content: Everything) -> Operation[Outcome]:
    """Store everything where nothing is."""
    yield from _insert(content.tables)
    yield Insert("record_due", content.records_due)
    return {table.code: table for table in content.tables}


def archive(code: str, game: ArchivedGame, gone: Sequence[str], now: int) -> Operation[Outcome]:
    """Move a table into the archive, and remove the tables `gone` from it as far as they are there.

    The table itself may be one of them: it is worth less than all that are there. Raises TableLost or Misfit.
    """
    found = yield from claim(code, *gone)
    intact = _intact(code, found)
    table = None if code in gone else replace(intact, archived=now, game=game)
    gone = [other for (other,) in (yield Select("archived codes", gone))] if gone else []
    if gone:
        yield Delete("archive", gone)
    return {**(yield from move(code, found, table)), **dict.fromkeys(gone)}


def bring_back(code: str) -> Operation[Outcome]:
    """Move an archived table back to those in use; raises TableLost or Misfit."""
    found = yield from claim(code)
    if found is None or found.place is not TablePlace.ARCHIVED:
        raise TableLost("table {code} is not archived, or another server has brought it back", code=code)
    if found.damage is not None:
        raise Misfit(f"archived table {code}: {found.damage}")
    return (yield from move(code, found, replace(found, archived=None, game=None)))


def shorten(code: str, live_entries: LiveEntries) -> Operation[Outcome]:
    """Keep only the entries that `live_entries` names, with a new chain; raises TableLost or Misfit."""
    found = yield from claim(code)
    whole = _intact(code, found)
    live = live_entries(whole.entries)
    rows = link_rows(code, ((whole.rows[at].time, whole.rows[at].body) for at in live))
    return (yield from move(code, found, Stored(code, rows, [whole.entries[at] for at in live])))


def set_aside(code: str, whole: int, reason: str, now: int) -> Operation[Outcome]:
    """Set a table aside, in use or archived, whose first `whole` entries make sense; raises TableLost."""
    found = yield from claim(code)
    found = found or Stored(code, [], [])
    if found.place is TablePlace.SET_ASIDE:
        return {}
    rows, entries = found.rows, found.entries[:whole]
    table = Stored(code, rows, entries, damage=reason, since=now, length=max(found.length, len(rows)))
    return (yield from move(code, found, table))


def restore(code: str, entries: int) -> Operation[Outcome]:
    """Put the first `entries` of a table that was set aside back into use; raises TableLost or Misfit."""
    found = yield from claim(code)
    if found is None or found.place is not TablePlace.SET_ASIDE:
        raise TableLost("another server has just restored table {code}, or removed it", code=code)
    if len(found.entries) < entries:
        raise Misfit(f"table {code} has only {len(found.entries)} whole entries")
    table = Stored(code, found.rows[:entries], found.entries[:entries])
    return (yield from move(code, found, table))


def remove(code: str) -> Operation[Outcome]:
    """Remove a table that is archived or set aside; raises TableLost if it is neither any more."""
    found = yield from claim(code)
    if found is None or found.place is TablePlace.IN_USE:
        raise TableLost("another server has just brought table {code} back, or removed it", code=code)
    return (yield from move(code, found, None))


def is_stored(outcome: Outcome) -> Operation[bool]:
    """Return whether the table that comes first in an outcome is as that says."""
    code = next(iter(outcome))
    yield Claim([code])
    return (yield from find(code)) == outcome[code]


def remove_anywhere(codes: Iterable[str]) -> Operation[Outcome]:
    gone = list(codes)
    for rows in ("entry", "archive", "set_aside"):
        yield Delete(rows, gone)
    return dict.fromkeys(gone)


def record_written(code: str) -> Operation[Outcome]:
    """Store that a game's record has been written; the tables stay as they are."""
    yield Delete("record_due", [code])
    return {}


def claim(code: str, *others: str) -> Operation[Stored | None]:
    """Return a table that this server may change; raises TableLost if another one has it."""
    if code in {taken for (taken,) in (yield Claim([code, *others]))}:
        raise TableLost("another server has taken table {code} up", code=code)
    return (yield from find(code))


def _intact(code: str, found: Stored | None) -> Stored:
    if found is None or found.place is not TablePlace.IN_USE:
        raise TableLost("table {code} has no entries, or another server has taken it up", code=code)
    if found.damage is not None:
        raise Misfit(f"table {code}: {found.damage}")
    return found


def move(code: str, found: Stored | None, table: Stored | None) -> Operation[Outcome]:
    if found is not None:
        yield Delete(KEPT_IN[found.place], [code])
    yield from _insert([] if table is None else [table])
    return {code: table}


def _insert(tables: Iterable[Stored]) -> Operation[None]:
    values: dict[str, list[tuple[Any, ...]]] = {}
    for table in tables:
        rows, added = rows_of(table)
        values.setdefault(rows, []).extend(added)
    for rows, added in values.items():
        yield Insert(rows, added)
