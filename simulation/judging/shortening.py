"""Whether the journal of a table means the same after the entries that no longer count were dropped."""

import random
import time
from collections.abc import Sequence
from typing import Any

from msgspec import structs

from engine.game import RandomChance
from engine.pieces import Seat
from protocol.codec import encode
from server.storage.entries import Entry, LiveEntries
from server.storage.journal import Journal
from server.storage.names import is_table
from server.tables.feature import Moment
from server.tables.state.persistent_state import PersistentState
from simulation.judging.entry_rules import check_entries
from simulation.judging.table_model import slice_of
from simulation.verdict import Finding, Verdict


def check_shortening(tables: set[str], verdict: Verdict) -> None:
    """Have all journals add to `tables` which ones they shorten; what they drop must change nothing."""
    shorten, whole = Journal.shorten, set[str]()

    async def shorten_and_check(self: Journal, code: str, live_entries: LiveEntries) -> int:
        def checked(entries: Sequence[Entry]) -> list[int]:
            live = live_entries(entries)
            if is_table(code) and code not in whole:
                check_entries(code, entries, verdict)  # while they are all there
                whole.add(code)
            if is_table(code) and not make_the_same_table(entries, [entries[at] for at in live]):
                text = "another table is left after its journal is shortened"
                verdict.different.append(Finding(text, code, time.time()))
            return live

        tables.add(code)
        return await shorten(self, code, checked)

    Journal.shorten = shorten_and_check  # type: ignore[method-assign]  # a process has one world


def make_the_same_table(entries: Sequence[Entry], others: Sequence[Entry]) -> bool:
    """Return whether a server that starts with these entries or with the others has the same table."""
    return _facts(entries) == _facts(others)


def is_what_is_stored(state: PersistentState, entries: Sequence[Entry]) -> bool:
    """Return whether a table that a server has in memory is what its entries make."""
    return _facts_of(state) == _facts(entries)


def _facts(entries: Sequence[Entry]) -> list[Any]:
    return _facts_of(PersistentState(entries, RandomChance(random.Random(0))))


def _facts_of(state: PersistentState) -> list[Any]:
    """Return all that lasts of a table: not which study was opened, nor who plays again."""
    clocks, shown = state.clocks, state.table_state("", Moment())
    seats = [structs.replace(each, again=False) for each in shown.seats]
    return [
        encode(structs.replace(shown, seats=seats, studied=None)),
        [] if state.game is None else state.game.events,
        [(each.token_hash, each.answers.stored) for _, each in state.held],
        [
            slice_of(room)
            for room in state.rooms.values()
            if any(issubclass(kind, Entry) for kind in room.own)  # else it forgets all
        ],
        [
            (clocks.left(seat), clocks.allowance(seat), clocks.reserve(seat))
            for seat in map(Seat, range(len(state.players)))
        ],
        (
            state.ready,
            state.bot_seats,
            state.stood_in,
            state.scores,
        ),
    ]
