"""Holidays in correspondence games: the clock stops, nobody plays for the player, no notification comes.

A holiday ends when the player says so, moves, or has no days left; each day that has begun counts.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from engine.pieces import Seat
from protocol import settings
from protocol.absence import letter_seconds
from protocol.codes import Code
from protocol.messages import TakeHoliday
from server.probes import probe
from server.refusal import Refusal
from server.storage.entries import BotSeated, Entry, Freed, Kept, OnHoliday, Taken
from server.tables.feature import Access, Feature, Happening, Moment

_DAY: Final = 86_400
_DAYS: Final = 7  # of each player in a correspondence game, unless the host says otherwise


@dataclass(slots=True, eq=False, repr=False)
class Holidays(Feature):
    """The players on holiday, and the days that each has used."""

    requests = ((TakeHoliday, Access()),)
    own = (OnHoliday,)
    folds_too = Taken, Kept, BotSeated, Freed

    since: dict[Seat, int] = field(default_factory=dict)
    days_off: Counter[Seat] = field(default_factory=Counter)  # of holidays that have ended

    def decide(self, seat: Seat, request: TakeHoliday, moment: Moment) -> Sequence[Entry]:
        """Begin the player's holiday, or end it, unless that is the case already."""
        self.facts.check_running()
        if request.on and (seat in self.facts.programs or not self.days_left(seat)):
            raise Refusal(Code.NO_HOLIDAYS)
        if request.on == (seat in self.since):
            return []
        return [*moment.clocks(), OnHoliday(seat, moment.now, request.on)]

    def on_move(self, seat: Seat, now: int) -> Sequence[Entry]:
        if seat not in self.since:
            return ()
        probe("a holiday ends with a move")
        return [OnHoliday(seat, now, on=False)]

    def fold(self, entry: Happening) -> bool:
        match entry:
            case OnHoliday(seat, at, on=True):
                self.since[Seat(seat)] = at
            case OnHoliday(seat, at):
                if (since := self.since.pop(Seat(seat), None)) is not None:
                    self.days_off[Seat(seat)] += max(1, math.ceil((at - since) / _DAY))
            case Taken(seat) | Kept(seat) | BotSeated(seat) | Freed(seat):  # by somebody else
                self.since.pop(Seat(seat), None)
        return True

    @classmethod
    def live(cls, entries: Iterable[tuple[int, Entry]]) -> Iterable[int]:
        """Return the entries that count: a holiday is void if somebody else has taken the seat during it."""
        live, begun = list[int](), dict[int, int]()
        for number, entry in entries:
            match entry:
                case OnHoliday(seat, on=True):
                    begun[seat] = number
                case OnHoliday(seat) if seat in begun:
                    live += [begun.pop(seat), number]
                case Taken(seat) | Kept(seat) | BotSeated(seat) | Freed(seat):
                    begun.pop(seat, None)
        return [*live, *begun.values()]

    def kept_of(self, seat: Seat) -> Sequence[Entry]:
        since = self.since.get(seat)
        return () if since is None else [OnHoliday(seat, since, on=True)]

    @property
    def awaits(self) -> bool:
        return bool(self.since)

    def due(self, moment: Moment) -> Mapping[Seat, float]:
        if self.facts.stage != "playing":  # nothing ends a holiday after the game
            return {}
        return {seat: self._until(seat) - moment.now for seat in self.since}

    def fall_due(self, seat: Seat, moment: Moment) -> Sequence[Entry]:
        if seat not in self.since or self.facts.stage != "playing":
            return ()
        if self._until(seat) - moment.now >= 1:
            probe("a holiday is not over when that is due")
            return ()
        return [*moment.clocks(), OnHoliday(seat, moment.now, on=False)]

    @property
    def stopped(self) -> Collection[Seat]:
        return self.since

    def excused(self, seat: Seat) -> float:
        return self._until(seat) if seat in self.since else 0

    def shown(self, _: Moment) -> Mapping[str, Any]:
        return {"holidays": self.days}

    def shown_of(self, seat: Seat, _: Moment) -> Mapping[str, Any]:
        if self.facts.stage != "playing":
            return {}
        left = 0 if seat in self.facts.programs else self.days_left(seat)
        return {"holidays": left, "holiday_until": self._until(seat) if seat in self.since else None}

    @property
    def days(self) -> int:
        """Return how many days of holiday each player has."""
        setting = self.facts.settings.get(settings.Holidays)
        days = setting.days if isinstance(setting, settings.Holidays) else _DAYS
        return days if letter_seconds(self.facts.absence) else 0

    def days_left(self, seat: Seat) -> int:
        """Return how many days of holiday the player had left when the last holiday ended."""
        return max(0, self.days - self.days_off[seat])

    def _until(self, seat: Seat) -> int:
        """Return the moment when the player's holiday ends at the latest."""
        return self.since[seat] + _DAY * self.days_left(seat)
