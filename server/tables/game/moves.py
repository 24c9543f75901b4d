"""A table's game: the moves of players and of the stand-in.

Decide, store, fold, broadcast: what a client receives has been committed to the journal.
"""

import logging
import time

from engine.events import Event, GameEnded
from engine.game import Game
from engine.pieces import Seat
from protocol.codes import Code
from protocol.events import command_of, event_map, move_message
from protocol.messages import NEW, Lay, PlacePiece, Substitute
from server.errors import JournalError
from server.monitoring.logs import about
from server.monitoring.tracing import move_span, span
from server.net.session import Session
from server.probes import probe
from server.refusal import Refusal
from server.storage.entries import Entry, Played, StoodIn
from server.tables.absence.policy import SubstituteMove
from server.tables.context import TableContext
from server.tables.rooms import MOVING

log = logging.getLogger(__name__)


async def play(context: TableContext, session: Session, move: Lay | PlacePiece) -> None:
    """Play a move; its broadcast is the mover's answer."""
    state, policy = context.state, context.policy
    seat = session.player_seat()
    policy.check_time(seat)
    game = state.running_game()
    if state.paused is not None:
        raise Refusal(Code.PAUSED)
    with span("decide"):
        happened = game.decided(command_of(seat, move))
        events = [event_map(event) for event in happened]
    await accept(context, Played(seat, move, events, policy.time_taken()), happened, mover=session)


async def away_too_long(context: TableContext, seat: Seat) -> None:
    context.policy.mark_overdue(seat)
    context.changed()


async def end_turn(context: TableContext, since: float) -> None:
    context.policy.end_turn(since)


async def stand_in(context: TableContext, events: int) -> None:
    """Make the stand-in's move for the turn after this many events, if it is still wanted."""
    policy, game = context.policy, context.state.game
    if game is None or (move := policy.substitute_move(events)) is None:
        return
    kind = "PlacePiece" if move.by == "plan" else "StandIn"
    with move_span(kind, None if context.state.switches.private else context.code):
        await _play_substitute(context, game, move)


async def _play_substitute(context: TableContext, game: Game, move: SubstituteMove) -> None:
    command = move.command.result()
    with span("decide"):
        happened = game.decided(command)
        maps = [event_map(event) for event in happened]
    entry: Played | StoodIn
    by, thought = None, context.policy.time_taken()
    if move.by == "plan":
        planned = move_message(NEW, command)
        entry = Played(command.seat, planned, maps, thought, planned=True)
    else:
        by = None if command.seat in context.state.bots else move.by  # a bot of the server moves for itself
        entry = StoodIn(command.seat, move.by, maps, thought)
    try:
        await accept(context, entry, happened, by=by)
    except JournalError:
        probe("a move of the stand-in cannot be stored")
        raise  # and it falls due again
    if move.by != "plan":  # a plan is not even logged
        log.info("stand-in moved", extra=about(table=context.code, seat=command.seat, by=move.by))


async def save_clock(context: TableContext) -> None:
    """Store how much of its clock the turn has used so far, so that a restart gives nobody extra days."""
    if context.may_move:
        await context.store(*context.clock_entries())
        probe("a long turn's clock is stored")


async def accept(
    context: TableContext,
    entry: Played | StoodIn,
    happened: tuple[Event, ...],
    *,
    mover: Session | None = None,
    by: Substitute | None = None,
) -> None:
    """Store a move, fold it, and broadcast its events: every move goes this way.

    To the session `mover` the broadcast is the answer.
    """
    state, seat = context.state, Seat(entry.seat)
    ended = int(time.time()) if isinstance(happened[-1], GameEnded) else None
    entries: list[Entry] = [entry]
    if isinstance(entry, Played):
        for room in MOVING:
            entries += state.rooms[room].on_move(seat, int(time.time()))
    with span("store"):
        recorded = ended if context.lobby.config.records is not None and not state.study else None
        await context.store_move(*entries, happened=happened, recorded=recorded)
    game = state.game
    assert game is not None  # noqa: S101 - it has at least begun
    context.lobby.counts.moves += 1
    move_id = entry.move.id if isinstance(entry, Played) else None
    time_left = context.policy.time_left()
    with span("tell"):
        context.audience.publish(game, happened, entry.events, mover, move_id, by=by, clock=time_left)
        context.turn_told()
    if ended is not None:
        log.info("game over", extra=about(table=context.code))
        if not state.study:
            context.lobby.game_over(context.code, game, state.names, ended)
