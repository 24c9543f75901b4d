"""The rows of a simulated database: what is committed, and what transactions have changed and locked.

A statement sees what is committed when it begins, and what its own transaction has done. It waits for a row
that another one has changed or locked, and is then done again from its beginning.
"""

import enum
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import asyncpg

Row: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[str, Any]  # of a row: its table, and what names it there

_KEYS: Final[dict[str, Callable[[Row], Any]]] = {
    "node": lambda row: row["term"],
    "told": lambda row: (row["term"], row["number"]),
    "entry": lambda row: (row["code"], row["number"]),
} | dict.fromkeys(("game_table", "archive", "set_aside", "record_due"), lambda row: row["code"])
# What refers to a node, and whether it goes with that, or no longer refers to it.
_REFERENCES: Final = {("told", "term"): True, ("game_table", "term"): False, ("game_table", "offered"): False}
_UNIQUE: Final = {"node": ("name",), "told": ("term", "key")}
_UNLOGGED: Final = {"told"}


class Lock(enum.IntEnum):
    """How a row is locked; two locks of different transactions fit if their sum is 3 at most."""

    SHARE = 1  # somebody refers to it
    UPDATE = 2
    DELETE = 3  # or FOR UPDATE


class Blocked(Exception):
    """Another transaction has a lock that is needed."""


def refusal(state: str, text: str, *, table: str | None = None, severity: str = "ERROR") -> Exception:
    """Return the exception that the library makes of an error of PostgreSQL."""
    fields = {"C": state, "M": text, "V": severity, "S": severity, "t": table}
    error: Exception = asyncpg.PostgresError.new(fields)
    return error


class Rows:
    """All rows that are committed; `noted` is called with each change of one as it is committed."""

    def __init__(self, noted: Callable[[str, Row | None, Row | None], None]) -> None:
        self.tables: dict[str, dict[Any, Row]] = {table: {} for table in _KEYS}
        self.locks: dict[Key, dict[Transaction, Lock]] = {}
        self._noted = noted
        self._numbers: dict[str, int] = {}
        self._unflushed: list[dict[Key, Row | None]] = []  # what commits have replaced that may still be lost

    def next_number(self, sequence: str) -> int:
        """Return a number that is given once."""
        self._numbers[sequence] = self._numbers.get(sequence, 0) + 1
        return self._numbers[sequence]

    def commit(self, changes: dict[Key, Row | None], *, synchronous: bool) -> None:
        """Make changes for all to see; in doubt, a crash undoes them if they are not `synchronous`."""
        before = {(table, key): self.tables[table].get(key) for table, key in changes}
        self._replace(changes)
        if synchronous:
            self._unflushed.clear()
        else:
            self._unflushed.append({each: row for each, row in before.items() if each[0] not in _UNLOGGED})
        for (table, key), row in changes.items():
            self._noted(table, before[table, key], row)

    def crash(self, lost: int) -> None:
        """Forget what was in memory alone, and so many of the last commits that no disk has for certain."""
        for table in _UNLOGGED:
            self.tables[table].clear()
        for before in reversed(self._unflushed[len(self._unflushed) - lost :]):
            self._replace(before)
        self._unflushed.clear()

    @property
    def unflushed(self) -> int:
        return len(self._unflushed)

    def _replace(self, changes: dict[Key, Row | None]) -> None:
        for (table, key), row in changes.items():
            if row is None:
                self.tables[table].pop(key, None)
            else:
                self.tables[table][key] = row


class Transaction:
    """Changes that are committed together; `notes` are sent then, each once."""

    def __init__(self, rows: Rows, now: Callable[[], float], started: float, *, synchronous: bool) -> None:
        self.rows = rows
        self.now = now
        self.started = started  # when the database was, by its clock
        self.changes: dict[Key, Row | None] = {}
        self.notes: dict[tuple[str, str], None] = {}
        self.synchronous = synchronous
        self.failed = False
        self._locked: set[Key] = set()

    def attempt(self, statement: Callable[[], Any]) -> Any:
        """Return what a statement returns; if it raises, nothing of it is left but its locks."""
        changes, notes = dict(self.changes), dict(self.notes)
        try:
            return statement()
        except Exception:
            self.changes, self.notes = changes, notes
            raise

    def commit(self) -> None:
        if self.changes:
            self.rows.commit(self.changes, synchronous=self.synchronous)
        self.end()

    def end(self) -> None:
        """Give all locks back."""
        for each in self._locked:
            holders = self.rows.locks[each]
            del holders[self]
            if not holders:
                del self.rows.locks[each]
        self._locked.clear()

    # -- for statements -----------------------------------------------------------------------------

    def get(self, table: str, key: Any) -> Row | None:
        changes = self.changes
        return changes[table, key] if (table, key) in changes else self.rows.tables[table].get(key)

    def all(self, table: str, **values: Any) -> list[Row]:
        """Return the rows of a table that have these values."""
        return [row for row in self._each(table) if all(row[name] == value for name, value in values.items())]

    def _each(self, table: str) -> Iterator[Row]:
        committed = self.rows.tables[table]
        mine = {key: row for (where, key), row in self.changes.items() if where == table}
        for key, row in committed.items():
            if (now := mine.pop(key, row) if mine else row) is not None:
                yield now
        yield from (row for row in mine.values() if row is not None)

    def lock(self, table: str, key: Any, how: Lock = Lock.DELETE) -> None:
        if not self.fits(table, key, how):
            raise Blocked
        holders = self.rows.locks.setdefault((table, key), {})
        holders[self] = max(how, holders.get(self, how))
        self._locked.add((table, key))

    def fits(self, table: str, key: Any, how: Lock = Lock.DELETE) -> bool:
        holders = self.rows.locks.get((table, key), {})
        return all(other is self or held + how <= Lock.DELETE for other, held in holders.items())

    def insert(self, table: str, row: Row) -> None:
        key = _KEYS[table](row)
        self.lock(table, key)
        unique = self._lock_unique(table, row)
        if self.get(table, key) is not None or (unique and self.all(table, **unique)):
            raise refusal("23505", "duplicate key", table=table)
        self._put(table, row, None)

    def _lock_unique(self, table: str, row: Row) -> Row:
        """Lock what no other row may have, beside its key, and return it."""
        values = {column: row[column] for column in _UNIQUE.get(table, ())}
        if None in values.values():
            return {}
        if values:
            self.lock(f"unique {table}", tuple(values.values()))
        return values

    def update(self, table: str, row: Row, **values: Any) -> Row:
        self.lock(table, _KEYS[table](row), Lock.UPDATE)
        new = row | values
        if _KEYS[table](new) != _KEYS[table](row):
            self.delete(table, row)
        self._put(table, new, row)
        return new

    def delete(self, table: str, row: Row) -> None:
        key = _KEYS[table](row)
        self.lock(table, key)
        self._lock_unique(table, row)
        self.changes[table, key] = None
        if table != "node":
            return
        for (other, column), goes_along in _REFERENCES.items():
            for each in self.all(other, **{column: row["term"]}):
                if goes_along:
                    self.delete(other, each)
                else:
                    self.update(other, each, **{column: None})

    def _put(self, table: str, row: Row, before: Row | None) -> None:
        for other, column in _REFERENCES:
            term = row.get(column)
            if other == table and term is not None and (before is None or before[column] != term):
                self.lock("node", term, Lock.SHARE)
                if self.get("node", term) is None:
                    raise refusal("23503", "there is no such node", table=table)
        self.changes[table, _KEYS[table](row)] = row
