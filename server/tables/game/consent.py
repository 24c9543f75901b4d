"""What needs the others' consent: pauses, taking a move back, more time; and how a pause ends.

During a pause, nobody may move, and all clocks stop.
"""

import time
from typing import Final

from msgspec.structs import replace

from engine.events import TakenBack
from engine.pieces import Seat
from protocol.absence import GameClock, MoveClock
from protocol.codes import Code
from protocol.limits import OTHERS_WAIT_SECONDS
from protocol.messages import Asked, Wish
from server.errors import JournalError
from server.net.session import Session
from server.refusal import Refusal
from server.storage.entries import Paused, Unpaused, Wished
from server.tables.absence.deadlines import Due
from server.tables.context import LOOK_SECONDS, TableContext
from server.tables.game.moves import Moves

PAUSES: Final = 3  # that each player gets in a game
LONGEST_PAUSE_DAYS: Final = 30  # until a moment that all have agreed on
TAKE_BACKS: Final = 40  # in a game: its events stay, and clients take no longer lists of them


class Consent:
    """Grants what players ask for once the others agree; raises Refusal, IllegalCommand or JournalError.

    A request is open until somebody refuses it or the player who asked moves. All other people must agree,
    here or not, because a game may take days. But a brief pause needs only the host or everybody who is here,
    and nobody without a clock: it gives no time to think then. If a restart interrupts it, it starts again.
    """

    def __init__(self, context: TableContext, moves: Moves) -> None:
        self._context = context
        self._moves = moves
        if context.state.paused is not None:
            self._begin()

    async def ask(self, session: Session, what: Wish, *, on: bool, until: int | None = None) -> None:
        """Ask for something, or agree to it; or withdraw or refuse it, or end a pause.

        A pause may be asked for `until` a moment.
        """
        own, state = session.player_seat(), self._context.state
        state.running_game()
        if own in state.programs:
            raise Refusal(Code.PROGRAMS_DO_NOT_VOTE)
        if on:
            await self._agree(own, what, until)
        elif what == "pause" and state.paused is not None:
            self._check_may_end(own, state.paused)
            await self._end()
        else:
            await self._disagree(own, what)

    async def grant_if_agreed(self) -> None:
        """Grant what is asked for if everybody who has not agreed has left or lost their say."""
        asked = self._context.asked
        if asked is not None and asked.open and self._is_agreed(asked):
            try:
                await self._grant(asked)
            except JournalError as error:  # whoever asked can ask again
                self._context.counts.journal_failed(error)

    async def _agree(self, own: Seat, what: Wish, until: int | None) -> None:
        context = self._context
        if context.state.paused is not None:
            raise Refusal(Code.PAUSED)
        asked = context.asked
        if asked is None or not asked.open:
            self._check_may_ask(own, what)
            asked = Asked(what, [], until=until)
        elif asked.what != what or until not in {None, asked.until}:
            raise Refusal(Code.OTHERS_ASKED)
        if asked.until is not None:
            self._check_until(asked.until)
        if own not in asked.seats:
            asked = replace(asked, seats=[*asked.seats, own])
        if self._is_agreed(asked):
            await self._grant(asked)
        elif asked != context.asked:
            await self._store(asked)

    def _check_may_ask(self, own: Seat, what: Wish) -> None:
        state = self._context.state
        if what == "pause" and state.pauses[own] >= PAUSES:
            raise Refusal(Code.NO_PAUSES_LEFT, pauses=PAUSES)
        if what == "take-back" and state.game is not None:
            state.game.taken_back(own)
            if sum(isinstance(event, TakenBack) for event in state.game.events) >= TAKE_BACKS:
                raise Refusal(Code.NO_TAKE_BACKS_LEFT, most=TAKE_BACKS)
        if what == "more-time":
            if not state.clocks.counts:
                raise Refusal(Code.NO_CLOCK)
            if state.game is not None and isinstance(state.clocks.policy, MoveClock):
                state.game.check_turn(own)
            if state.clocks.is_ample(own):
                raise Refusal(Code.ENOUGH_TIME)

    def _check_until(self, until: int) -> None:
        if self._context.state.of_evening:
            raise Refusal(Code.OF_THE_EVENING)
        if not 0 < until - time.time() <= LONGEST_PAUSE_DAYS * 86_400:
            raise Refusal(Code.BAD_MOMENT, most=LONGEST_PAUSE_DAYS)

    def _is_agreed(self, asked: Asked) -> bool:
        state, agree = self._context.state, {Seat(seat) for seat in asked.seats}
        if asked.what != "pause" or asked.until is not None:
            return state.people <= agree
        has_clock = isinstance(state.absence, MoveClock | GameClock)
        return not has_clock or state.host in agree or self._context.people_here <= agree

    async def _disagree(self, own: Seat, what: Wish) -> None:
        """Refuse the request, which withdraws one's own, or take back that one agrees to another's."""
        asked = self._context.asked
        if asked is None or not asked.open or asked.what != what:
            raise Refusal(Code.NOT_PAUSED if what == "pause" else Code.NOTHING_ASKED)
        if own in asked.seats[1:]:
            await self._store(replace(asked, seats=[seat for seat in asked.seats if seat != own]))
        else:
            await self._store(replace(asked, refused=own))

    async def _store(self, asked: Asked) -> None:
        await self._context.store(Wished(asked))
        self._context.broadcast_state()

    async def _grant(self, asked: Asked) -> None:
        seat = Seat(asked.seats[0])
        match asked.what:
            case "pause":
                await self._pause(seat, asked.until)
            case "take-back":
                await self._moves.take_back(seat)
            case "more-time":
                await self._give_time(asked, seat)

    async def _give_time(self, asked: Asked, seat: Seat) -> None:
        context = self._context
        (now,) = context.stopped_clock()
        more = context.state.clocks.extended(seat, now)
        await context.store(more, Wished(replace(asked, granted=True)))
        context.policy.turn_began()
        context.send_turn()
        context.broadcast_state()

    def _check_may_end(self, own: Seat, paused: Seat) -> None:
        left = OTHERS_WAIT_SECONDS - int(self._context.deadlines.time() - self._context.paused_at)
        if own not in {paused, self._context.state.host} and left > 0:
            raise Refusal(Code.PAUSE_GOES_ON, seconds=left)

    async def _pause(self, seat: Seat, until: int | None) -> None:
        context = self._context
        await context.store(*context.stopped_clock(), Paused(seat, until))
        self._begin()
        self._tell()

    async def _end(self) -> None:
        await self._context.store(Unpaused())
        self._context.deadlines.cancel(Due.PAUSE_OVER)
        self._tell()

    def _begin(self) -> None:
        context = self._context
        context.paused_at = context.deadlines.time()
        self._await_end()

    def _await_end(self) -> None:
        left = min(self._context.pause_left, LOOK_SECONDS)
        self._context.deadlines.set(Due.PAUSE_OVER, left, self._end_if_over)

    async def _end_if_over(self) -> None:
        if self._context.state.paused is None:
            return
        if self._context.pause_left >= 1:
            self._await_end()
        else:
            await self._end()

    def _tell(self) -> None:
        """Stop or resume the clocks, and tell everybody."""
        self._context.policy.begin()
        self._context.send_turn()
        self._context.broadcast_state(at_once=True)
