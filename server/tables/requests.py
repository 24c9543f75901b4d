"""Requests from sessions at a table: who may make them, which function decides on each, and the answers."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from engine.errors import IllegalCommand
from engine.pieces import People, Seat
from engine.record import recorded
from protocol import messages
from protocol.codes import Code
from protocol.messages import MOVES
from server.net.session import Session
from server.probes import probe
from server.refusal import Refusal
from server.storage.entries import Answered, PeopleChosen, SaidReady
from server.tables.absence.deadlines import RETRY_SECONDS, Due
from server.tables.change import carry_out, happen
from server.tables.context import TableContext, Then
from server.tables.feature import Access, Feature, Fleeting, GoesOn, Happening, Letter, Opening, Overheard
from server.tables.game import game_start, moves
from server.tables.rooms import DECIDING
from server.tables.seats import seat_admission
from server.tables.state.answers import Answer, digest


class Handling(NamedTuple):
    """Which function decides on a request, and who may make it when."""

    by: Callable[..., Sequence[Happening]]
    access: Access = Access(of_spectators=True)


async def answer(context: TableContext, session: Session, message: messages.AtTable) -> None:
    """Carry out the session's request and answer it; raises Refusal or JournalError."""
    _check_here(context, session)
    state = context.state
    player = None if session.seat is None else state.players[session.seat]
    if player is not None and (known := player.answers.find(message)) is not None:
        session.send(known)  # whoever has the table now: that was stored
        return
    context.check_lease()
    try:
        if isinstance(message, MOVES):
            happens = await moves.play(context, session, message)
            await carry_out(context, happens)  # whose fold remembers the answer
            return
        await _do(context, session, message)
        context.tell()
        if isinstance(message, messages.StartGame):  # which is answered when the game begins
            return
        answer: Answer = messages.Done(message.id)
    except Refusal as refusal:
        for each in refusal.happens:
            happen(context, each)
        answer = refusal.message(message.id)
    except IllegalCommand as error:
        answer = messages.Refused(error.fault, str(error), message.id, error.rule, about=error.about or None)
    player = None if session.seat is None else state.players[session.seat]  # it may be another seat now
    if player is not None and not isinstance(message, messages.Sync | messages.Leave):
        player.answers.remember(message, answer)
    session.send(answer)


async def _do(context: TableContext, session: Session, message: messages.BesideMoves) -> None:
    """Carry out a request, if its sender may make it now."""
    answered = _as_stored(session, message)
    if (deciding := DECIDING.get(type(message))) is None:
        by, access = HANDLERS[type(message)]
        _check_access(context, session, access)
        await carry_out(context, by(context, session, message), answered)
        return
    kind, access = deciding
    _check_access(context, session, access)
    room, seat = context.state.rooms[kind], session.seat
    known = room.told(seat, "changed")
    asker = context.audience.spectators[session] if seat is None else seat
    if happens := room.decide(asker, message, context.moment()):
        happens = [await _caused_by(context, session, each, answered) for each in happens]
        if access.is_remark:
            context.lobby.rates.count_remark(session, context.code)
        await carry_out(context, happens, answered)
    if room.told(seat, "changed") == known:  # or else it has been told already
        context.tell_alone(session, known)


def _as_stored(session: Session, message: messages.BesideMoves) -> Answered | None:
    """Return what is stored of the request; None if nobody could repeat it, or its move is stored."""
    if session.seat is None or isinstance(message, messages.Leave | messages.StartGame):
        return None
    return Answered(session.seat, [(message.id, digest(message))])


async def _caused_by(
    context: TableContext, session: Session, what: Happening, answered: Answered | None
) -> Happening:
    """Return what happens because the session has asked for it; raises Refusal or JournalError."""
    match what:
        case Letter():
            return context.post.caused_by(session, what)
        case Overheard(text):
            return Then(partial(context.lobby.said_at_table, session, text))
        case Opening():
            return await _open_table(context, session, what, answered)
    return what


async def _open_table(
    context: TableContext, session: Session, opening: Opening, answered: Answered | None
) -> Fleeting:
    """Open another table for a session, with which the request is stored; return what happens here then."""
    await context.shorten_if_long()
    entries = [] if answered is None else [answered]
    beside = context.code, context.state.entry_count, entries
    code = await context.lobby.open_beside(session, opening, beside)
    for entry in entries:
        context.state.fold(entry)
    context.changed(session)
    return opening.then(code)


async def go_on(context: TableContext, session: Session, message: messages.Seating) -> None:
    """Move the session's player to their next table, which is opened if necessary.

    The lock is held until then: nothing at this table may reach a session that is already at the next.
    """
    _check_here(context, session)
    state, seat = context.state, session.player_seat()
    kind, access = DECIDING[type(message)]
    _check_access(context, session, access)
    (goes_on,) = state.rooms[kind].decide(seat, message, context.moment())
    assert isinstance(goes_on, GoesOn)  # noqa: S101 - that is what it asked for
    await context.shorten_if_long()
    next_table = await context.lobby.table_after(session, context.code, state, goes_on)
    if next_table.code != goes_on.known:
        state.fold(goes_on.link(next_table.code))  # which the lobby has stored with the new table
        context.changed()
    player = state.players[seat]
    assert player is not None  # noqa: S101 - seats are given up only before a game
    await next_table.arrive(session, message.id, replace(player, standing=state.standing(seat)))
    if context.audience.seated.get(seat) is session:
        del context.audience.seated[seat]
    happen(context, goes_on)


async def send_record(context: TableContext, session: Session, message: messages.GetRecord) -> None:
    """Send the session the record of the finished game."""
    _check_here(context, session)
    context.state.check_finished()
    if context.record is None and (game := context.state.game) is not None:
        context.record = recorded(game.events, context.state.names).splitlines()
    session.send(messages.Record(message.id, context.record or []))


def _check_here(context: TableContext, session: Session) -> None:
    if session.table is not context.table:  # it left, or was taken over, while the message waited
        raise Refusal(Code.LEFT_THE_TABLE)


def _check_access(context: TableContext, session: Session, access: Access) -> None:
    """Raise Refusal unless the session may make such a request now."""
    state = context.state
    if state.of_evening and not access.at_evening:
        raise Refusal(Code.OF_THE_EVENING)
    if not access.of_spectators:
        session.player_seat()
    if access.of_host and session.seat != state.host:
        raise Refusal(Code.NOT_THE_HOST)
    if access.before_game:
        state.check_gathering()


def fall_due(context: TableContext, about: tuple[type[Feature], Seat]) -> Sequence[Happening]:
    """Return the events due in a room at a seat; while the lease has lapsed, try again later."""
    kind, seat = about
    context.room_due.pop(about, None)
    if context.lobby.journal.lapsed:
        probe("what is due waits for the lease")
        context.deadlines.set(Due.ROOM, RETRY_SECONDS, about)
        context.room_due[about] = -math.inf  # none comes earlier
        return ()
    return context.state.rooms[kind].fall_due(seat, context.moment())


def _synchronize(context: TableContext, session: Session, message: messages.Sync) -> Sequence[Happening]:
    return [Then(partial(context.synchronize, session, message.after, "asks"))]


def _say_ready(context: TableContext, session: Session, message: messages.SayReady) -> Sequence[Happening]:
    own, state = session.player_seat(), context.state
    if own in state.programs or (own in state.ready) == message.on:
        return ()
    return [SaidReady(own, message.on)]


def _change_seat(
    context: TableContext, session: Session, message: messages.ChangeSeat
) -> Sequence[Happening]:
    own, wanted, state = session.player_seat(), message.seat, context.state
    state.check_seat(wanted)
    if wanted == own:
        raise Refusal(Code.NOT_YOURSELF)
    if not state.free:
        raise Refusal(Code.NO_FREE_SEAT)
    seat_admission.choose_seat(wanted, state.free)
    order = [Seat(seat) for seat in range(len(state.players))]
    order[own], order[wanted] = Seat(wanted), own
    return state.rearranged(order)


def _choose_people(
    context: TableContext, session: Session, message: messages.ChoosePeople
) -> Sequence[Happening]:
    """Give the player a people that nobody else has chosen, or any that is left."""
    own, players = session.player_seat(), context.state.players
    wanted = None if message.people is None else People(message.people)
    chosen = {
        player.people: player.name
        for seat, player in context.state.held
        if seat != own and player.people is not None
    }
    if wanted in chosen:
        free = ", ".join(people for people in People if people not in chosen)
        raise Refusal(Code.PEOPLE_TAKEN, people=wanted, name=chosen[wanted], free_peoples=free)
    if (player := players[own]) is None or player.people == wanted:
        return ()
    return [PeopleChosen(own, wanted)]


# At an evening nobody chooses a people either: somebody may have heard from another table how the tiles of
# their round lie.
HANDLERS: Final[dict[type, Handling]] = {
    messages.AddShare: Handling(game_start.add_share, Access()),
    messages.ChangeSeat: Handling(_change_seat, Access(before_game=True, at_evening=False)),
    messages.ChoosePeople: Handling(_choose_people, Access(before_game=True, at_evening=False)),
    messages.Leave: Handling(seat_admission.leave),
    messages.SayReady: Handling(_say_ready, Access(before_game=True)),
    messages.SeatBot: Handling(seat_admission.seat_bot, Access(of_host=True, at_evening=False)),
    messages.StartGame: Handling(game_start.start, Access(at_evening=False)),
    messages.Sync: Handling(_synchronize),
}
