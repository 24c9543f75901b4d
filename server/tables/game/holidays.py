"""Holidays in a game by letters: a player's clock stands for some days, or until the player's next move."""

import time
from functools import partial

from engine.pieces import Seat
from protocol.codes import Code
from server.net.session import Session
from server.refusal import Refusal
from server.storage.entries import OnHoliday
from server.tables.absence.deadlines import Due
from server.tables.context import LOOK_SECONDS, TableContext


class Holidays:
    """Lets players take holidays; raises Refusal, IllegalCommand or JournalError.

    A holiday ends when the player says so, moves, or has no days left; each day that has begun counts.
    """

    def __init__(self, context: TableContext) -> None:
        self._context = context
        for seat in context.state.on_holiday:
            self._await_end(seat)

    async def take(self, session: Session, *, on: bool) -> None:
        """Begin the holiday of the session's player, or end it; nothing changes if it is so already."""
        seat, state = session.player_seat(), self._context.state
        state.running_game()
        if on and (seat in state.programs or not state.holidays_left(seat)):
            raise Refusal(Code.NO_HOLIDAYS)
        if on != (seat in state.on_holiday):
            await self._change(seat, on=on)

    async def _change(self, seat: Seat, *, on: bool) -> None:
        context = self._context
        await context.store(*context.stopped_clock(), OnHoliday(seat, int(time.time()), on))
        if on:
            self._await_end(seat)
        context.policy.begin()
        context.broadcast_state(at_once=True)
        context.send_turn()

    def _await_end(self, seat: Seat) -> None:
        left = min(self._context.holiday_left(seat), LOOK_SECONDS)
        self._context.deadlines.set(Due.HOLIDAY_OVER, left, partial(self._end_if_over, seat), seat)

    async def _end_if_over(self, seat: Seat) -> None:
        context = self._context
        if seat not in context.state.on_holiday or context.state.stage != "playing":
            return
        if context.holiday_left(seat) >= 1:
            self._await_end(seat)
        else:
            await self._change(seat, on=False)
