"""Pauses of a running game: who gets one, and how it ends.

During a pause, nobody may move, and all clocks stop.
"""

from functools import partial
from typing import Final

from engine.errors import Fault, IllegalCommand
from engine.pieces import Seat
from protocol.absence import GameClock, MoveClock
from protocol.codes import Code
from protocol.messages import AskPause
from server.errors import JournalError
from server.net.session import Session
from server.refusal import Refusal
from server.storage.entries import Paused, Unpaused
from server.tables.absence.deadlines import Due
from server.tables.context import PAUSE_SECONDS, RETRY_SECONDS, TableContext

PAUSES: Final = 3  # that each player gets in a game
OTHERS_WAIT_SECONDS: Final = 120  # until every player can end a pause, not only who asked for it and the host


class Pauses:
    """Pauses and resumes the game; raises Refusal, IllegalCommand or JournalError.

    Without a clock, a player who asks for a pause gets it. With one, a pause gives time to think, so the host
    or everybody who is here must agree. A pause that a restart interrupts starts again.
    """

    def __init__(self, context: TableContext) -> None:
        self._context = context
        if context.state.paused is not None:
            self._begin()

    async def ask(self, session: Session, request: AskPause) -> None:
        """Pause the game, or let it go on, if the session's player may; or count its wish."""
        own, state = session.player_seat(), self._context.state
        if state.game is None:
            raise Refusal(Code.NOT_STARTED)
        if state.stage == "over":
            raise IllegalCommand(Fault.GAME_OVER, "R4.4")
        if own in state.programs:
            raise Refusal(Code.PROGRAMS_DO_NOT_VOTE)
        if request.on:
            await self._agree(own)
        elif state.paused is None:
            self._disagree(own)
        else:
            self._check_may_end(own, state.paused)
            await self._end()

    async def begin_if_agreed(self) -> None:
        """Begin the requested pause if everybody who has not agreed has left or lost their say."""
        wanted = self._context.pause_wanted()
        if wanted and self._is_agreed(wanted):
            try:
                await self._pause(wanted[0])
            except JournalError as error:  # whoever asked can ask again
                self._context.counts.journal_failed(error)

    async def _end_by_itself(self, number: int) -> None:
        """End the game's pause of this number, unless it has ended already."""
        state = self._context.state
        if state.paused is None or state.pauses.total() != number:
            return
        try:
            await self._end()
        except JournalError as error:
            self._context.counts.journal_failed(error)
            self._end_in(RETRY_SECONDS, number)

    async def _agree(self, own: Seat) -> None:
        context, state = self._context, self._context.state
        if state.paused is not None:
            raise Refusal(Code.PAUSED)
        wanted = context.pause_wanted()
        if not wanted and state.pauses[own] >= PAUSES:
            raise Refusal(Code.NO_PAUSES_LEFT, pauses=PAUSES)
        wanted = wanted if own in wanted else [*wanted, own]
        if self._is_agreed(wanted):
            await self._pause(wanted[0])
        elif wanted != context.pause_asked:
            context.pause_asked = wanted
            context.broadcast_state()

    def _is_agreed(self, wanted: list[Seat]) -> bool:
        """Return whether it is enough that these players want a pause."""
        state = self._context.state
        has_clock = isinstance(state.absence, MoveClock | GameClock)
        return not has_clock or state.host in wanted or self._context.people_here <= set(wanted)

    def _disagree(self, own: Seat) -> None:
        context = self._context
        wanted = context.pause_wanted()
        if own not in wanted:
            raise Refusal(Code.NOT_PAUSED)
        context.pause_asked = [] if own == wanted[0] else [seat for seat in wanted if seat != own]
        context.broadcast_state()

    def _check_may_end(self, own: Seat, paused: Seat) -> None:
        """Raise Refusal if it is too early for this player to end the pause."""
        left = OTHERS_WAIT_SECONDS - int(self._context.deadlines.time() - self._context.paused_at)
        if own not in {paused, self._context.state.host} and left > 0:
            raise Refusal(Code.PAUSE_GOES_ON, seconds=left)

    async def _pause(self, seat: Seat) -> None:
        context, game = self._context, self._context.state.game
        assert game is not None  # noqa: S101 - only running games are paused
        assert game.view.turn is not None  # noqa: S101 - and somebody is on turn in them
        await context.store(context.stopped_clock(game.view.turn), Paused(seat))
        context.pause_asked = []
        self._begin()
        self._tell()

    async def _end(self) -> None:
        await self._context.store(Unpaused())
        self._context.deadlines.cancel(Due.PAUSE_OVER)
        self._tell()

    def _begin(self) -> None:
        context = self._context
        context.paused_at = context.deadlines.time()
        self._end_in(PAUSE_SECONDS, context.state.pauses.total())

    def _end_in(self, seconds: float, number: int) -> None:
        work = partial(self._end_by_itself, number)
        self._context.deadlines.set(Due.PAUSE_OVER, seconds, work)

    def _tell(self) -> None:
        """Stop or resume the clocks, and tell everybody."""
        self._context.begin_policy()
        self._context.send_turn()
        self._context.broadcast_state(at_once=True)
