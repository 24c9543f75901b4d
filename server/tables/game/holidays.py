"""Holidays in a game by letters: a player's clock is stopped for some days, or until the player's next move.

A holiday ends when the player says so, moves, or has no days left; each day that has begun counts.
"""

import time

from engine.pieces import Seat
from protocol.codes import Code
from protocol.messages import TakeHoliday
from server.net.session import Session
from server.probes import probe
from server.refusal import Refusal
from server.storage.entries import OnHoliday
from server.tables.absence.deadlines import Due
from server.tables.context import LOOK_SECONDS, TableContext


async def take_holiday(context: TableContext, session: Session, message: TakeHoliday) -> None:
    """Begin the holiday of the session's player, or end it, unless that is the case already.

    Raises Refusal, IllegalCommand or JournalError.
    """
    seat, state, on = session.player_seat(), context.state, message.on
    state.running_game()
    if on and (seat in state.programs or not state.holidays_left(seat)):
        raise Refusal(Code.NO_HOLIDAYS)
    if on != (seat in state.on_holiday):
        await _change(context, seat, on=on)


async def _change(context: TableContext, seat: Seat, *, on: bool) -> None:
    await context.store(*context.clock_entries(), OnHoliday(seat, int(time.time()), on))


def await_ends(context: TableContext) -> None:
    """End each holiday when its player has no days left."""
    for seat in map(Seat, range(len(context.state.players))):
        if seat not in context.state.on_holiday:
            context.deadlines.cancel(Due.HOLIDAY_OVER, seat)
        elif not context.deadlines.is_set(Due.HOLIDAY_OVER, seat):
            left = min(context.holiday_left(seat), LOOK_SECONDS)
            context.deadlines.set(Due.HOLIDAY_OVER, left, seat)


async def end_if_over(context: TableContext, seat: Seat) -> None:
    if seat not in context.state.on_holiday or context.state.stage != "playing":
        return
    if context.holiday_left(seat) >= 1:
        probe("a holiday is not over when that is due")
        await_ends(context)
    else:
        await _change(context, seat, on=False)
