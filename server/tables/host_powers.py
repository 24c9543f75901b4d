"""What only the host of a table may do: change its settings, remove people, hand hosting on, end the game."""

import logging
import random
from collections.abc import Sequence
from typing import Final

from engine.errors import Fault, IllegalCommand
from engine.pieces import Seat
from protocol import messages
from protocol.codes import Code
from protocol.settings import AbsenceSetting, Hints, Private, Spectators, Starting, Title
from server.monitoring.logs import about
from server.net.session import Session
from server.refusal import Refusal
from server.storage.entries import Changed, Entry, GivenToBot, Hosted
from server.storage.entries import EndedByHost as EndedEntry
from server.tables.context import TableContext
from server.tables.names import check_name
from server.tables.seats import seat_admission
from server.tables.state.persistent_state import Player

log = logging.getLogger(__name__)

_RNG: Final = random.SystemRandom()


async def change_setting(context: TableContext, _: Session, message: messages.ChangeSetting) -> None:
    setting = message.setting
    entries: list[Entry] = [Changed(setting)]
    match setting:
        case Title(text) if text:
            check_name(text)
        case Starting(seat):
            context.state.check_gathering()
            if seat is not None:
                context.state.check_seat(seat)
            entries += context.unready_entries()
        case Hints():
            entries += context.unready_entries()
        case AbsenceSetting():
            _check_not_over(context)
            entries = [*context.clock_entries(), *entries, *context.unready_entries()]
    await context.store(*entries)
    if isinstance(setting, Spectators) and not setting.on:
        for spectator in list(context.audience.spectators):
            seat_admission.send_away(context, spectator, Refusal(Code.NO_SPECTATORS, table=context.code))
    if isinstance(setting, Private):
        context.lobby.privacy_changed()


async def remove(context: TableContext, session: Session, message: messages.Remove) -> None:
    """Remove a player: before the game anybody, in a running game one who has been away for a while."""
    seat, player = _find_player(context, message.seat)
    _check_not_over(context)
    if seat == session.seat:
        raise Refusal(Code.NOT_YOURSELF)
    here = seat in context.audience.seated or seat in context.state.bots
    if context.state.stage == "playing":
        if here:
            raise Refusal(Code.ALREADY_STARTED)
        _check_away_for_long(context, seat)
    await seat_admission.vacate(context, seat, player)


async def dismiss(context: TableContext, _: Session, message: messages.Dismiss) -> None:
    spectators = context.audience.spectators
    found = next(
        (each for each, spectator in spectators.items() if spectator.number == message.spectator), None
    )
    if found is None:
        raise Refusal(Code.NO_SUCH_SPECTATOR)
    seat_admission.exclude(context, found, spectators[found].name)


async def hand_over(context: TableContext, session: Session, message: messages.HandOver) -> None:
    seat, player = _find_player(context, message.seat)
    if seat == session.seat:
        raise Refusal(Code.NOT_YOURSELF)
    if player.program:
        raise Refusal(Code.NOT_A_PERSON, seat=seat)
    if seat not in context.state.taken:
        raise Refusal(Code.NOBODY_THERE, seat=seat)
    await context.store(Hosted(seat))


async def arrange(context: TableContext, _: Session, message: messages.Arrange) -> None:
    """Give the seats in another order; without one, shuffle them."""
    context.state.check_gathering()
    order: Sequence[int] | None = message.order
    seats = list(range(len(context.state.players)))
    if order is None:
        order = _RNG.sample(seats, len(seats))
    elif sorted(order) != seats:
        raise Refusal(Code.BAD_MESSAGE, reason="order must name every seat of the table once")
    await seat_admission.rearrange(context, list(map(Seat, order)))


async def substitute(context: TableContext, session: Session, message: messages.SubstituteNow) -> None:
    """Make the stand-in play for a player who has been away for a while, whatever the policy."""
    seat, player = _find_player(context, message.seat)
    context.state.running_game()
    if seat == session.seat or seat in context.audience.seated:
        raise Refusal(Code.NOT_AWAY, seat=seat)
    if seat in context.state.bot_seats or seat in context.state.programs:
        raise Refusal(Code.BOT_PLAYS_ALREADY, seat=seat)
    if not player.vacant:
        _check_away_for_long(context, seat)
    await context.store(GivenToBot(seat))


async def end_game(context: TableContext, _: Session, __: messages.EndGame) -> None:
    context.state.running_game()
    await context.store(EndedEntry())
    log.info("game ended by its host", extra=about(table=context.code))


def _find_player(context: TableContext, seat: int) -> tuple[Seat, Player]:
    """Return the seat and its player, who may have been removed."""
    context.state.check_seat(seat)
    if (player := context.state.players[seat]) is None:
        raise Refusal(Code.NOBODY_THERE, seat=seat)
    return Seat(seat), player


def _check_away_for_long(context: TableContext, seat: Seat) -> None:
    if (seconds := context.removable_in(seat)) > 0:
        raise Refusal(Code.TOO_EARLY, seat=seat, seconds=seconds)


def _check_not_over(context: TableContext) -> None:
    if context.state.stage == "over":
        raise IllegalCommand(Fault.GAME_OVER, "R4.4")
