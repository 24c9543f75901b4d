"""Stored tables as their owner, and a server at its start, look through them, wherever they are."""

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
from server.storage.names import is_table
from server.storage.operations import Operation, Outcome, claim, move
from server.storage.reasons import Misfit, reason_of
from server.storage.stored_tables import Condition, Stored

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CheckedTable:
    """The result of a close check of a table: its intact moves, and the number of missing entries."""

    code: str
    condition: Condition
    missing: int
    names: tuple[str, ...]
    moves: int
    events: tuple[Event, ...]

    @classmethod
    def of(cls, table: Stored) -> "CheckedTable":
        whole = foldable(table.entries)
        found = contents(whole)
        return cls(
            table.code,
            table.condition if len(whole) == len(table.entries) else Condition.DAMAGED,
            max(table.length, len(table.rows)) - len(whole),
            found.names,
            found.moves,
            tuple(events_of(whole)),
        )


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check: the faults of the journal, and the condition of every table."""

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
    """Return the faults of damaged tables that have not been set aside."""
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


def restore_at_last_move(code: str) -> Operation[Outcome]:
    """Put a damaged table back into play at its last whole move; raises JournalError."""
    found = yield from claim(code)
    whole = [] if found is None else list(foldable(found.entries))
    if found is None or not whole:
        raise JournalError("table {table} cannot be restored at all", table=code)
    return (yield from move(code, found, Stored(code, found.rows[: len(whole)], whole)))


class OwnersTables(ABC):
    """The tables in one place, as they are at each question; raises JournalError if that cannot be used."""

    _place: object  # the file or the database, as it is shown

    def tables(self) -> list[StoredReport]:
        """Return all tables, the latest changed first, and the evening if it is damaged."""
        shown = [table for table in self._reports(None) if is_table(table.code) or table.damaged]
        return sorted(shown, key=lambda table: (-(table.changed or 0), table.code))

    def table(self, code: str) -> StoredReport | None:
        """Return the table with this code, None if there is none."""
        return next(iter(self._reports([code])), None)

    def game(self, code: str) -> tuple[Event, ...]:
        """Return the events of this table's game, hidden kinds included; none if it has not started.

        Raises JournalError if the table is damaged.
        """
        found = self._read(lambda: operations.find(code))
        try:
            whole = [] if found is None or found.since is not None else found.whole_entries
            return replayed_game(whole)
        except ValueError as error:
            raise self._damage_error(f"table {code}: {reason_of(error)}") from error

    def remove(self, codes: Iterable[str]) -> None:
        """Remove all these tables for good; if JournalError is raised, none is removed."""
        gone = list(codes)
        self._change(gone, lambda: operations.remove_anywhere(gone))

    def restore(self, code: str) -> int:
        """Put a damaged table back into play at its last whole move; return that move's number."""
        table = self._change([code], lambda: restore_at_last_move(code))[code]
        return 0 if table is None else contents(table.entries).moves

    @abstractmethod
    def check(self) -> Check:
        """Look at every table closely."""

    def _reports(self, codes: Sequence[str] | None) -> list[StoredReport]:
        return self._read(lambda: operations.describe_tables(codes))

    @abstractmethod
    def _read(self, make: Callable[[], Operation[T]]) -> T:
        """Carry out an operation that only reads."""

    @abstractmethod
    def _change(self, codes: Sequence[str], make: Callable[[], Operation[Outcome]]) -> Outcome:
        """Carry out an operation that changes these tables, all or none."""

    def _damage_error(self, what: str) -> JournalError:
        return JournalError(
            "the journal {file} is damaged: {reason}. See what is intact with palatinus tables check",
            file=self._place,
            reason=what,
        )
