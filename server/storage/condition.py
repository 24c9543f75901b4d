"""What is left of tables: what a check says of each, what can be got out of it, and where it could go on."""

import enum
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.events import Event
from engine.game import Game, RandomChance
from server.errors import JournalError
from server.storage.archive_index import ArchivedGame
from server.storage.entries import Entry
from server.storage.house import events_of
from server.storage.stored_tables import SetAside, Stored, rechecked
from server.storage.table_summary import contents


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
    game: ArchivedGame | None = None  # if it is archived
    since: int | None = None  # when it was set aside, if it was so before

    @property
    def code(self) -> str:
        return self.table.code

    @property
    def moves(self) -> int:
        """The number of its moves that are whole."""
        return contents(self.table.entries).moves

    @classmethod
    def of_set_aside(cls, table: SetAside, *, known: bool = True) -> "Verdict":
        """Return what is left of a table that was set aside before; if that is not `known`, it is news."""
        rows = table.rows[: table.whole]
        found = Stored(table.code, rows, rechecked(table.code, rows).entries)
        condition = Condition.DAMAGED if rows else Condition.LOST
        return cls(found, condition, table.length, table.reason, since=table.since if known else None)


@dataclass(frozen=True, slots=True)
class CheckedTable:
    """What a check has found of a table: how many moves are whole, and how many entries are missing."""

    code: str
    condition: Condition
    archived: bool
    moves: int
    missing: int

    @classmethod
    def of(cls, verdict: Verdict) -> "CheckedTable":
        entries = verdict.table.entries
        condition, whole = verdict.condition, len(foldable(entries))
        if whole < len(entries):
            condition = Condition.DAMAGED
        return cls(
            verdict.code,
            condition,
            verdict.table.archived is not None,
            contents(entries[:whole]).moves,
            verdict.length - whole,
        )


@dataclass(frozen=True, slots=True)
class Check:
    """What a check has found: what is wrong with the journal as a whole, and every table."""

    faults: Sequence[JournalError]
    tables: Sequence[CheckedTable]

    @property
    def whole(self) -> bool:
        return not self.faults and all(table.condition is Condition.WHOLE for table in self.tables)


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What was got out of a table: its whole moves; `complete` if none is missing."""

    code: str
    names: tuple[str, ...]
    events: tuple[Event, ...]
    moves: int
    complete: bool

    @classmethod
    def of(cls, verdict: Verdict) -> "Salvaged":
        entries = foldable(verdict.table.entries)
        found = contents(entries)
        complete = verdict.condition is Condition.WHOLE and len(entries) == len(verdict.table.entries)
        return cls(verdict.code, found.names, tuple(events_of(entries)), found.moves, complete)


def table_faults(codes: Iterable[str]) -> list[JournalError]:
    """Return what to say of tables that are damaged, and have not been set aside."""
    number = len(set(codes))
    return [JournalError("tables are damaged: {number}", number=number)] if number else []


def foldable(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return the entries up to the first one that does not fit the game."""
    game: Game | None = None
    for number, entry in enumerate(entries):
        try:
            events = events_of([entry])
            if game is None and events:
                game = Game(events, RandomChance(random.Random()))
            elif game is not None:
                for event in events:
                    game.fold(event)
        except Exception:  # noqa: BLE001 - whatever the error, no server wrote this
            return entries[:number]
    return entries
