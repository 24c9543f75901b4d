"""Tables as the fold of their journal entries."""

import contextlib
import random
from collections.abc import Iterator, Sequence

from engine.game import RandomChance
from server.errors import TableDamaged
from server.storage.entries import Entry
from server.storage.journal import Journal
from server.tables.state.persistent_state import PersistentState


def chances(seed: int | None) -> Iterator[RandomChance]:
    """Yield a separate generator for each table, so that one table's draws reveal nothing about another's."""
    seeds = random.SystemRandom() if seed is None else random.Random(seed)
    while True:
        yield RandomChance(random.Random(seeds.getrandbits(256)))


async def kept_tables(journal: Journal, chances: Iterator[RandomChance]) -> dict[str, PersistentState]:
    """Return the tables stored by earlier processes, by code; a table that makes no sense is set aside.

    Raises JournalError if the journal cannot be used.
    """
    kept = {}
    for code, entries in (await journal.tables()).items():
        with contextlib.suppress(TableDamaged):
            kept[code] = await folded(journal, code, entries, next(chances))
    return kept


async def folded(
    journal: Journal, code: str, entries: Sequence[Entry], chance: RandomChance
) -> PersistentState:
    """Return the fold of a table's entries; one that makes no sense is set aside, and raises TableDamaged."""
    state = PersistentState((), chance)
    for number, entry in enumerate(entries):
        try:
            state.fold(entry)
        except Exception as error:  # whatever the error, no server wrote this
            # Its text may name a hidden piece, and this one is logged and kept.
            reason = f"entry {number} does not fit the game: {type(error).__name__}"
            await journal.set_aside(code, number, reason)
            raise TableDamaged("table {code} is damaged: {reason}", code=code, reason=reason) from error
    return state


def folded_as_far_as_possible(entries: Sequence[Entry], chance: RandomChance) -> tuple[PersistentState, int]:
    """Return the fold of the entries before the first one that makes no sense, and how many they are."""
    state = PersistentState((), chance)
    for number, entry in enumerate(entries):
        try:
            state.fold(entry)
        except Exception:  # noqa: BLE001 - whatever the error, no server wrote this
            return PersistentState(entries[:number], chance), number
    return state, len(entries)
