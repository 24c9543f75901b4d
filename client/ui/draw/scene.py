"""The steps of the scoring as scenes: what was on the board, and what the step points at."""

from collections.abc import Sequence
from dataclasses import replace

from msgspec import Struct

from client.ui.draw.board import NOBODY, Marks
from client.ui.texts.scoring import amounts
from client.ui.update.table.scoring_steps import Step, hill_of, sentence, steps
from engine.board import Tile
from engine.events import Captured, HillScored, Influence, ScoringEvent, SoldierFled
from engine.scoring import points_won
from engine.view import View


class Scene(Struct, frozen=True):
    """A step of the walk-through, ready to be drawn.

    `acts` are what the hill's soldiers do, `counted` the pieces whose influence has been counted, the last
    one being `counting`; `points` is what each seat has won so far.
    """

    event: ScoringEvent
    board: View
    marks: Marks
    sentence: str
    hill: Tile | None
    acts: tuple[SoldierFled | Captured, ...]
    counted: tuple[Influence, ...]
    counting: Influence | None
    points: tuple[int, ...]


def scene(view: View, number: int, names: Sequence[str]) -> Scene:
    """Return the scene of a step."""
    step = steps(view)[number]
    event = view.scoring[step.event]
    hill = hill_of(event)
    earlier = view.scoring[: step.event]
    acts = tuple(
        act for act in (*earlier, event) if isinstance(act, SoldierFled | Captured) and act.hill == hill
    )
    # A hill's soldiers act at once: each of them sees the board as it was before all of them (R5.4).
    acting = isinstance(event, SoldierFled | Captured)
    counted = (
        event.pieces[: None if step.part is None else step.part + 1] if isinstance(event, HillScored) else ()
    )
    finished = (*earlier, event) if step.part is None else earlier
    return Scene(
        event=event,
        board=_board_after(view, earlier[: len(earlier) - len(acts) + 1] if acting else earlier),
        marks=_marks(view, event, step, finished),
        sentence=sentence(view, number, names),
        hill=hill,
        acts=acts,
        counted=counted,
        counting=None if step.part is None else counted[-1],
        points=points_won(finished, view.seats),
    )


def _board_after(view: View, events: Sequence[ScoringEvent]) -> View:
    board = replace(view, placed=dict(view.placed), gone=set(), scoring=(), result=None)
    for event in events:
        board.fold(event)
    return board


def _marks(view: View, event: ScoringEvent, step: Step, finished: Sequence[ScoringEvent]) -> Marks:
    marks = Marks(
        won={
            each.hill: view.start.peoples[each.leaders[0]][0].value if len(each.leaders) == 1 else NOBODY
            for each in finished
            if isinstance(each, HillScored)
        },
    )
    hexes = view.layout.hexes
    match event:
        case SoldierFled():
            return replace(marks, cursor=hexes[event.field])
        case Captured():
            captives = frozenset((*event.taken, *event.shared))
            return replace(marks, cursor=hexes[event.field], captives=captives)
        case HillScored() if step.part is not None:
            piece = event.pieces[step.part]
            notes = {field: f"+{amount}" for field, amount in amounts(piece).items()}
            return replace(marks, cursor=hexes[piece.field], notes=notes)
        case HillScored():
            return replace(marks, cursor=view.layout.hills[event.hill])
        case _:
            return marks
