"""All that a journal holds, as values: what moves from one place to another."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace

from engine.events import Event
from engine.game import Game, RandomChance
from protocol.messages import Stage
from server.storage.entries import Entry, Played, StoodIn, events_in
from server.storage.reasons import Misfit
from server.storage.stored_tables import ArchivedTable, SetAside, Stored
from server.storage.table_summary import contents


@dataclass(frozen=True, slots=True)
class House:
    """The tables in use, the archived and the damaged ones, and the games whose records are due."""

    in_use: list[Stored]
    archived: list[Stored]
    set_aside: list[SetAside]
    records_due: list[tuple[str, int]]

    def __len__(self) -> int:
        return len(self.in_use) + len(self.archived) + len(self.set_aside)

    @property
    def damaged(self) -> list[str]:
        """Return the codes of tables that are damaged, and have not been set aside."""
        return [table.code for table in (*self.in_use, *self.archived) if table.damage is not None]


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table in a few words: free seats have empty names; times are seconds since 1970 if known."""

    code: str
    stage: Stage
    archived: bool
    names: tuple[str, ...]
    moves: int
    opened: int | None
    changed: int | None
    damaged: bool = False  # then it is whole up to this number of moves
    lost: bool = False  # nothing of it is left


def described(table: Stored) -> StoredTable:
    """Return a table in a few words."""
    found = contents(table.entries)
    return StoredTable(
        table.code,
        found.stage,
        table.archived is not None,
        found.names,
        found.moves,
        table.rows[0].time if table.rows else None,
        table.rows[-1].time if table.rows else None,
        table.damage is not None,
    )


def described_aside(table: SetAside) -> StoredTable:
    """Return a table that was set aside in a few words."""
    found = table.whole_part
    return replace(described(found), damaged=True, lost=not found.entries)


def described_archived(table: ArchivedTable) -> StoredTable:
    """Return what the archive says of a table."""
    found = table.contents
    return StoredTable(
        table.code,
        found.stage,
        True,
        found.names,
        found.moves,
        table.opened,
        table.changed,
        not table.whole,
    )


def events_of(entries: Iterable[Entry]) -> list[Event]:
    """Return the events of a game, hidden kinds included."""
    return [event for entry in entries if isinstance(entry, Played | StoodIn) for event in events_in(entry)]


def replayed_game(entries: Iterable[Entry]) -> tuple[Event, ...]:
    """Return a game's events after replaying them; raises ValueError, which names no piece."""
    try:
        return tuple(Game(events_of(entries), RandomChance(random.Random())).events)
    except Exception as error:  # whatever the error, no server wrote this; its text may name a hidden piece
        raise Misfit(f"its game makes no sense: {type(error).__name__}") from error
