"""The steps of the walk through the scoring: every soldier, every piece, every hill, the result."""

from collections.abc import Sequence

from msgspec import Struct

from client.ui.texts.events import describe_event
from client.ui.texts.scoring import describe_influence
from client.ui.update.state import Result, Scoring
from engine.board import Tile
from engine.events import Captured, HillScored, ScoringEvent, SoldierFled
from engine.view import View


def at_step(view: View, step: int) -> Scoring | Result:
    """Return the page of a step, or of the nearest one."""
    return Scoring(max(step, 0)) if step < last_step(view) else Result()


def step_of(page: Scoring | Result, view: View) -> int:
    """Return the number of the step that the page is about."""
    last = last_step(view)
    return min(page.step, last) if isinstance(page, Scoring) else last


def next_hill_step(view: View, step: int) -> int:
    """Return the first step of the next hill, or the result after the last one."""
    hills = [hill_of(view.scoring[each.event]) for each in steps(view)]
    return next((at for at in range(step, len(hills)) if hills[at] != hills[step]), len(hills) - 1)


def hill_of(event: ScoringEvent) -> Tile | None:
    """Return the hill that is being scored; None before the first and after the last."""
    return event.hill if isinstance(event, SoldierFled | Captured | HillScored) else None


def last_step(view: View) -> int:
    """Return the number of the walk-through's last step, which is the result."""
    return len(steps(view)) - 1


def steps(view: View) -> tuple["Step", ...]:
    """Return the steps of the walk through the scoring."""
    found: list[Step] = []
    for index, event in enumerate(view.scoring):
        if isinstance(event, HillScored):
            found.extend(Step(index, part) for part in range(len(event.pieces)))
        found.append(Step(index, None))
    return tuple(found)


class Step(Struct, frozen=True):
    """A step of the walk-through: a scoring event, or one piece's part in it."""

    event: int
    part: int | None


def sentence(view: View, number: int, names: Sequence[str]) -> str:
    """Return the sentence of a step."""
    step = steps(view)[number]
    event = view.scoring[step.event]
    if isinstance(event, HillScored) and step.part is not None:
        return describe_influence(event.pieces[step.part], names)
    return describe_event(event, names)
