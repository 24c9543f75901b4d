"""Stored tables as their owner, and a server at its start, look through them, wherever they are."""

import enum
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from engine.events import Event
from engine.game import Game, RandomChance
from protocol.admin import StoredReport
from server.errors import JournalError
from server.storage import operations
from server.storage.entries import Entry, contents, events_of
from server.storage.operations import Operation, Outcome, claimed, moved
from server.storage.reasons import Misfit, reason_of
from server.storage.stored_tables import ArchivedTable, SetAside, Stored, Table

T = TypeVar("T")


class Condition(enum.Enum):
    """What is left of a table: all, all but its end, a part that cannot be played on, or nothing."""

    WHOLE = "whole"
    SHORTER = "shorter"
    DAMAGED = "damaged"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is left of a table.

    `length` is how many entries it is known to have had, and `reason` what is wrong with it if anything is.
    """

    table: Stored
    condition: Condition
    length: int
    reason: str = ""
    since: int | None = None  # when it was set aside, if it was so before

    @property
    def code(self) -> str:
        return self.table.code

    @classmethod
    def of(cls, table: Table) -> "Verdict":
        """Return what is left of a table by its own rows alone."""
        if isinstance(table, SetAside):
            condition = Condition.DAMAGED if table.whole else Condition.LOST
            return cls(table.whole_part, condition, table.length, table.reason, table.since)
        if table.damage is None:
            return cls(table, Condition.WHOLE, len(table.rows))
        condition = Condition.DAMAGED if table.entries else Condition.LOST
        return cls(table, condition, max(table.length, len(table.rows)), table.damage)


@dataclass(frozen=True, slots=True)
class CheckedTable:
    """What a close look has found of a table: its whole moves, and how many entries are missing."""

    code: str
    condition: Condition
    missing: int
    names: tuple[str, ...]
    moves: int
    events: tuple[Event, ...]

    @classmethod
    def of(cls, verdict: Verdict) -> "CheckedTable":
        whole = foldable(verdict.table.entries)
        found = contents(whole)
        return cls(
            verdict.code,
            verdict.condition if len(whole) == len(verdict.table.entries) else Condition.DAMAGED,
            verdict.length - len(whole),
            found.names,
            found.moves,
            tuple(events_of(whole)),
        )


@dataclass(frozen=True, slots=True)
class Check:
    """What a check has found: what is wrong with the journal as a whole, and every table."""

    faults: Sequence[JournalError]
    tables: Sequence[CheckedTable]

    @property
    def whole(self) -> bool:
        return not self.faults and all(table.condition is Condition.WHOLE for table in self.tables)


def replayed_game(entries: Iterable[Entry]) -> tuple[Event, ...]:
    """Return a game's events after replaying them; raises ValueError, which names no piece."""
    try:
        return tuple(Game(events_of(entries), RandomChance(random.Random())).events)
    except Exception as error:  # whatever the error, no server wrote this; its text may name a hidden piece
        raise Misfit(f"its game makes no sense: {type(error).__name__}") from error


def table_faults(codes: Iterable[str]) -> list[JournalError]:
    """Return what to say of tables that are damaged, and have not been set aside."""
    number = len(set(codes))
    return [JournalError("tables are damaged: {number}", number=number)] if number else []


def foldable(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return the entries up to the first one that does not fit the game."""
    game: Game | None = None
    for number, entry in enumerate(entries):
        try:
            events = list(events_of([entry]))
            if game is None and events:
                game = Game(events, RandomChance(random.Random()))
            elif game is not None:
                for event in events:
                    game.fold(event)
        except Exception:  # noqa: BLE001 - whatever the error, no server wrote this
            return entries[:number]
    return entries


def describe_stored(table: Stored, *, set_aside: bool = False) -> StoredReport:
    """Return a table in a few words; of one that was `set_aside`, `table` is the whole part."""
    found, rows = contents(table.entries), table.rows
    return StoredReport(
        table.code,
        found.stage,
        table.archived is not None,
        found.names,
        found.moves,
        rows[0].time if rows else None,
        rows[-1].time if rows else None,
        damaged=set_aside or table.damage is not None,
        lost=set_aside and not table.entries,
    )


def describe_archived(table: ArchivedTable) -> StoredReport:
    found, damaged = table.contents, not table.whole
    return StoredReport(
        table.code, found.stage, True, found.names, found.moves, table.opened, table.changed, damaged
    )


def describe_tables(codes: Sequence[str] | None = None) -> Operation[list[StoredReport]]:
    """Return all tables, or those of them in `codes`, in a few words; raises ValueError."""
    return [
        *map(describe_archived, (yield from operations.archive_list(codes))),
        *map(describe_stored, (yield from operations.tables_in_use(codes))),
        *(
            describe_stored(table.whole_part, set_aside=True)
            for table in (yield from operations.tables_set_aside(codes))
        ),
    ]


def restore_at_last_move(code: str) -> Operation[Outcome]:
    """Put a damaged table back into play at its last whole move; raises JournalError."""
    found = yield from claimed(code)
    table = found.whole_part if isinstance(found, SetAside) else found
    whole = [] if table is None else list(foldable(table.entries))
    if table is None or not whole:
        raise JournalError("table {table} cannot be restored at all", table=code)
    return (yield from moved(code, found, Stored(code, table.rows[: len(whole)], whole)))


class OwnersTables(ABC):
    """The tables in one place, as they are at each question; raises JournalError if that cannot be used."""

    def tables(self) -> list[StoredReport]:
        """Return all tables, the latest changed first."""
        return sorted(self._listed(None), key=lambda table: (-(table.changed or 0), table.code))

    def table(self, code: str) -> StoredReport | None:
        """Return the table with this code, None if there is none."""
        return next(iter(self._listed([code])), None)

    def game(self, code: str) -> tuple[Event, ...]:
        """Return the events of this table's game, hidden kinds included; none if it has not started.

        Raises JournalError if the table is damaged.
        """
        found = self._read(lambda: operations.find(code))
        try:
            return replayed_game(found.whole_entries) if isinstance(found, Stored) else ()
        except ValueError as error:
            raise self._damaged(f"table {code}: {reason_of(error)}") from error

    def remove(self, codes: Iterable[str]) -> None:
        """Remove all these tables for good; if JournalError is raised, none is removed."""
        gone = list(codes)
        self._change(gone, lambda: operations.remove_anywhere(gone))

    def restore(self, code: str) -> int:
        """Put a damaged table back into play at its last whole move; return that move's number."""
        table = self._change([code], lambda: restore_at_last_move(code))[code]
        return contents(table.entries).moves if isinstance(table, Stored) else 0

    @abstractmethod
    def check(self) -> Check:
        """Look at every table closely."""

    def _listed(self, codes: Sequence[str] | None) -> list[StoredReport]:
        return self._read(lambda: describe_tables(codes))

    @abstractmethod
    def _read(self, make: Callable[[], Operation[T]]) -> T:
        """Carry out an operation that only reads."""

    @abstractmethod
    def _change(self, codes: Sequence[str], make: Callable[[], Operation[Outcome]]) -> Outcome:
        """Carry out an operation that changes these tables, all or none."""

    @property
    @abstractmethod
    def _place(self) -> object:
        """The file or the database, as it is shown."""

    def _damaged(self, what: str) -> JournalError:
        return JournalError(
            "the journal {file} is damaged: {reason}. See what is intact with palatinus tables check",
            file=self._place,
            reason=what,
        )
