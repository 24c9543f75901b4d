"""What can be wrong with a server: each mistake replaces one function of it before it starts."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from engine.draws import Share
from engine.events import Event, SeenEvent
from engine.game import Game, RandomChance
from engine.legal import Legal
from engine.pieces import Seat
from engine.record import recorded
from engine.redaction import snapshot
from engine.view import Eyes
from protocol.absence import ByBot, GameClock
from protocol.codec import encoded_summaries
from protocol.codes import Code
from protocol.messages import AtTable, Events, GetRecord, Record, Say, StartGame
from protocol.moves import command_of
from protocol.snapshot import snapshot_message
from server import app
from server.net.session import Session
from server.refusal import Refusal
from server.storage.entries import Entry, Played, StoodIn, events_in
from server.storage.journal import Journal
from server.storage.records import Records
from server.storage.sqlite import journal as journal_on_disk
from server.storage.sqlite import tables_in_file
from server.tables import audience, context, game_start
from server.tables.answers import Answers
from server.tables.audience import Audience
from server.tables.clocks import Clocks
from server.tables.lobby import Lobby
from server.tables.moves import Moves
from server.tables.seats import seat_admission
from server.tables.seats.seat_admission import SeatAdmission
from server.tables.state import PersistentState, Player
from server.tables.table import Table


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
            states, entries = await right(journal, chances), await journal.tables()
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

    _exchange(Moves, "accept", accept)


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

    _exchange(journal_on_disk, "opened", opened)


@_mistake("archived-without-the-last", "loses the last entry of a game in the archive", most_tables=3)
def _archive_without_last_entry() -> None:
    _exchange(tables_in_file, "packed", lambda right: lambda rows: right(list(rows)[:-1]))


@_mistake("drawn-again", "makes the moves again when it starts, and draws other tiles")
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


# -- what hosts and players ask for ------------------------------------------------------------------


_LIVELY: Final[dict[str, Any]] = {"lively": 1.0}


@_mistake("pause-forgotten", "forgets when it starts that a game is paused", **_LIVELY)
def _forget_pauses() -> None:
    def running(state: PersistentState, _entries: list[Entry]) -> PersistentState:
        state.paused = None
        return state

    _start_with(running)


@_mistake("settings-forgotten", "forgets when it starts what the host has set", **_LIVELY)
def _forget_settings() -> None:
    def as_opened(state: PersistentState, _entries: list[Entry]) -> PersistentState:
        state.title, state.private, state.no_spectators, state.hints, state.quiet = (
            "",
            False,
            False,
            False,
            False,
        )
        return state

    _start_with(as_opened)


@_mistake("bots-seat-forgotten", "forgets when it starts which seats are its own bots'", with_bots=1.0)
def _forget_own_bots() -> None:
    def without_levels(state: PersistentState, _entries: list[Entry]) -> PersistentState:
        for player in state.players:
            if player is not None:
                player.level = None
        return state

    _start_with(without_levels)


@_mistake("moves-in-a-pause", "takes moves while the game is paused", **_LIVELY)
def _take_moves_in_a_pause() -> None:
    def play(right: Any) -> Any:
        async def wrong(moves: Moves, session: Session, move: Any) -> None:
            state = moves._context.state
            paused, state.paused = state.paused, None
            try:
                await right(moves, session, move)
            finally:
                state.paused = paused

        return wrong

    def may_move(_right: Any) -> Any:
        return property(lambda _context: True)

    _exchange(Moves, "play", play)
    _exchange(context.TableContext, "may_move", may_move)


@_mistake("removed-still-told", "goes on telling those who were removed from a table", **_LIVELY, talk=0.1)
def _tell_those_removed() -> None:
    def send_away(_right: Any) -> Any:
        def wrong(admission: SeatAdmission, session: Session, code: Code) -> None:
            session.send(Refusal(code, table=admission._context.code).message())

        return wrong

    _exchange(SeatAdmission, "send_away", send_away)


@_mistake("removed-come-back", "lets those who were removed from a game come back to their seats", **_LIVELY)
def _keep_token_of_those_removed() -> None:
    def vacate(right: Any) -> Any:
        async def wrong(admission: SeatAdmission, seat: Seat, player: Player) -> None:
            await right(admission, seat, player)
            if (vacant := admission._context.state.players[seat]) is not None:
                vacant.token_hash = player.token_hash

        return wrong

    _exchange(SeatAdmission, "vacate", vacate)


@_mistake(
    "ended-game-shown", "shows the wolves of a game that was ended without a result", **_LIVELY, may_end=1.0
)
def _show_ended_games() -> None:
    def catch_up(right: Any) -> Any:
        def wrong(told: context.TableContext, session: Session, after: int) -> None:
            if (game := told.state.game) is None or not told.state.ended:
                right(told, session, after)
                return
            everybody = frozenset(map(Seat, range(game.view.seats)))
            session.send(snapshot_message(snapshot(game.view, everybody), len(game.events), None, None))

        return wrong

    _exchange(context.TableContext, "catch_up", catch_up)


@_mistake(
    "ended-game-recorded",
    "sends the record of a game that was ended without a result",
    **_LIVELY,
    may_end=1.0,
)
def _send_record_of_ended_games() -> None:
    def send_record(_right: Any) -> Any:
        async def wrong(table: Table, session: Session, message: GetRecord) -> None:
            game = table.state.game
            if game is None or table.state.stage != "over":
                raise Refusal(Code.NOT_OVER)
            session.send(Record(message.id, recorded(game.events, table.state.names).splitlines()))

        return wrong

    _exchange(Table, "_send_record", send_record)


@_mistake("private-table-listed", "shows private tables in the list", **_LIVELY)
def _list_private_tables() -> None:
    def encoded_list(_right: Any) -> Any:
        return lambda lobby: encoded_summaries([table.summary() for table in lobby.tables.values()])

    _exchange(Lobby, "encoded_list", encoded_list)


@_mistake("quiet-table-disturbed", "tells players what spectators say at a quiet table", **_LIVELY, talk=0.5)
def _disturb_quiet_tables() -> None:
    _exchange(Audience, "broadcast_to_spectators", lambda _right: Audience.broadcast)


# -- what is sent -----------------------------------------------------------------------------------


def _catch_up_after(change: Callable[[int], int]) -> None:
    """Have the server take another number for the last event that a client has."""

    def catch_up(right: Any) -> Any:
        def wrong(session: Session, game: Game, after: int, *args: Any, **options: Any) -> None:
            right(session, game, change(after) if after else 0, *args, **options)

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


@_mistake("seed-shown", "shows the seed of the draws in place of its hash")
def _show_seed() -> None:
    _exchange(game_start, "commitment_to", lambda _right: lambda seed: seed)


@_mistake("share-left-out", "draws from another share than the one that a client has shown")
def _leave_share_out() -> None:
    def shared_chance(right: Any) -> Any:
        return lambda seed, shares: right(seed, [Share("0" * 64), *shares[1:]])

    _exchange(game_start, "SharedChance", shared_chance)


@_mistake("legal-moves-shown", "tells everybody what the player on turn may do")
def _show_legal_moves() -> None:
    def redacted_legal(legal: Legal | None, _eyes: Eyes) -> Legal | None:
        return legal

    _exchange(audience, "redacted_legal", lambda _right: redacted_legal)
