"""Notices: players who are away are notified of their turn, of running out of time, and of the end.

A notice is owed as long as the table's state calls for it and no entry records that the player knows. So
the commit that begins a turn also makes its notices due, and whichever server has the table sends them.
"""

import hmac
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from engine.pieces import Seat
from protocol.codes import Code
from protocol.limits import NOTICE_CODE_LENGTH
from protocol.messages import CallMe, ConfirmCall, Notices
from server.probes import probe
from server.refusal import Refusal
from server.storage.entries import (
    BotSeated,
    Entry,
    Freed,
    Kept,
    Noticed,
    NoticesTo,
    Paused,
    Taken,
    TokenRevoked,
)
from server.tables.feature import (
    Access,
    Delivered,
    Feature,
    Fleeting,
    Happening,
    Letter,
    Moment,
    Occasion,
    PostOpened,
    Shortened,
)

_GUESSES: Final = 5  # at a code
_RETRIES: Final = (60, 300, 1800, 7200, 21_600)  # seconds after each failure; then it is given up
_SHORTEST_CLOCK: Final = 3_600_000  # milliseconds of a turn: nobody can be called back to a shorter one
_SHORT: Final = 86_400_000  # or a quarter of the turn, if that is less
_EARLY: Final = 0.01  # seconds by which a timer may be early


@dataclass(frozen=True, slots=True)
class CodeDropped(Fleeting):
    """The address that the seat's player has left last is not to be confirmed any more."""

    seat: Seat


@dataclass(frozen=True, slots=True)
class WronglyGuessed(Fleeting):
    """The seat's player has sent a wrong code."""

    seat: Seat


class Owed(NamedTuple):
    """A notice that is still to be sent to a player."""

    kind: Literal["turn", "short", "resumed", "over"]
    number: int  # of events so far in the game, or of the pause that has ended


@dataclass(slots=True, repr=False)
class _Unconfirmed:
    """An address that a player has left, to which a code was sent."""

    to: NoticesTo
    digits: str
    guesses: int = 0
    unreachable: bool = False


@dataclass(slots=True, eq=False, repr=False)
class OwedNotices(Feature):
    """The addresses for notifications, and the turns and pauses that each player knows of.

    What a restart forgets: `_owed` and from when on it may be sent, `_under_way`, and `_arrived`, which may
    not be stored yet.
    """

    requests = (CallMe, Access()), (ConfirmCall, Access())
    own = NoticesTo, Noticed, CodeDropped, WronglyGuessed
    folds_too = (
        *(Taken, Kept, BotSeated, Freed, TokenRevoked, Paused),
        *(Letter, Delivered, PostOpened, Shortened),
    )
    holds_table = True  # nobody can be called once it is archived

    to: dict[Seat, NoticesTo] = field(default_factory=dict)
    # The turn, and whether that its time is short.
    noticed: dict[Seat, tuple[int, bool]] = field(default_factory=dict)
    resumed: dict[Seat, int] = field(default_factory=dict)
    agreed_pause: int = 0  # the number of the last pause until a moment that all have agreed on
    pauses: int = 0
    _has_post: bool = False
    _unconfirmed: dict[str, _Unconfirmed] = field(default_factory=dict)  # by who holds the seat
    _owed: dict[Seat, Owed] = field(default_factory=dict)
    _not_before: dict[Seat, float] = field(default_factory=dict)  # by the table's clock
    _failures: Counter[Seat] = field(default_factory=Counter)
    _under_way: dict[Seat, int] = field(default_factory=dict)  # with the events of the game when it was sent
    _arrived: dict[Seat, tuple[Letter, int]] = field(default_factory=dict)
    _written: frozenset[str] = frozenset()  # those that the journal may hold

    def decide(self, seat: Seat, request: CallMe | ConfirmCall, moment: Moment) -> Sequence[Happening]:  # noqa: ARG002 - as all rooms do
        """Send a code to the address that the player leaves, or forget it; use it when the code returns."""
        holder = self.facts.holder(seat)
        if isinstance(request, CallMe):
            if request.to is not None:
                digits = f"{secrets.randbelow(10**NOTICE_CODE_LENGTH):0{NOTICE_CODE_LENGTH}}"
                to = NoticesTo(seat, request.to, request.language)
                return [Letter(seat, holder, to, "confirm", digits=digits)]
            if seat not in self.to:
                return [CodeDropped(seat)]
            probe("a player forgets an address")
            return [CodeDropped(seat), NoticesTo(seat, "", "")]
        if (wanted := self._unconfirmed.get(holder)) is None:
            raise Refusal(Code.NO_CODE)
        if not hmac.compare_digest(wanted.digits, request.digits):
            raise Refusal(Code.WRONG_CODE).after(WronglyGuessed(seat))
        return [NoticesTo(seat, wanted.to.address, wanted.to.language)]

    def follow(self, moment: Moment) -> Sequence[Happening]:
        """Store the turns that players have seen, and remove addresses that are no longer used."""
        if not (self.to or self._owed or self._arrived or self._written):
            return ()
        self._look(moment)
        known = (
            self._known(seat, Owed(letter.kind, letter.number), events)
            for seat, (letter, events) in self._arrived.items()
            if letter.kind != "confirm" and letter.holder == self.facts.holder(seat)
        )
        follows: list[Happening] = [entry for entries in known for entry in entries]
        if self._written - self._addresses:
            follows.append(Shortened())
        return follows

    def fold(self, entry: Happening) -> bool:
        match entry:
            case NoticesTo(seat, address):
                self.to.pop(Seat(seat), None)
                self._unconfirmed.pop(self.facts.holder(Seat(seat)), None)
                if address:
                    self.to[Seat(seat)] = entry
                    self._written |= {address}
            case Noticed(seat, events, short, pauses):
                self.noticed[Seat(seat)], self.resumed[Seat(seat)] = (events, short), pauses
            case Taken(seat) | Kept(seat) | BotSeated(seat) | Freed(seat) | TokenRevoked(seat):
                for each in (self.to, self.noticed, self.resumed):
                    each.pop(Seat(seat), None)
            case Paused():
                self.pauses += 1
                if entry.until is not None:
                    self.agreed_pause = self.pauses
            case Letter():
                self._send(entry)
            case Delivered():
                self._take_outcome(entry)
            case WronglyGuessed(seat):
                wanted = self._unconfirmed[self.facts.holder(seat)]
                wanted.guesses += 1
                if wanted.guesses >= _GUESSES:
                    probe("a code for an address is guessed too often")
                    del self._unconfirmed[self.facts.holder(seat)]
            case CodeDropped(seat):
                self._unconfirmed.pop(self.facts.holder(seat), None)
            case PostOpened():
                self._has_post = True
            case Shortened():
                self._written = self._addresses
        return False

    def _send(self, letter: Letter) -> None:
        if letter.kind == "confirm":
            self._unconfirmed[letter.holder] = _Unconfirmed(letter.to, letter.digits)
        else:
            self._under_way[letter.seat] = self._events

    def _take_outcome(self, delivered: Delivered) -> None:
        letter, seat = delivered.letter, delivered.letter.seat
        if letter.kind == "confirm":
            wanted = self._unconfirmed.get(letter.holder)
            if delivered.fault is not None and wanted is not None and wanted.digits == letter.digits:
                probe("a code for an address is not delivered")
                wanted.unreachable = True
            return
        events = self._under_way.pop(seat, 0)
        out_of_date = self._owed.get(seat) != (letter.kind, letter.number)
        if out_of_date:
            probe("a notice is out of date when it arrives")
        if delivered.fault is None:
            self._arrived[seat] = letter, events
        elif not out_of_date:
            probe("a notice is not delivered")
            self._failures[seat] += 1
            if self._failures[seat] > len(_RETRIES):
                probe("a notice is given up")
                self._arrived[seat] = letter, events
            else:
                self._not_before[seat] = delivered.at + _RETRIES[self._failures[seat] - 1]

    @classmethod
    def live(cls, entries: Iterable[tuple[int, Entry]]) -> Iterable[int]:
        live: dict[tuple[type[Entry], int], int] = {}
        for number, entry in entries:
            match entry:
                case NoticesTo(seat) | Noticed(seat):
                    live.pop((type(entry), seat), None)
                    if isinstance(entry, Noticed) or entry.address:
                        live[type(entry), seat] = number
                case Taken(seat) | Kept(seat) | BotSeated(seat) | Freed(seat) | TokenRevoked(seat):
                    live.pop((NoticesTo, seat), None)
                    live.pop((Noticed, seat), None)
        return live.values()

    def kept_of(self, seat: Seat) -> Sequence[Entry]:
        kept = list[Entry]()
        if (to := self.to.get(seat)) is not None:
            kept.append(to)
        if seat in self.noticed:
            kept.append(Noticed(seat, *self.noticed[seat], self.resumed[seat]))
        return kept

    @property
    def awaits(self) -> bool:
        return bool(self.to) and self._has_post

    def due(self, moment: Moment) -> Mapping[Seat, float]:
        """Return in how many seconds notifications are due, from when they were first found owed."""
        self._look(moment)
        return {seat: self._wait(seat, moment) for seat in self._owed if seat not in self._under_way}

    def fall_due(self, seat: Seat, moment: Moment) -> Sequence[Happening]:
        self._look(moment)
        owed = self._owed.get(seat)
        if owed is None or seat in self._under_way:
            return ()
        if self._wait(seat, moment) > _EARLY:
            if owed.kind == "short":
                probe("a notice that time is short waits because the clock stopped")
            return ()
        if seat in moment.seated:
            return self._known(seat, owed, self._events)
        if (arrived := self._arrived.get(seat)) is not None and self._is_for(arrived[0], seat, owed):
            probe("a notice has arrived, and that is not stored yet")
            return self._known(seat, owed, arrived[1])
        seconds = None
        if owed.kind in {"turn", "short"} and (left := moment.time_left()) is not None:
            seconds = left // 1000
        holder, attempt = self.facts.holder(seat), self._failures[seat] + 1
        return [Letter(seat, holder, self.to[seat], *owed, seconds=seconds, attempt=attempt)]

    def told(self, seat: Seat | None, why: Occasion) -> Sequence[Notices]:
        """Return the kind and state of the player's address, for newcomers only if there is one."""
        if seat is None:
            return ()
        said, wanted = Notices("none"), self._unconfirmed.get(self.facts.holder(seat))
        to = self.to.get(seat) if wanted is None else wanted.to
        if self._has_post and to is not None:
            state: Literal["unconfirmed", "unreachable", "confirmed"] = "confirmed"
            if wanted is not None:
                state = "unreachable" if wanted.unreachable else "unconfirmed"
            said = Notices(state, "mail" if "@" in to.address else "url")
        return () if why != "changed" and said.state == "none" else [said]

    def _is_for(self, letter: Letter, seat: Seat, owed: Owed) -> bool:
        return (letter.holder, letter.kind, letter.number) == (self.facts.holder(seat), *owed)

    @property
    def _events(self) -> int:
        return self.facts.event_count if self.facts.stage == "playing" else 0

    @property
    def _addresses(self) -> frozenset[str]:
        return frozenset(to.address for to in self.to.values())

    def _look(self, moment: Moment) -> None:
        """Take note of what is owed now, and of when that was seen first: the table may have changed."""
        if not self._has_post:
            return
        for seat in self._owed.keys() - self.to.keys():
            del self._owed[seat]
        for seat in self.to:
            owed = self._owed_to(seat)
            if owed == self._owed.get(seat):
                continue
            del self._failures[seat]
            self._owed.pop(seat, None)
            if owed is not None:
                self._owed[seat] = owed
                seconds = 0.0 if owed.kind == "short" else moment.limits.notice_seconds
                self._not_before[seat] = moment.time + seconds

    def _owed_to(self, seat: Seat) -> Owed | None:
        facts = self.facts
        if facts.stage == "over":
            return Owed("over", 0)
        is_free = seat in facts.bot_seats or seat in facts.stopped
        if facts.stage != "playing" or facts.paused is not None or is_free:
            return None
        if self.resumed.get(seat, 0) < self.agreed_pause:
            return Owed("resumed", self.agreed_pause)
        if facts.turn != seat:
            return None
        noticed, events = self.noticed.get(seat, (0, False)), facts.event_count
        if noticed < (events, False):
            return Owed("turn", events)
        is_told = noticed >= (events, True)
        is_brief = facts.clocks.whole_turn(seat) < _SHORTEST_CLOCK
        return None if is_told or is_brief else Owed("short", events)

    def _wait(self, seat: Seat, moment: Moment) -> float:
        """Return for how many seconds the notice that is owed has to wait; less than 0 if it is late."""
        wait = self._not_before[seat] - moment.time
        if self._owed[seat].kind == "short":  # its clock may have stood still
            short = min(_SHORT, self.facts.clocks.whole_turn(seat) // 4)
            wait = max(wait, ((moment.time_left() or 0) - short) / 1000)
        return wait

    def _known(self, seat: Seat, owed: Owed, events: int) -> Sequence[Entry]:
        """Return what is to be stored as the player knows this since the game had so many events.

        Or cannot be reached. Perhaps it is nothing; it may not be owed now, but again after a holiday or a
        pause. After the end the address is dropped.
        """
        facts = self.facts
        if facts.stage == "over":
            return [NoticesTo(seat, "", "")] if owed.kind == "over" and seat in self.to else []
        if facts.stage != "playing":
            return []
        before = self.noticed.get(seat, (0, False)), self.resumed.get(seat, 0)
        known, pauses = before
        if owed.kind == "resumed":
            pauses = max(pauses, owed.number)
            if owed == self._owed.get(seat):  # who knows this knows whose turn it is
                known = max(known, (events, False))
        elif owed.number == facts.event_count:
            known = max(known, (owed.number, owed.kind == "short"))
        return [] if (known, pauses) == before else [Noticed(seat, *known, pauses)]
