"""Looking back on a finished game together: somebody leads, or goes on from a step of it at another table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from engine.pieces import Seat
from protocol.absence import WAIT
from protocol.codes import Code
from protocol.messages import Seen, Show, Shown, SpectatorSummary, Studied, Study
from protocol.settings import AbsenceSetting, Hints, Holidays, Starting
from server.refusal import Refusal
from server.storage.entries import Changed, OfStudy, Taken
from server.tables.feature import Access, Came, Feature, Fleeting, Happening, Moment, Opening, Went


@dataclass(frozen=True, slots=True)
class Led(Fleeting):
    """Somebody leads the others to a step of the finished game, or stops leading."""

    by: Seat | SpectatorSummary
    step: int | None


@dataclass(frozen=True, slots=True)
class HasSeen(Fleeting):
    """The seat's player has seen the finished game up to this step."""

    seat: Seat
    step: int


@dataclass(frozen=True, slots=True)
class StudyOpened(Fleeting):
    """The seat's player has opened a table where the finished game continues from one of its steps."""

    table: str
    step: int
    seat: Seat


@dataclass(slots=True, eq=False, repr=False)
class LookingBack(Feature):
    """The leader through the finished game, what each has seen, and its last study; none of it is stored."""

    requests = (Show, Access(of_spectators=True)), (Seen, Access()), (Study, Access(at_evening=False))
    own = Led, HasSeen, StudyOpened
    folds_too = Came, Went

    leading: tuple[Seat | SpectatorSummary, int] | None = None
    studied: Studied | None = None
    _seen: dict[Seat, int] = field(default_factory=dict)  # up to which step

    def decide(self, by: Any, request: Show | Seen | Study, moment: Moment) -> Sequence[Happening]:
        """Lead through the finished game or stop, say what has been seen, or open a study from a step."""
        self.facts.check_finished()
        if isinstance(request, Study):
            return [self._study(by, request.step)]
        if isinstance(request, Seen):
            return [HasSeen(by, request.step)]
        if self.leading is not None and self._shown(moment) is not None and self.leading[0] != by:
            raise Refusal(Code.LED_ALREADY)
        return [Led(by, request.step)]

    def _study(self, seat: Seat, step: int) -> Opening:
        """Return a table with vacant seats, at which players may have moves suggested."""
        facts = self.facts
        others = AbsenceSetting | Hints | Holidays | Starting
        settings = [each for each in facts.settings.values() if not isinstance(each, others)]
        entries = [
            OfStudy(),
            *(Taken(at, name, "", vacant=True) for at, name in enumerate(facts.names)),
            *map(Changed, [*settings, Hints(on=True)]),
            *facts.played_until(step),
        ]
        opened = replace(facts.opened, players=len(facts.names), starting=None, absence=WAIT)
        return Opening(opened, entries, lambda table: StudyOpened(table, step, seat))

    def fold(self, entry: Happening) -> bool:
        match entry:
            case Led(by, step):
                self.leading = None if step is None else (by, step)
            case HasSeen(seat, step):
                self._seen[seat] = max(step, self._seen.get(seat, 0))
            case Came(seat) | Went(seat):
                if self.leading is None or self.leading[0] != seat:
                    return False
                self.leading = None
            case StudyOpened(table, step, seat):
                self.studied = Studied(table, step, seat)
        return True

    def shown(self, moment: Moment) -> Mapping[str, Any]:
        return {"shown": self._shown(moment), "studied": self.studied}

    def _shown(self, moment: Moment) -> Shown | None:
        """Return where somebody leads through the finished game, unless they have gone."""
        match self.leading:
            case SpectatorSummary(number) as spectator, step if spectator in moment.spectators:
                return Shown(step, spectator=number, seen=self._seen_by(step))
            case int(seat), step if seat in moment.seated:
                return Shown(step, seat, seen=self._seen_by(step, leader=seat))
        return None

    def _seen_by(self, step: int, leader: Seat | None = None) -> list[int]:
        """Return the seats of the others whose players have seen the step."""
        return sorted(seat for seat, seen in self._seen.items() if seen >= step and seat != leader)
