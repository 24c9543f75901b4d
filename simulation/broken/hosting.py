"""Mistakes in what hosts and players ask for."""

from typing import Any

from engine.pieces import Seat
from engine.record import recorded
from engine.redaction import snapshot
from protocol.codec import encoded_summaries
from protocol.codes import Code
from protocol.messages import GetRecord, Record
from protocol.snapshot import snapshot_message
from server.net.session import Session
from server.refusal import Refusal
from server.storage.entries import Entry
from server.tables import context
from server.tables.audience import Audience
from server.tables.game.moves import Moves
from server.tables.registry.public_tables import PublicTables
from server.tables.requests import Requests
from server.tables.seats.seat_admission import SeatAdmission
from server.tables.state.persistent_state import PersistentState, Player
from simulation.broken.making import LIVELY, exchange, mistake, start_with


@mistake("pause-forgotten", "forgets when it starts that a game is paused", **LIVELY)
def _forget_pauses() -> None:
    def running(state: PersistentState, _entries: list[Entry]) -> PersistentState:
        state.paused = None
        return state

    start_with(running)


@mistake("settings-forgotten", "forgets when it starts what the host has set", **LIVELY)
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

    start_with(as_opened)


@mistake("bots-seat-forgotten", "forgets when it starts which seats are its own bots'", with_bots=1.0)
def _forget_own_bots() -> None:
    def without_levels(state: PersistentState, _entries: list[Entry]) -> PersistentState:
        for player in state.players:
            if player is not None:
                player.level = None
        return state

    start_with(without_levels)


@mistake("moves-in-a-pause", "takes moves while the game is paused", **LIVELY)
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

    exchange(Moves, "play", play)
    exchange(context.TableContext, "may_move", may_move)


@mistake("removed-still-told", "goes on telling those who were removed from a table", **LIVELY, talk=0.1)
def _tell_those_removed() -> None:
    def send_away(_right: Any) -> Any:
        def wrong(admission: SeatAdmission, session: Session, code: Code) -> None:
            session.send(Refusal(code, table=admission._context.code).message())

        return wrong

    exchange(SeatAdmission, "send_away", send_away)


@mistake(
    "removed-come-back",
    "lets those who were removed from a game come back to their seats",
    **LIVELY,
    played_again=0.0,
)
def _keep_token_of_those_removed() -> None:
    def vacate(right: Any) -> Any:
        async def wrong(admission: SeatAdmission, seat: Seat, player: Player) -> None:
            await right(admission, seat, player)
            if (vacant := admission._context.state.players[seat]) is not None:
                vacant.token_hash = player.token_hash

        return wrong

    exchange(SeatAdmission, "vacate", vacate)


@mistake(
    "ended-game-shown", "shows the wolves of a game that was ended without a result", **LIVELY, may_end=1.0
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

    exchange(context.TableContext, "catch_up", catch_up)


@mistake(
    "ended-game-recorded",
    "sends the record of a game that was ended without a result",
    **LIVELY,
    may_end=1.0,
)
def _send_record_of_ended_games() -> None:
    def send_record(_right: Any) -> Any:
        async def wrong(requests: Requests, session: Session, message: GetRecord) -> None:
            state = requests.context.state
            if state.game is None or state.stage != "over":
                raise Refusal(Code.NOT_OVER)
            session.send(Record(message.id, recorded(state.game.events, state.names).splitlines()))

        return wrong

    exchange(Requests, "send_record", send_record)


@mistake("private-table-listed", "shows private tables in the list", **LIVELY)
def _list_private_tables() -> None:
    def encoded(_right: Any) -> Any:
        return lambda public: encoded_summaries([table.summary() for table in public._tables.values()])

    exchange(PublicTables, "encoded", encoded)


@mistake(
    "quiet-table-disturbed",
    "tells players what spectators say at a quiet table",
    **LIVELY,
    quiet=True,
    talk=0.5,
)
def _disturb_quiet_tables() -> None:
    exchange(Audience, "broadcast_to_spectators", lambda _right: Audience.broadcast)
