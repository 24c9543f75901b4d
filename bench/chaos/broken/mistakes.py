"""What can be wrong with a server: each mistake replaces one function of it before it starts."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from engine.events import Event, SeenEvent
from engine.game import Game, RandomChance
from engine.legal import Legal
from engine.pieces import Seat
from engine.view import Eyes
from protocol.absence import ByBot, GameClock
from protocol.messages import AtTable, Events, Say, StartGame
from protocol.moves import command_of
from server import app
from server.net.session import Session
from server.storage import sqlite_journal, stored_tables
from server.storage.entries import Entry, Played, StoodIn, events_in
from server.storage.journal import Journal
from server.storage.records import Records
from server.tables import audience, context
from server.tables.answers import Answers
from server.tables.clocks import Clocks
from server.tables.lobby import Lobby
from server.tables.moves import Moves
from server.tables.seats import seat_admission
from server.tables.seats.seat_admission import SeatAdmission
from server.tables.state import PersistentState


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake: what the server does wrong, and how that is arranged.

    `plan` is what the games need, beside the usual, to run into it soon.
    """

    wrong: str
    make: Callable[[], None]
    plan: Mapping[str, Any]


MISTAKES: Final[dict[str, Mistake]] = {}


def _mistake(name: str, wrong: str, **plan: object) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Return what enters a function that makes a mistake under its name."""

    def entered(make: Callable[[], None]) -> Callable[[], None]:
        MISTAKES[name] = Mistake(wrong, make, plan)
        return make

    return entered


def _exchange(owner: object, name: str, new: Callable[[Any], Any]) -> None:
    """Replace an attribute by `new` of what it was; raises AttributeError if there is none any more."""
    setattr(owner, name, new(getattr(owner, name)))


def _start_with(change: Callable[[PersistentState, list[Entry]], PersistentState]) -> None:
    """Have the server take something else for what a table's entries say when it starts."""

    def kept_tables(right: Any) -> Any:
        async def wrong(journal: Journal, chances: Iterator[RandomChance]) -> dict[str, PersistentState]:
            states, entries = await right(journal, chances), journal.tables()
            return {code: change(state, entries[code]) for code, state in states.items()}

        return wrong

    _exchange(app, "kept_tables", kept_tables)


# -- what is stored ---------------------------------------------------------------------------------


@_mistake("told-before-stored", "sends a move before it is stored", full_disks=2)
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

    _exchange(Moves, "_accept", accept)


@_mistake("last-entry-lost", "forgets each table's last entry when it starts")
def _lose_last_entry() -> None:
    def without_last(state: PersistentState, entries: list[Entry]) -> PersistentState:
        if not isinstance(entries[-1], Played | StoodIn):
            return state
        shorter = PersistentState(entries[:-1], state.chance)
        shorter.entry_count = state.entry_count
        return shorter

    _start_with(without_last)


@_mistake("synchronous-off", "does not wait for the disk", durable=True, power_cuts=True)
def _do_not_sync() -> None:
    def opened(right: Any) -> Any:
        def wrong(*args: Any, **options: Any) -> Any:
            database = right(*args, **options)
            database.execute("PRAGMA synchronous = OFF")
            return database

        return wrong

    _exchange(sqlite_journal, "opened", opened)


@_mistake("archived-without-the-last", "loses the last entry of a game in the archive", most_tables=3)
def _archive_without_last_entry() -> None:
    _exchange(stored_tables, "packed", lambda right: lambda rows: right(list(rows)[:-1]))


@_mistake("drawn-again", "makes the moves again when it starts, and draws other tiles")
def _draw_again() -> None:
    def fold(right: Any) -> Any:
        def wrong(state: PersistentState, entry: Entry) -> None:
            if isinstance(entry, Played | StoodIn):
                happened: Sequence[Event] = events_in(entry)
                if state.game is not None and isinstance(entry, Played):
                    assert not isinstance(entry.move, StartGame)
                    happened = state.game.decided(command_of(Seat(entry.seat), entry.move))
                state.fold_move(entry, happened)
            else:
                right(state, entry)

        return wrong

    _exchange(PersistentState, "fold", fold)


@_mistake("bot-forgotten", "forgets when it starts that a bot plays for a seat", policies=(ByBot(0),))
def _forget_bots() -> None:
    def without_bots(state: PersistentState, _entries: list[Entry]) -> PersistentState:
        state.bot_seats.clear()
        return state

    _start_with(without_bots)


@_mistake("kept-seat-forgotten", "forgets when it starts that seats are kept for a rematch", played_again=1.0)
def _forget_kept_seats() -> None:
    def without_kept_seats(state: PersistentState, _entries: list[Entry]) -> PersistentState:
        state.players = [None if player is not None and player.kept else player for player in state.players]
        return state

    _start_with(without_kept_seats)


@_mistake("clock-refilled", "forgets when it starts how much time was used", policies=(GameClock(40),))
def _refill_clocks() -> None:
    def with_full_clocks(state: PersistentState, _entries: list[Entry]) -> PersistentState:
        state.clocks = Clocks(state.absence, len(state.players))
        return state

    _start_with(with_full_clocks)


@_mistake("records-forgotten", "does not write the records that a kill prevented", kills=6)
def _forget_records() -> None:
    async def write_missing(_records: Records) -> None:
        pass

    _exchange(Records, "write_missing", lambda _right: write_missing)


# -- who may do what --------------------------------------------------------------------------------


@_mistake("answers-forgotten", "carries out a message that is sent again")
def _forget_answers() -> None:
    _exchange(Answers, "known", lambda _right: lambda _answers, _message: None)


@_mistake("said-twice", "says again what is sent again", talk=0.5)
def _say_twice() -> None:
    def remember(right: Any) -> Any:
        def wrong(answers: Answers, message: AtTable, answer: Any) -> None:
            if not isinstance(message, Say):
                right(answers, message, answer)

        return wrong

    _exchange(Answers, "remember", remember)


@_mistake("old-connection-moves", "takes moves from a connection whose seat was taken over")
def _leave_old_connection_its_seat() -> None:
    def come_back(right: Any) -> Any:
        async def wrong(
            admission: SeatAdmission, session: Session, seat: Seat, *args: Any, **kw: Any
        ) -> None:
            admission._context.audience.seated.pop(seat, None)
            await right(admission, session, seat, *args, **kw)

        return wrong

    _exchange(SeatAdmission, "_come_back", come_back)


@_mistake("any-token", "gives a seat for any token")
def _take_any_token() -> None:
    _exchange(seat_admission, "hash_fits", lambda _right: lambda _given, _held: True)


@_mistake("rematch-opened-twice", "opens a table for each player who wants a rematch", played_again=1.0)
def _open_every_rematch() -> None:
    def table_after(right: Any) -> Any:
        async def wrong(lobby: Lobby, session: Session, code: str, state: PersistentState) -> Any:
            state.next_table = None
            return await right(lobby, session, code, state)

        return wrong

    _exchange(Lobby, "table_after", table_after)


# -- what is sent -----------------------------------------------------------------------------------


def _catch_up_after(change: Callable[[int], int]) -> None:
    """Have the server take another number for the last event that a client has."""

    def catch_up(right: Any) -> Any:
        def wrong(session: Session, game: Game, after: int, clock: int | None) -> None:
            right(session, game, change(after) if after else 0, clock)

        return wrong

    _exchange(context, "catch_up", catch_up)


@_mistake("one-event-too-many", "sends a returning client the last event that it has once more")
def _send_last_again() -> None:
    _catch_up_after(lambda after: max(1, after - 1))


@_mistake("everything-again", "sends everything to a client that lacks some events")
def _send_everything() -> None:
    _catch_up_after(lambda _after: 0)


@_mistake("event-left-out", "leaves an event out when a client catches up")
def _leave_an_event_out() -> None:
    def events_message(right: Any) -> Any:
        def wrong(first: int, events: list[Any], *args: Any, **options: Any) -> Events:
            catching_up = options.keys() == {"clock"}  # a move is told with more
            some = events[1:] if catching_up else events
            message: Events = right(first, some, *args, **options)
            return message

        return wrong

    _exchange(audience, "_events_message", events_message)


@_mistake("wolves-shown", "shows everybody what the wolves are")
def _show_wolves() -> None:
    def redacted(event: Event, _eyes: Eyes) -> SeenEvent:
        return event

    _exchange(audience, "redacted", lambda _right: redacted)


@_mistake("legal-moves-shown", "tells everybody what the player on turn may do")
def _show_legal_moves() -> None:
    def redacted_legal(legal: Legal | None, _eyes: Eyes) -> Legal | None:
        return legal

    _exchange(audience, "redacted_legal", lambda _right: redacted_legal)
