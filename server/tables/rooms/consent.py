"""Requests that need the others' consent: pauses, taking a move back, more time.

A request is open until somebody refuses it or the player who asked moves. All other people must agree, here
or not, because a game may take days. But a brief pause needs only the host or everybody who is here, and
nobody without a clock: it gives no time to think then. If a restart interrupts it, it starts again. During a
pause, nobody may move, and all clocks stop.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from engine.pieces import Seat
from protocol.absence import GameClock, MoveClock
from protocol.codes import Code
from protocol.limits import OTHERS_WAIT_SECONDS
from protocol.messages import Ask, Asked, AskPause, PauseSummary, Wish
from server.probes import probe
from server.refusal import Refusal
from server.storage.entries import (
    MADE,
    MOVE_ENTRIES,
    EndedByHost,
    Entry,
    Paused,
    Played,
    StoodIn,
    Taken,
    Unpaused,
    Wished,
)
from server.tables.feature import Access, Feature, Happening, Moment

PAUSES: Final = 3  # that each player gets in a game
PAUSE_SECONDS: Final = 600  # then a paused game goes on by itself
LONGEST_PAUSE_DAYS: Final = 30  # until a moment that all have agreed on
TAKE_BACKS: Final = 40  # in a game: its events stay, and clients take no longer lists of them


@dataclass(slots=True, eq=False, repr=False)
class Consent(Feature):
    """The open request to the other players, and the number of pauses that each has had."""

    requests = (Ask, Access()), (AskPause, Access())
    own = (Wished,)
    folds_too = Taken, *MOVE_ENTRIES, Paused, Unpaused, EndedByHost

    asked: Asked | None = None
    pauses: Counter[Seat] = field(default_factory=Counter)  # by the players who asked for them

    def decide(self, seat: Seat, request: Ask | AskPause, moment: Moment) -> Sequence[Entry]:
        """Ask for something, or agree to it; or withdraw or refuse it, or end a pause."""
        what: Wish = "pause" if isinstance(request, AskPause) else request.what
        self.facts.check_running()
        if seat in self.facts.programs:
            raise Refusal(Code.PROGRAMS_DO_NOT_VOTE)
        if request.on:
            until = request.until if isinstance(request, AskPause) else None
            return self._agree(seat, what, until, moment)
        if what != "pause" or self.facts.paused is None:
            return self._disagree(seat, what, moment)
        left = OTHERS_WAIT_SECONDS - int(moment.paused_for)
        if seat not in {self.facts.paused, self.facts.host} and left > 0:
            raise Refusal(Code.PAUSE_GOES_ON, seconds=left)
        return [Unpaused()]

    def _agree(self, own: Seat, what: Wish, until: int | None, moment: Moment) -> Sequence[Entry]:
        if self.facts.paused is not None:
            raise Refusal(Code.PAUSED)
        asked = before = self._open(moment)
        if asked is None:
            self._check_may_ask(own, what)
            asked = Asked(what, [], until=until)
        elif asked.what != what or until not in {None, asked.until}:
            probe("two players ask for different things")
            raise Refusal(Code.OTHERS_ASKED)
        if asked.until is not None and self.facts.of_evening:
            raise Refusal(Code.OF_THE_EVENING)
        if asked.until is not None and not 0 < asked.until - moment.now <= LONGEST_PAUSE_DAYS * 86_400:
            raise Refusal(Code.BAD_MOMENT, most=LONGEST_PAUSE_DAYS)
        if own not in asked.seats:
            asked = replace(asked, seats=[*asked.seats, own])
        if self._is_agreed(asked, moment):
            return self._granted(asked, moment)
        return [] if asked == before else [Wished(asked)]

    def _check_may_ask(self, own: Seat, what: Wish) -> None:
        facts, clocks = self.facts, self.facts.clocks
        if what == "pause" and self.pauses[own] >= PAUSES:
            probe("a player has no pauses left")
            raise Refusal(Code.NO_PAUSES_LEFT, pauses=PAUSES)
        if what == "take-back":
            facts.take_back(own)
            if facts.taken_back >= TAKE_BACKS:
                probe("a game has no moves left to take back")
                raise Refusal(Code.NO_TAKE_BACKS_LEFT, most=TAKE_BACKS)
        if what == "more-time":
            if not clocks.counts:
                raise Refusal(Code.NO_CLOCK)
            if isinstance(clocks.policy, MoveClock):
                facts.check_turn(own)
            if clocks.is_ample(own):
                probe("a player who asks for time has enough")
                raise Refusal(Code.ENOUGH_TIME)

    def _is_agreed(self, asked: Asked, moment: Moment) -> bool:
        agree = {Seat(seat) for seat in asked.seats}
        if asked.what != "pause" or asked.until is not None:
            return self.facts.people <= agree
        has_clock = isinstance(self.facts.absence, MoveClock | GameClock)
        return not has_clock or self.facts.host in agree or moment.people_here() <= agree

    def _disagree(self, own: Seat, what: Wish, moment: Moment) -> Sequence[Entry]:
        """Refuse the request, which withdraws one's own, or take back that one agrees to another's."""
        asked = self._open(moment)
        if asked is None or asked.what != what:
            raise Refusal(Code.NOT_PAUSED if what == "pause" else Code.NOTHING_ASKED)
        if own in asked.seats[1:]:
            probe("a player no longer agrees")
            return [Wished(replace(asked, seats=[seat for seat in asked.seats if seat != own]))]
        return [Wished(replace(asked, refused=own))]

    def _granted(self, asked: Asked, moment: Moment) -> Sequence[Entry]:
        seat = Seat(asked.seats[0])
        match asked.what:
            case "pause":
                return [*moment.clocks(), Paused(seat, asked.until)]
            case "take-back":
                return [self.facts.take_back(seat)]
            case "more-time":
                (clocks,) = moment.clocks()
                return [self.facts.clocks.extended(seat, clocks), Wished(replace(asked, granted=True))]

    def follow(self, moment: Moment) -> Sequence[Entry]:
        """Grant the request once nobody is left whose agreement is missing."""
        asked = self._open(moment)
        if asked is None or not self._is_agreed(asked, moment):
            return ()
        probe("a request is granted when somebody leaves")
        return self._granted(asked, moment)

    def fold(self, entry: Happening) -> bool:
        before = self.asked
        if isinstance(entry, MADE):  # most entries
            if before is None or (before.seats[0] != entry.seat and not self._has_lapsed):
                return False
            self.asked = None
            return True
        match entry:
            case Wished(asked):
                self.asked = asked
                return True  # somebody may have been given more time once more
            case Paused(seat):
                self.asked = None
                self.pauses[Seat(seat)] += 1
            case _:  # it may have been somebody else in the seat who asked or agreed
                self.asked = None
        return self.asked != before

    @classmethod
    def live(cls, entries: Iterable[tuple[int, Entry]]) -> Iterable[int]:
        live, asker = list[int](), None
        for number, entry in entries:
            match entry:
                case Wished(asked):
                    live, asker = [number], asked and asked.seats[0]
                case Played(seat) | StoodIn(seat):
                    live = [] if seat == asker else live
                case _:
                    live = []
        return live

    def kept_of(self, _: Seat) -> Sequence[Entry]:
        return () if self.asked is None else [Wished(self.asked)]

    @property
    def awaits(self) -> bool:
        return self.facts.paused is not None

    def due(self, moment: Moment) -> Mapping[Seat, float]:
        paused = self.facts.paused
        return {} if paused is None else {paused: self._pause_left(moment)}

    def fall_due(self, _: Seat, moment: Moment) -> Sequence[Entry]:
        if self.facts.paused is None:
            return ()
        if self._pause_left(moment) >= 1:
            probe("a pause is not over when that is due")
            return ()
        return [Unpaused()]

    def excused(self, _: Seat) -> float:
        return self.facts.paused_until or 0  # everybody may be away for that

    def shown(self, moment: Moment) -> Mapping[str, Any]:
        if self.facts.stage != "playing":
            return {}
        asked, paused, until = self._asked(moment), self.facts.paused, self.facts.paused_until
        may_ask: list[Wish] = ["pause", "take-back"]
        if self.facts.clocks.counts:
            may_ask.append("more-time")
        shown: dict[str, Any] = {"asked": asked, "may_ask": may_ask}
        if asked is not None and asked.open:
            shown["still_asked"] = self._still_asked(asked, moment)
            if asked.what == "pause":
                shown["pause_asked"] = asked.seats
        if paused is not None:
            left = math.ceil(self._pause_left(moment))
            shown["paused"] = PauseSummary(paused, int(moment.paused_for), left, until)
        return shown

    def _still_asked(self, asked: Asked, moment: Moment) -> list[Seat]:
        """Return who has not answered a request: for a brief pause, of those who are here."""
        brief = asked.what == "pause" and asked.until is None
        return sorted(
            (moment.people_here() if brief else self.facts.people) - {Seat(seat) for seat in asked.seats}
        )

    def _asked(self, moment: Moment) -> Asked | None:
        """Return what a player asks the others for, a brief pause only while that player is here."""
        asked = None if self._has_lapsed else self.asked
        if asked is None or asked.what != "pause" or asked.until is not None:
            return asked
        here = [seat for seat in asked.seats if seat in moment.people_here()]
        return replace(asked, seats=here) if here[:1] == asked.seats[:1] else None

    @property
    def _has_lapsed(self) -> bool:
        """Return whether more time is asked for, and the clock has ended: nothing could be given."""
        asked = self.asked
        return asked is not None and asked.what == "more-time" and not self.facts.clocks.counts

    def _open(self, moment: Moment) -> Asked | None:
        asked = self._asked(moment)
        return asked if asked is not None and asked.open and self.facts.stage == "playing" else None

    def _pause_left(self, moment: Moment) -> float:
        """Return in how many seconds the pause ends by itself."""
        if (until := self.facts.paused_until) is not None:
            return max(0, until - moment.now)
        return max(0.0, PAUSE_SECONDS - moment.paused_for)
