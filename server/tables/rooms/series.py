"""A series of games: after one, its players play again at another table.

All is as it was there, but the next player clockwise starts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from engine.pieces import Seat
from protocol.codes import Code
from protocol.messages import Rematch
from protocol.settings import AbsenceSetting, Starting
from server.refusal import Refusal
from server.storage.entries import Changed, Continued, Entry, Hosted, SeatsFollow
from server.tables.feature import Access, Feature, GoesOn, Happening, Moment


@dataclass(slots=True, eq=False, repr=False)
class Series(Feature):
    """The table of the next game in the series, and the players who have moved there."""

    requests = ((Rematch, Access(at_evening=False)),)
    own = (Continued,)
    folds_too = (GoesOn,)

    next_table: str | None = None
    _gone_on: frozenset[Seat] = frozenset()

    def decide(self, seat: Seat, request: Rematch, moment: Moment) -> Sequence[GoesOn]:  # noqa: ARG002 - as all rooms do
        """Move the player to the next game's table; the first who asks opens it, with a seat for each."""
        facts, first = self.facts, self.facts.first
        if facts.stage != "over" or first is None:
            raise Refusal(Code.NOT_OVER)
        opened = replace(facts.opened, starting=(first + 1) % len(facts.names), absence=facts.absence)
        host = [] if facts.host is None else [Hosted(facts.host)]
        settings = (
            each for each in facts.settings.values() if not isinstance(each, Starting | AbsenceSetting)
        )
        entries = [*facts.kept_seats, *host, *map(Changed, settings)]
        if facts.seats_follow:
            entries.insert(0, SeatsFollow())
        return [GoesOn(seat, self.next_table, opened, entries, Continued)]

    def fold(self, entry: Happening) -> bool:
        match entry:
            case Continued(code):
                self.next_table = code
            case GoesOn(seat):
                self._gone_on |= {seat}
        return True

    @classmethod
    def live(cls, entries: Iterable[tuple[int, Entry]]) -> Iterable[int]:
        return [number for number, _ in entries][-1:]

    def shown(self, _: Moment) -> Mapping[str, Any]:
        return {"next": self.next_table}

    def shown_of(self, seat: Seat, _: Moment) -> Mapping[str, Any]:
        return {"again": True} if seat in self._gone_on else {}
