"""Mistakes in what is stored, and in what is made of it after a restart."""

import asyncio
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from engine.events import Event
from engine.pieces import Seat
from protocol.absence import ByBot, GameClock
from protocol.events import command_of
from protocol.messages import StartGame
from server.storage import stored_tables
from server.storage.entries import Entry, Played, StoodIn, events_in
from server.storage.records import Records
from server.storage.sqlite import journal as journal_on_disk
from server.tables.game.moves import Moves
from server.tables.state.clocks import Clocks
from server.tables.state.persistent_state import PersistentState
from simulation.broken.making import exchange, mistake, start_with


@mistake("told-before-stored", "sends a move before it is stored", full_disks=2)
def _tell_before_storing() -> None:
    def accept(right: Any) -> Any:
        async def wrong(moves: Moves, entry: Entry, *args: Any, **options: Any) -> None:
            journal, tasks = moves._context.journal, set()

            class Hasty:
                async def append(self, *entries: Any) -> None:
                    tasks.add(asyncio.create_task(journal.append(*entries)))

            moves._context.journal = Hasty()  # type: ignore[assignment]
            try:
                await right(moves, entry, *args, **options)
            finally:
                moves._context.journal = journal
                await asyncio.gather(*tasks, return_exceptions=True)

        return wrong

    exchange(Moves, "accept", accept)


@mistake("last-entry-lost", "forgets each table's last entry when it starts")
def _lose_last_entry() -> None:
    def without_last(state: PersistentState, entries: list[Entry]) -> PersistentState:
        if not isinstance(entries[-1], Played | StoodIn):
            return state
        shorter = PersistentState(entries[:-1], state.chance)
        shorter.entry_count = state.entry_count
        return shorter

    start_with(without_last)


@mistake("synchronous-off", "does not wait for the disk", durable=True, power_cuts=True)
def _do_not_sync() -> None:
    def opened(right: Any) -> Any:
        def wrong(*args: Any, **options: Any) -> Any:
            database = right(*args, **options)
            database.execute("PRAGMA synchronous = OFF")
            return database

        return wrong

    exchange(journal_on_disk, "opened", opened)


@mistake("archived-without-the-last", "loses the last entry of a game in the archive", most_tables=3)
def _archive_without_last_entry() -> None:
    exchange(stored_tables, "packed", lambda right: lambda rows: right(list(rows)[:-1]))


@mistake("drawn-again", "makes the moves again when it starts, and draws other tiles")
def _draw_again() -> None:
    def fold(right: Any) -> Any:
        def wrong(state: PersistentState, entry: Entry) -> None:
            if isinstance(entry, Played | StoodIn):
                happened: Sequence[Event] = events_in(entry)
                if state.game is not None and isinstance(entry, Played):
                    assert not isinstance(entry.move, StartGame)
                    happened = state.game.decided(command_of(Seat(entry.seat), entry.move))
                unseeded = replace(entry, seed=None) if isinstance(entry, Played) else entry
                state.fold_move(unseeded, happened)
            else:
                right(state, entry)

        return wrong

    exchange(PersistentState, "fold", fold)


@mistake("bot-forgotten", "forgets when it starts that a bot plays for a seat", policies=(ByBot(0),))
def _forget_bots() -> None:
    def without_bots(state: PersistentState, _entries: list[Entry]) -> PersistentState:
        state.bot_seats.clear()
        return state

    start_with(without_bots)


@mistake("kept-seat-forgotten", "forgets when it starts that seats are kept for a rematch", played_again=1.0)
def _forget_kept_seats() -> None:
    def without_kept_seats(state: PersistentState, _entries: list[Entry]) -> PersistentState:
        state.players = [None if player is not None and player.kept else player for player in state.players]
        return state

    start_with(without_kept_seats)


@mistake("clock-refilled", "forgets when it starts how much time was used", policies=(GameClock(40),))
def _refill_clocks() -> None:
    def with_full_clocks(state: PersistentState, _entries: list[Entry]) -> PersistentState:
        state.clocks = Clocks(state.absence, len(state.players))
        return state

    start_with(with_full_clocks)


@mistake("records-forgotten", "does not write the records that a kill prevented", kills=6, at_ends=True)
def _forget_records() -> None:
    async def write_missing(_records: Records) -> None:
        pass

    exchange(Records, "write_missing", lambda _right: write_missing)
