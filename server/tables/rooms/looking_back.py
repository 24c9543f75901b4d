"""Looking back on a finished game together: somebody leads, or goes on from a step of it at another table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.pieces import Seat
from protocol.codes import Code
from protocol.messages import Show, Shown, SpectatorSummary, Studied
from server.refusal import Refusal
from server.tables.feature import Access, Came, Facts, Feature, Fleeting, Happening, Moment, StudyOpened, Went


@dataclass(frozen=True, slots=True)
class Led(Fleeting):
    """Somebody leads the others to a step of the finished game, or leads no more."""

    by: Seat | SpectatorSummary
    step: int | None


class LookingBack(Feature):
    """Where somebody leads through the finished game, and the last study of it; nothing of it is stored."""

    requests = ((Show, Access(of_spectators=True)),)
    own = (Led,)
    folds_too = Came, Went, StudyOpened

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self.leading: tuple[Seat | SpectatorSummary, int] | None = None
        self.studied: Studied | None = None

    def decide(self, by: Seat | SpectatorSummary, request: Show, moment: Moment) -> Sequence[Happening]:
        """Lead the others through the finished game, or stop leading."""
        self.facts.check_finished()
        if self.leading is not None and self._shown(moment) is not None and self.leading[0] != by:
            raise Refusal(Code.LED_ALREADY)
        return [Led(by, request.step)]

    def fold(self, entry: Happening) -> bool:
        match entry:
            case Led(by, step):
                self.leading = None if step is None else (by, step)
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
                return Shown(step, spectator=number)
            case int(seat), step if seat in moment.seated:
                return Shown(step, seat)
        return None
