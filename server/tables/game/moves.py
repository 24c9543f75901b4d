"""A table's game: the moves of players and of the stand-in, and what everybody is told of them."""

import logging
import time
from collections.abc import Sequence

from engine.events import Event, GameEnded
from engine.pieces import Seat
from protocol.codes import Code
from protocol.events import command_of, event_map, move_message
from protocol.messages import NEW, Lay, PlacePiece, Substitute
from server.monitoring.logs import about
from server.monitoring.tracing import traced
from server.net.session import Session
from server.probes import probe
from server.refusal import Refusal
from server.storage.commit_queue import let_others_go_on
from server.storage.entries import Played, StoodIn
from server.tables.absence.policy import SubstituteMove
from server.tables.context import Moved, TableContext
from server.tables.feature import Happening
from server.tables.rooms import MOVING

log = logging.getLogger(__name__)


async def play(context: TableContext, session: Session, move: Lay | PlacePiece) -> Sequence[Happening]:
    """Make a player's move; its events are the answer to the player."""
    state, policy = context.state, context.policy
    seat = session.player_seat()
    policy.check_time(seat)
    game = state.running_game()
    if state.paused is not None:
        raise Refusal(Code.PAUSED)
    happened = traced("decide", game.decided)(command_of(seat, move))
    if isinstance(happened[-1], GameEnded):
        await let_others_go_on()
    events = [event_map(event) for event in happened]
    return made(context, Played(seat, move, events, policy.time_taken()), happened, mover=session)


def away_too_long(context: TableContext, seat: Seat) -> Sequence[Happening]:
    context.policy.mark_overdue(seat)
    context.changed()
    return ()


def end_turn(context: TableContext, since: float) -> Sequence[Happening]:
    context.policy.end_turn(since)
    return ()


def stand_in(context: TableContext, move: SubstituteMove) -> Sequence[Happening]:
    """Make the stand-in's move, unless the turn has changed since it was chosen."""
    policy, game = context.policy, context.state.game
    if game is None or not policy.is_wanted(move):
        return ()
    command = move.command.result()
    happened = traced("decide", game.decided)(command)
    maps = [event_map(event) for event in happened]
    thought = policy.time_taken()
    if move.by == "plan":
        planned = move_message(NEW, command)
        return made(context, Played(command.seat, planned, maps, thought, planned=True), happened)
    return made(context, StoodIn(command.seat, move.by, maps, thought), happened)


def save_clock(context: TableContext) -> Sequence[Happening]:
    """Store the time used in the current turn, so that a restart gives nobody extra days."""
    if not context.may_move:
        return ()
    probe("a long turn's clock is stored")
    return context.clock_entries()


def made(
    context: TableContext,
    entry: Played | StoodIn,
    happened: tuple[Event, ...],
    *,
    mover: Session | None = None,
) -> Sequence[Happening]:
    """Return the entries of a decided move, those that rooms store with it, and its events."""
    now = int(time.time())
    happens: list[Happening] = [entry]
    if isinstance(entry, Played):
        for room in MOVING:
            happens += context.state.rooms[room].on_move(Seat(entry.seat), now)
    happens.append(Moved(entry, happened, mover, now if isinstance(happened[-1], GameEnded) else None))
    return happens


def tell(context: TableContext, moved: Moved) -> None:
    """Send everybody the events of a move; to the mover's session they are the answer."""
    state, game, entry = context.state, context.state.game, moved.entry
    assert game is not None  # noqa: S101 - it has at least begun
    context.lobby.counts.moves += 1
    by: Substitute | None = None
    move_id = None
    if isinstance(entry, Played):
        move_id = entry.move.id
    else:  # a plan is not even logged
        log.info("stand-in moved", extra=about(table=context.code, seat=entry.seat, by=entry.by))
        if entry.seat not in state.bots:  # a bot of the server moves for itself
            by = entry.by
    left = context.policy.time_left()
    publish = traced("tell", context.audience.publish)
    publish(game, moved.happened, entry.events, moved.mover, move_id, by=by, clock=left)
    context.turn_told()
    if moved.ended is not None:
        log.info("game over", extra=about(table=context.code))
        if not state.study:
            context.lobby.game_over(context.code, game, state.names, moved.ended)
