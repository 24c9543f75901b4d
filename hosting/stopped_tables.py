"""The tables of the server that this computer's user hosts, while no program does."""

import random
import time
from collections.abc import Iterable
from pathlib import Path

from client.player.seats import KeptSeat
from client.ui.screens.start import StoppedTable
from client.ui.texts.times import time_since_then
from engine.game import RandomChance
from server.errors import JournalError
from server.storage.sqlite.data_folder import DataFolder
from server.storage.sqlite.journal_file import FILE_NAME
from server.storage.stored_tables import Stored
from server.tables.state.persistent_state import PersistentState


def stopped_tables(data: Path, seats: Iterable[KeptSeat]) -> tuple[StoppedTable, ...]:
    """Return the unfinished games of the journal in `data` in which these seats are, the latest first.

    A table is there once, for the first of its seats. There is none while a server is running.
    """
    wanted: dict[str, KeptSeat] = {}
    for seat in seats:
        if seat.server.startswith("ws:"):  # the start screen hosts without TLS
            wanted.setdefault(seat.table, seat)
    if not wanted:
        return ()
    try:
        with DataFolder(data) as folder:
            stopped_at = max(path.stat().st_mtime for path in data.glob(f"{FILE_NAME}*"))
            stored = folder.stored(list(wanted))
    except (JournalError, OSError):  # there is none, or a server is using it, or says what is wrong with it
        return ()
    when = time_since_then(stopped_at, time.time())
    latest_first = sorted(stored, key=_last_change, reverse=True)
    found = (_stopped(table, wanted[table.code], when) for table in latest_first)
    return tuple(filter(None, found))


def _last_change(table: Stored) -> int:
    return (table.rows[-1].time or 0) if table.rows else 0


def _stopped(table: Stored, kept: KeptSeat, when: str) -> StoppedTable | None:
    """Return how the game stands at a table; None if nobody waits for it to go on, or it is damaged."""
    try:
        state = PersistentState(table.whole_entries, RandomChance(random.Random()))
    except Exception:  # noqa: BLE001 - whatever the error, no server wrote this, and a server sets it aside
        return None
    seat = state.seat_held(kept.proof)
    if seat is None or state.stage == "over" or state.study:
        return None
    others = tuple(state.names[each] for each in sorted(state.people - {seat}))
    if state.stage == "gathering" and not others:
        return None
    return StoppedTable(kept, state.turn_of_game(0, seat), others, when)
