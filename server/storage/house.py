"""All that a journal holds, as values: what moves from one place to another."""

import random
from collections.abc import Iterable
from dataclasses import dataclass

from engine.events import Event
from engine.game import Game, RandomChance
from server.storage.entries import Entry, Played, StoodIn, events_in
from server.storage.reasons import Misfit
from server.storage.stored_tables import SetAside, Stored


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


def events_of(entries: Iterable[Entry]) -> list[Event]:
    """Return the events of a game, hidden kinds included."""
    return [event for entry in entries if isinstance(entry, Played | StoodIn) for event in events_in(entry)]


def replayed_game(entries: Iterable[Entry]) -> tuple[Event, ...]:
    """Return a game's events after replaying them; raises ValueError, which names no piece."""
    try:
        return tuple(Game(events_of(entries), RandomChance(random.Random())).events)
    except Exception as error:  # whatever the error, no server wrote this; its text may name a hidden piece
        raise Misfit(f"its game makes no sense: {type(error).__name__}") from error
