"""How everything at a table changes: what was decided is stored, folded and told, and what follows, too.

From top to bottom: `carry_out` does this for one decision, and `settle` for what has become due by it.
"""

import logging
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, Final, TypeAlias

from msgspec.structs import replace

from engine.pieces import Seat
from protocol.codes import Code
from protocol.messages import ServerMessage
from protocol.settings import Switches
from server.errors import JournalError
from server.monitoring.logs import about
from server.monitoring.tracing import traced_step
from server.net.session import Session
from server.probes import probe
from server.refusal import Refusal
from server.storage.commit_queue import let_others_go_on
from server.storage.entries import (
    MADE,
    MOVE_ENTRIES,
    Answered,
    Clocked,
    EndedByHost,
    Entry,
    Played,
    Returned,
    TookBack,
)
from server.tables.absence.deadlines import RETRY_SECONDS, Due
from server.tables.context import Draw, Moved, TableContext, Then, turn_of
from server.tables.feature import (
    Aloud,
    Delivered,
    Feature,
    Fleeting,
    Happening,
    Letter,
    PlannedPlace,
    PlayerRemoved,
    Shortened,
    SpectatorRemoved,
)
from server.tables.game import game_start, moves
from server.tables.rooms import FOLDING, FOLLOWING, TELLING
from server.tables.seats import seat_admission
from server.tables.state.persistent_state import Rearranged

log = logging.getLogger(__name__)


async def carry_out(
    context: TableContext, happens: Sequence[Happening], answered: Answered | None = None
) -> None:
    """Store what lasts of this, and take all of it in; raises JournalError and changes nothing.

    The request that has made it happen is stored with it as `answered`, so that it is carried out once.
    """
    entries, fleeting = list[Entry](), list[Fleeting]()
    moved = last if happens and isinstance(last := happens[-1], Moved) else None
    for each in happens:
        if isinstance(each, Fleeting):  # to ask for the class of a struct takes three times as long
            fleeting.append(each)
        else:
            entries.append(each)
    if entries:
        if answered is not None:
            entries.append(_at_seat_after(happens, answered))
        if context.is_long:
            await context.shorten()
        state, recorded = context.state, None
        if moved is not None and context.lobby.config.records is not None and not state.study:
            recorded = moved.ended
        storing = context.lobby.journal.append(context.code, state.entry_count, entries, recorded)
        await traced_step("store", storing)
        _take_in(context, entries, moved)
    for what in fleeting:
        happen(context, what)
        if isinstance(what, Shortened) and not context.state.forgotten:
            await context.shorten_or_log()
    if moved is not None and moved.ended is not None:
        await let_others_go_on()  # before the new state is told


def _at_seat_after(happens: Sequence[Happening], answered: Answered) -> Answered:
    """Return the entry for a request at the seat that its player has then."""
    seat = answered.seat
    for each in happens:
        if isinstance(each, Rearranged):
            seat = each.order.index(Seat(seat))
    return replace(answered, seat=seat)


def _take_in(context: TableContext, entries: Sequence[Entry], moved: Moved | None) -> None:
    """Fold stored entries, let clocks and stand-in follow, and note the news for everybody."""
    state, switches, seen = context.state, context.state.switches, False
    kinds = {type(entries[0])} if len(entries) == 1 else set(map(type, entries))  # mostly a move alone
    made = moved is not None or not kinds.isdisjoint(MADE)
    moves = made or TookBack in kinds
    by_plan = moved is not None and isinstance(moved.entry, Played) and moved.entry.planned
    beside = None if made and not by_plan else _beside(context)  # whoever moves knows what that does
    for entry in entries:
        if moved is not None and entry is moved.entry:
            seen |= state.fold_move(moved.entry, moved.happened)
        else:
            seen |= state.fold(entry)
        if isinstance(entry, MOVE_ENTRIES):
            context.news += len(entry.events)
    (course, clock), context.turn = context.turn, turn_of(state)
    course_now, clock_now = context.turn
    given = Clocked in kinds and any(
        isinstance(each, Clocked) and each != context.clocks_read for each in entries
    )
    if course != course_now:
        context.policy.begin()
        context.turn_differs = True
        context.changed(at_once=True)
    elif moves:
        context.policy.turn_began()
        context.turn_differs |= given
        if seen or clock != clock_now:
            context.changed(at_once=True)
    elif seen:
        context.changed()
    else:
        context.is_settled = False
    if beside is not None:
        (planned, alone), (planned_now, alone_now) = beside, _beside(context)
        if course == course_now and not moves:
            _follow_clocks(context, kinds, given=given, replanned=planned != planned_now, seen=seen)
        _tell_what_differs(context, alone, alone_now)
    if state.switches is not switches:
        _follow_switches(context, switches)
    if EndedByHost in kinds:
        log.info("game ended by its host", extra=about(table=context.code))


ToldAlone: TypeAlias = Mapping[tuple[Session, type[Feature]], Sequence[ServerMessage]]


def _beside(context: TableContext) -> tuple[Sequence[PlannedPlace], ToldAlone]:
    """Return the planned moves of this turn, and the private messages of each player here."""
    turn = context.state.turn
    return () if turn is None else context.state.planned(turn), _told_alone(context, TELLING)


def _told_alone(context: TableContext, rooms: Sequence[type[Feature]]) -> ToldAlone:
    return {
        (session, room): context.state.rooms[room].told(seat, "changed")
        for room in rooms
        for seat, session in context.audience.seated.items()
    }


def _tell_what_differs(context: TableContext, before: ToldAlone, now: ToldAlone) -> None:
    for whom, told in now.items():
        if told != before.get(whom):
            context.tell_alone(whom[0], told)


def _follow_clocks(
    context: TableContext, kinds: Set[type[Entry]], *, given: bool, replanned: bool, seen: bool
) -> None:
    """Have the clocks and the stand-in follow what is no move; somebody may have been `given` time."""
    policy = context.policy
    if given:
        context.turn_differs = True
        policy.turn_began()
    elif Clocked in kinds:
        policy.clock_was_saved()
    elif replanned:
        policy.plan_changed()
    elif seen or policy.waits:  # which does not follow turns until something has been planned
        policy.reconsider()


def _follow_switches(context: TableContext, before: Switches) -> None:
    """Have the lobby and the spectators follow what the host has switched on or off."""
    now = context.state.switches
    if now.private != before.private:
        context.lobby.privacy_changed()
    if not now.spectators:
        for spectator in list(context.audience.spectators):
            context.send_away(spectator, Refusal(Code.NO_SPECTATORS, table=context.code))


def happen(context: TableContext, what: Fleeting) -> None:
    """Fold an event that is not stored, and carry out its effect on sessions."""
    if type(what) in FOLDING:
        rooms = [room for room in FOLDING[type(what)] if room in TELLING]
        before = _told_alone(context, rooms)
        if context.state.fold_fleeting(what):
            context.changed()
        _tell_what_differs(context, before, _told_alone(context, rooms))
        context.is_settled = False
    if (effect := _EFFECTS.get(type(what))) is not None:
        effect(context, what)
    elif isinstance(what, Aloud):
        context.audience.broadcast(what.message, to_players=what.to_players)


# What the kernel does when something happens that is not stored.
_EFFECTS: Final[Mapping[type[Fleeting], Callable[[TableContext, Any], None]]] = {
    Letter: TableContext.send_letter,
    Moved: moves.tell,
    PlayerRemoved: seat_admission.send_player_away,
    Rearranged: seat_admission.reseat,
    SpectatorRemoved: seat_admission.send_spectator_away,
    Then: lambda _, then: then.do(),
}


async def settle(context: TableContext) -> None:
    """Carry out everything that a change has made due."""
    if not context.is_settled:
        context.is_settled = True
        if back := context.state.bot_seats & context.audience.seated.keys():
            await _follow(context, [Returned(seat) for seat in sorted(back)])
        moment = context.moment()
        for room in FOLLOWING:
            if follows := context.state.rooms[room].follow(moment):
                await _follow(context, follows)
                moment = context.moment()
    while (draw := context.draw) is not None and game_start.is_complete(context, draw):
        await _begin_drawn_game(context, draw)


async def _follow(context: TableContext, follows: Sequence[Happening]) -> None:
    if not await carry_out_or_log(context, follows):
        probe("what follows from a change is stored later")
        context.deadlines.set(Due.FOLLOW, RETRY_SECONDS)


async def carry_out_or_log(context: TableContext, happens: Sequence[Happening]) -> bool:
    """Carry out work that no client asked for; a failure to store it is logged.

    Return whether it is done.
    """
    try:
        await carry_out(context, happens)
    except JournalError as error:
        probe("what no client asked for cannot be stored")
        context.lobby.counts.journal_failed(error)
        return False
    return True


def follow_again(context: TableContext) -> Sequence[Happening]:
    """Retry the consequences of an earlier change that could not be stored."""
    context.is_settled = False
    return ()


def send_state_late(context: TableContext) -> Sequence[Happening]:
    context.send_state()
    return ()


def note_outcome(context: TableContext, letter: Letter, fault: str | None) -> Sequence[Happening]:
    return [Delivered(letter, fault, context.deadlines.time())]


async def _begin_drawn_game(context: TableContext, draw: Draw) -> None:
    """Begin the game, or answer the request to start it with a refusal."""
    try:
        await carry_out(context, game_start.begin(context, draw))
    except (Refusal, JournalError) as error:
        game_start.refuse(context, draw, error)


async def stop_clock(context: TableContext) -> None:
    """Store how much of its clock, if any, the turn has used; it continues from there."""
    if context.may_move and context.policy.time_taken():
        await carry_out_or_log(context, context.clock_entries())
