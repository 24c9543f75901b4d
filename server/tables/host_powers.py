"""What only the host of a table may do: change its settings, remove people, hand hosting on, end the game."""

import logging
import random
from collections.abc import Sequence
from typing import Final, assert_never

from engine.errors import Fault, IllegalCommand
from engine.pieces import Seat
from protocol import messages
from protocol.codes import Code
from protocol.settings import AbsenceSetting, Hints, Private, Setting, Spectators, Starting, Title
from server.monitoring.logs import about
from server.net.session import Session
from server.refusal import Refusal
from server.storage.entries import Changed, Entry, GivenToBot, Hosted
from server.storage.entries import EndedByHost as EndedEntry
from server.tables.context import TableContext
from server.tables.seats.names import check_name
from server.tables.seats.seat_admission import SeatAdmission
from server.tables.state.persistent_state import Player

log = logging.getLogger(__name__)

_RNG: Final = random.SystemRandom()


class HostPowers:
    """Carries out the host's requests; raises Refusal, IllegalCommand or JournalError."""

    def __init__(self, context: TableContext, admission: SeatAdmission) -> None:
        self._context = context
        self._admission = admission

    async def use(self, session: Session, request: messages.HostRequest) -> None:
        """Carry out the session's request if it is the host's."""
        host = session.player_seat()
        if host != self._context.state.host:
            raise Refusal(Code.NOT_THE_HOST)
        match request:
            case messages.ChangeSetting(_, setting):
                await self._change(setting)
            case messages.SeatBot(_, level, seat):
                self._check_gathering()
                await self._admission.seat_bot(level, seat)
            case messages.Remove(_, seat):
                await self._remove(host, Seat(seat))
            case messages.Dismiss(_, number):
                self._dismiss(number)
            case messages.HandOver(_, seat):
                await self._hand_over(host, Seat(seat))
            case messages.Arrange(_, order):
                await self._arrange(order)
            case messages.SubstituteNow(_, seat):
                await self._substitute(host, Seat(seat))
            case messages.EndGame():
                await self._end_game()
            case _:
                assert_never(request)

    async def _change(self, setting: Setting) -> None:
        context, entries = self._context, list[Entry]([Changed(setting)])
        match setting:
            case Title(text) if text:
                check_name(text)
            case Starting(seat):
                self._check_gathering()
                if seat is not None:
                    self._context.state.check_seat(seat)
                entries += context.nobody_ready()
            case Hints():
                entries += context.nobody_ready()
            case AbsenceSetting():
                self._check_not_over()
                entries = [*context.stopped_clock(), *entries, *context.nobody_ready()]
        await context.store(*entries)
        if isinstance(setting, AbsenceSetting):
            context.policy.begin()
            context.send_turn()
        if isinstance(setting, Spectators) and not setting.allowed:
            for spectator in list(context.audience.spectators):
                self._admission.send_away(spectator, Refusal(Code.NO_SPECTATORS, table=context.code))
        if isinstance(setting, Private):
            context.owner.privacy_changed()
        context.broadcast_state()

    async def _remove(self, host: Seat, seat: Seat) -> None:
        """Remove a player: before the game anybody, in a running game one who has been away for a while."""
        context = self._context
        player = self._player(seat)
        self._check_not_over()
        if seat == host:
            raise Refusal(Code.NOT_YOURSELF)
        here = seat in context.audience.seated or seat in context.state.bots
        if context.state.stage == "playing":
            if here:
                raise Refusal(Code.ALREADY_STARTED)
            self._check_away_for_long(seat)
        await self._admission.vacate(seat, player)

    def _dismiss(self, number: int) -> None:
        spectators = self._context.audience.spectators
        found = next((each for each, spectator in spectators.items() if spectator.number == number), None)
        if found is None:
            raise Refusal(Code.NO_SUCH_SPECTATOR)
        self._admission.exclude(found, spectators[found].name)
        self._context.broadcast_state()

    async def _hand_over(self, host: Seat, seat: Seat) -> None:
        context = self._context
        player = self._player(seat)
        if seat == host:
            raise Refusal(Code.NOT_YOURSELF)
        if player.program:
            raise Refusal(Code.NOT_A_PERSON, seat=seat)
        if seat not in context.state.taken:
            raise Refusal(Code.NOBODY_THERE, seat=seat)
        await context.store(Hosted(seat))
        self._admission.watch_host()
        context.broadcast_state()

    async def _arrange(self, order: Sequence[int] | None) -> None:
        """Give the seats in another order; without one, shuffle them."""
        self._check_gathering()
        seats = list(range(len(self._context.state.players)))
        if order is None:
            order = _RNG.sample(seats, len(seats))
        elif sorted(order) != seats:
            raise Refusal(Code.BAD_MESSAGE, reason="order must name every seat of the table once")
        await self._admission.rearrange(list(map(Seat, order)))

    async def _substitute(self, host: Seat, seat: Seat) -> None:
        """Make the stand-in play for a player who has been away for a while, whatever the policy."""
        context = self._context
        player = self._player(seat)
        self._context.state.running_game()
        if seat == host or seat in context.audience.seated:
            raise Refusal(Code.NOT_AWAY, seat=seat)
        if seat in context.state.bot_seats or seat in context.state.programs:
            raise Refusal(Code.BOT_PLAYS_ALREADY, seat=seat)
        if not player.vacant:
            self._check_away_for_long(seat)
        await context.store(GivenToBot(seat))
        context.policy.bot_was_seated()
        context.broadcast_state()

    async def _end_game(self) -> None:
        context = self._context
        self._context.state.running_game()
        await context.store(EndedEntry())
        log.info("game ended by its host", extra=about(table=context.code))
        context.policy.begin()
        context.send_turn()
        context.broadcast_state(at_once=True)

    # -- what has to be true ------------------------------------------------------------------------

    def _player(self, seat: Seat) -> Player:
        """Return the player of a seat, who may have been removed."""
        self._context.state.check_seat(seat)
        if (player := self._context.state.players[seat]) is None:
            raise Refusal(Code.NOBODY_THERE, seat=seat)
        return player

    def _check_away_for_long(self, seat: Seat) -> None:
        if (seconds := self._context.removable_in(seat)) > 0:
            raise Refusal(Code.TOO_EARLY, seat=seat, seconds=seconds)

    def _check_gathering(self) -> None:
        if self._context.state.game is not None:
            raise Refusal(Code.ALREADY_STARTED)

    def _check_not_over(self) -> None:
        if self._context.state.stage == "over":
            raise IllegalCommand(Fault.GAME_OVER, "R4.4")
