"""What only the host of a table may do: change its settings, remove people, hand hosting on, end the game."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from engine.errors import Fault, IllegalCommand
from engine.pieces import Seat
from protocol.codes import Code
from protocol.messages import Arrange, ChangeSetting, Dismiss, EndGame, HandOver, Remove, SubstituteNow
from protocol.settings import AbsenceSetting, Hints, Setting, Starting, Title
from server.refusal import Refusal
from server.storage.entries import Changed, EndedByHost, Freed, GivenToBot, Hosted, Taken
from server.tables.feature import (
    Access,
    Feature,
    Happening,
    Moment,
    PlayerRemoved,
    SpectatorRemoved,
)
from server.tables.names import check_name

_Request: TypeAlias = Arrange | ChangeSetting | Dismiss | EndGame | HandOver | Remove | SubstituteNow

_RNG: Final = random.SystemRandom()
_OF_HOST: Final = Access(of_host=True, at_evening=False)


@dataclass(slots=True, eq=False, repr=False)
class HostPowers(Feature):
    """The host's decisions about the table; it has no state of its own."""

    requests = (
        (Arrange, Access(of_host=True, before_game=True, at_evening=False)),
        (ChangeSetting, _OF_HOST),
        (Dismiss, Access(of_host=True)),
        (EndGame, _OF_HOST),
        (HandOver, _OF_HOST),
        (Remove, _OF_HOST),
        (SubstituteNow, Access(of_host=True)),
    )

    def decide(self, host: Seat, request: _Request, moment: Moment) -> Sequence[Happening]:
        match request:
            case Arrange(order=order):
                return self._arrange(order)
            case ChangeSetting(setting=setting):
                return self._change(setting, moment)
            case Dismiss(spectator=number):
                if all(each.number != number for each in moment.spectators):
                    raise Refusal(Code.NO_SUCH_SPECTATOR)
                return [SpectatorRemoved(number)]
            case EndGame():
                self.facts.check_running()
                return [EndedByHost()]
            case HandOver(seat=seat):
                return self._hand_over(host, self._held(seat))
            case Remove(seat=seat):
                return self._remove(host, self._held(seat), moment)
            case SubstituteNow(seat=seat):
                return self._substitute(host, self._held(seat), moment)

    def _arrange(self, order: Sequence[int] | None) -> Sequence[Happening]:
        """Give the seats in another order; without one, shuffle them."""
        seats = list(range(len(self.facts.names)))
        if order is None:
            order = _RNG.sample(seats, len(seats))
        elif sorted(order) != seats:
            raise Refusal(Code.BAD_MESSAGE, reason="order must name every seat of the table once")
        return self.facts.rearranged(list(map(Seat, order)))

    def _change(self, setting: Setting, moment: Moment) -> Sequence[Happening]:
        facts = self.facts
        match setting:
            case Title(text) if text:
                check_name(text)
            case Starting(seat):
                facts.check_gathering()
                if seat is not None:
                    facts.check_seat(seat)
                return [Changed(setting), *facts.unready]
            case Hints():
                return [Changed(setting), *facts.unready]
            case AbsenceSetting():
                self._check_not_over()
                return [*moment.clocks(), Changed(setting), *facts.unready]
        return [Changed(setting)]

    def _remove(self, host: Seat, seat: Seat, moment: Moment) -> Sequence[Happening]:
        """Remove a player: before the game anybody, in a running game one who has been away for a while."""
        facts, name = self.facts, self.facts.names[seat]
        self._check_not_over()
        if seat == host:
            raise Refusal(Code.NOT_YOURSELF)
        removed = PlayerRemoved(seat, name, facts.holder(seat))
        if facts.stage == "gathering":
            return [Freed(seat), removed]
        if seat in moment.seated or seat in facts.bots:
            raise Refusal(Code.ALREADY_STARTED)
        _check_away_for_long(seat, moment)
        return [Taken(seat, name, "", vacant=True), removed]

    def _hand_over(self, host: Seat, seat: Seat) -> Sequence[Happening]:
        if seat == host:
            raise Refusal(Code.NOT_YOURSELF)
        if seat in self.facts.programs:
            raise Refusal(Code.NOT_A_PERSON, seat=seat)
        if seat not in self.facts.taken:
            raise Refusal(Code.NOBODY_THERE, seat=seat)
        return [Hosted(seat)]

    def _substitute(self, host: Seat, seat: Seat, moment: Moment) -> Sequence[Happening]:
        """Make the stand-in play for a player who has been away for a while, whatever the policy."""
        facts = self.facts
        facts.check_running()
        if seat == host or seat in moment.seated:
            raise Refusal(Code.NOT_AWAY, seat=seat)
        if seat in facts.bot_seats or seat in facts.programs:
            raise Refusal(Code.BOT_PLAYS_ALREADY, seat=seat)
        if seat in facts.people:  # else it is vacant
            _check_away_for_long(seat, moment)
        return [GivenToBot(seat)]

    def _held(self, seat: int) -> Seat:
        """Return the seat if it is somebody's, or was until they were removed."""
        self.facts.check_seat(seat)
        if not self.facts.names[seat]:
            raise Refusal(Code.NOBODY_THERE, seat=seat)
        return Seat(seat)

    def _check_not_over(self) -> None:
        if self.facts.stage == "over":
            raise IllegalCommand(Fault.GAME_OVER, "R4.4")


def _check_away_for_long(seat: Seat, moment: Moment) -> None:
    if (seconds := moment.removable_in(seat)) > 0:
        raise Refusal(Code.TOO_EARLY, seat=seat, seconds=seconds)
