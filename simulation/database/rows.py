"""The rows of a simulated database, in SQLite: what is committed, and what transactions change and lock.

A statement sees what is committed when it begins, and what its own transaction has done. It waits for a row
that another one has changed or locked, and is then done again from its beginning. Triggers take note of what
it changes, and all of that is undone at its end; it is done for good when the transaction is committed.
"""

import enum
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import asyncpg

from server.storage.entries import JOURNAL_VERSION
from server.storage.postgresql import schema

Row: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[str, Any]  # of a row: its table, and what names it there
Answer: TypeAlias = list[tuple[Any, ...]]

_WORDS: Final = {  # of the product's schema, as patterns, and SQLite's
    r"CREATE FUNCTION.*?END\n\$function\$;": "",
    r"\bUNLOGGED ": "",
    r"(CREATE TABLE (\w+)[^;]*?)GENERATED ALWAYS AS IDENTITY": r"\1DEFAULT (next_number('\2'))",
    r"DEFAULT (\w+\(\))": r"DEFAULT (\1)",
    r"(needs integer NOT NULL DEFAULT) \d+": rf"\1 {JOURNAL_VERSION}",  # as the product then sets it
}
_TABLES: Final = "FROM sqlite_master WHERE type = 'table'"
_UNLOGGED: Final = {"told"}
_UNIQUE: Final = """
SELECT own.name FROM pragma_index_list(?) AS each, pragma_index_info(each.name) AS own WHERE origin = 'u'
"""


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


class _Table(NamedTuple):
    """A table, whose key are its first columns; `unique` is what no other row may have besides."""

    columns: tuple[str, ...]
    keys: tuple[str, ...]
    unique: tuple[str, ...]


class Rows:
    """All rows that are committed; `noted` is called with each change of one as it is committed."""

    def __init__(self, noted: Callable[[str, Row | None, Row | None], None]) -> None:
        self.database = sqlite3.connect(":memory:", isolation_level=None)
        self.tables: dict[str, _Table] = {}
        self.locks: dict[Key, dict[Transaction, Lock]] = {}
        self.changing: Transaction | None = None  # whose statement is being done
        self.numbers: Counter[str] = Counter()  # how many each table has given
        self.drawn: set[str] = set()  # tables that have given one to the row that comes just now
        self.unflushed: list[dict[Key, Row | None]] = []  # what commits have replaced that may still be lost
        self._noted = noted
        self.define("next_number", lambda table: self.numbers[table] + (table not in self.drawn))
        self.define("gen_random_uuid", lambda: "")
        self.define("clock_timestamp", lambda: self.changing and self.changing.now())
        for tell in (Transaction.note, Transaction.refer):
            self.define(tell.__name__, partial(self._tell, tell))
        self._make_tables()

    def define(self, name: str, function: Callable[..., Any]) -> None:
        """Have SQLite know a function."""
        self.database.create_function(name, -1, function)

    def _tell(self, tell: Callable[..., None], *values: Any) -> None:
        if self.changing is not None:
            tell(self.changing, *values)

    def _make_tables(self) -> None:
        """Make the product's tables, and triggers that tell what happens to their rows."""
        text, run = "".join(schema._STEPS), self.database.execute
        for pattern, words in _WORDS.items():
            text = re.sub(pattern, words, text, flags=re.DOTALL)
        self.database.executescript(text)
        run("UPDATE journal SET version = ?", [JOURNAL_VERSION])
        run(f"CREATE VIEW pg_class AS SELECT name AS relname, 1 AS relnamespace, 'r' AS relkind {_TABLES}")
        for (name,) in run(f"SELECT name {_TABLES}").fetchall():
            about = run(f"PRAGMA table_info({name})").fetchall()
            columns = tuple(column for _, column, *_ in about)
            keys = tuple(column for _, column, *_, key in about if key)
            self.tables[name] = _Table(columns, keys, tuple(column for (column,) in run(_UNIQUE, [name])))
            old, new = (", ".join(f"{row}.{column}" for column in columns) for row in ("OLD", "NEW"))
            for what, when, values in (
                ("comes", "BEFORE INSERT", new),
                ("has come", "AFTER INSERT", new),
                ("changes", "AFTER UPDATE", f"{old}, {new}"),
                ("goes", "AFTER DELETE", old),
            ):
                self._trigger(f"{when} ON {name}", f"SELECT note('{what}', '{name}', {values})")
            for _, _, _, own, _, _, going, _ in run(f"PRAGMA foreign_key_list({name})").fetchall():
                there = f"EXISTS (SELECT 1 FROM node WHERE node.term = NEW.{own})"
                refers = f"SELECT refer('{name}', NEW.{own}, {there})"
                goes = f"DELETE FROM {name}" if going == "CASCADE" else f"UPDATE {name} SET {own} = NULL"
                self._trigger(f"AFTER INSERT ON {name}", refers)
                self._trigger(f"AFTER UPDATE ON {name} WHEN NEW.{own} IS NOT OLD.{own}", refers)
                self._trigger("AFTER DELETE ON node WHEN clock_timestamp()", f"{goes} WHERE {own} = OLD.term")

    def _trigger(self, when: str, do: str) -> None:
        self.database.execute(f'CREATE TRIGGER "{when}: {do}" {when} BEGIN {do}; END')

    def all(self, table: str, **values: Any) -> list[Row]:
        """Return the rows of a table that have these values, between statements the committed ones."""
        chosen = "".join(f" AND {column} = ?" for column in values)
        found = self.database.execute(f"SELECT * FROM {table} WHERE true{chosen}", [*values.values()])
        return [dict(zip(self.tables[table].columns, row, strict=True)) for row in found]

    def commit(self, changes: Mapping[Key, Row | None], *, synchronous: bool) -> None:
        """Make changes for all to see; in doubt, a crash undoes them if they are not `synchronous`."""
        before = {
            (table, key): next(
                iter(self.all(table, **dict(zip(self.tables[table].keys, key, strict=True)))), None
            )
            for table, key in changes
        }
        self.replace(changes)
        if synchronous:
            self.unflushed.clear()
        else:
            self.unflushed.append({each: row for each, row in before.items() if each[0] not in _UNLOGGED})
        for (table, key), row in changes.items():
            self._noted(table, before[table, key], row)

    def crash(self, lost: int) -> None:
        """Forget what was in memory alone, and so many of the last commits that no disk has for certain."""
        for table in _UNLOGGED:
            self.database.execute(f"DELETE FROM {table}")
        for before in reversed(self.unflushed[len(self.unflushed) - lost :]):
            self.replace(before)
        self.unflushed.clear()

    def replace(self, changes: Mapping[Key, Row | None]) -> None:
        """Have rows be as these changes say."""
        for (name, key), row in sorted(changes.items(), key=lambda change: change[1] is not None):
            table = self.tables[name]
            if row is None:
                chosen = " AND ".join(f"{column} = ?" for column in table.keys)
                self.database.execute(f"DELETE FROM {name} WHERE {chosen}", key)
            else:
                new = ", ".join(f"{column} = excluded.{column}" for column in table.columns)
                insert = f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})"
                keys = ", ".join(table.keys)
                self.database.execute(f"{insert} ON CONFLICT ({keys}) DO UPDATE SET {new}", [*row.values()])


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
        self.arguments: Sequence[Any] = ()  # of the statement that is being done
        self._locked: set[Key] = set()
        self._refused: Exception | None = None  # why that is given up

    def attempt(self, statement: Callable[[], Answer]) -> Answer:
        """Return what a statement returns; if it raises, nothing of it is left but its locks."""
        rows, changes, notes = self.rows, dict(self.changes), dict(self.notes)
        rows.database.execute("BEGIN")
        rows.replace(changes)
        rows.changing, self._refused = self, None
        rows.drawn.clear()
        try:
            return statement()
        except Exception as error:
            self.changes, self.notes = changes, notes
            if self._refused not in {None, error}:
                raise self._refused from error
            if isinstance(error, sqlite3.IntegrityError):
                table = str(error).rpartition(": ")[2].partition(".")[0]
                raise refusal("23505", "duplicate key", table=table) from error
            raise
        finally:
            rows.changing = None
            rows.database.execute("ROLLBACK")

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

    def lock(self, table: str, key: Any, how: Lock = Lock.DELETE) -> None:
        if not self.fits(table, key, how):
            self._refuse(Blocked())
        holders = self.rows.locks.setdefault((table, key), {})
        holders[self] = max(how, holders.get(self, how))
        self._locked.add((table, key))

    def fits(self, table: str, key: Any, how: Lock = Lock.DELETE) -> bool:
        holders = self.rows.locks.get((table, key), {})
        return all(other is self or held + how <= Lock.DELETE for other, held in holders.items())

    def _refuse(self, error: Exception) -> None:
        self._refused = error  # SQLite says only that a function has raised something
        raise error

    # -- what triggers tell -------------------------------------------------------------------------

    def note(self, what: str, name: str, *values: Any) -> None:
        """Lock a row, and note that it has come, changes or goes; `values` are the old ones and the new."""
        table = self.rows.tables[name]
        new = values[-len(table.columns) :]
        before, key = values[: len(table.keys)], new[: len(table.keys)]
        row = dict(zip(table.columns, new, strict=True))
        unique = tuple(row[column] for column in table.unique)
        if what == "comes":
            self.rows.numbers[name] += 1
            self.rows.drawn.add(name)
        else:
            self.rows.drawn.discard(name)
        whole = what != "changes" or before != key
        self.lock(name, before, Lock.DELETE if whole else Lock.UPDATE)
        if whole and unique and None not in unique:
            self.lock(f"unique {name}", unique)
        if what == "comes":
            return
        self.changes[name, before] = None
        if what != "goes":
            self.changes[name, key] = row

    def refer(self, table: str, term: int | None, there: bool) -> None:
        """Keep a node that a row refers to from going."""
        if term is not None:
            self.lock("node", (term,), Lock.SHARE)
            if not there:
                self._refuse(refusal("23503", "there is no such node", table=table))
