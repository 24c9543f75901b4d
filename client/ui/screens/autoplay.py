"""The walk through a scoring or a record that goes on by itself, at the pace of a reader."""

from dataclasses import replace
from math import ceil
from typing import Final

from client.tables.table import TableModel
from client.ui.actions import Act
from client.ui.screens import replay
from client.ui.screens.playing import Playing
from client.ui.screens.replay import Replay
from client.ui.screens.scoring import Result, Scoring, at_step, sentence, step_of
from client.ui.state import Ui
from client.ui.texts.people import names_at
from engine.view import Phase

TICK_SECONDS: Final = 1.0
_READ_IN_A_TICK: Final = (20, 40, 80)  # characters, by speed; at the first, everybody can read everything
_LEAST_TICKS: Final = (2, 1, 1)
SPEEDS: Final = len(_READ_IN_A_TICK)


def started(ui: Ui, model: TableModel) -> Ui:
    """Return `ui` with the walk running, unless it is at its end."""
    return ui if _ended(ui) else replace(ui, ticks_left=_ticks_for(ui, model))


def faster(ui: Ui, model: TableModel) -> Ui:
    """Return `ui` with the walk running at the next speed; after the last comes the first."""
    at_once = replace(ui, speed=(ui.speed + 1) % SPEEDS)
    return replace(at_once, ticks_left=_ticks_for(at_once, model))


def ticked(ui: Ui, model: TableModel) -> Ui:
    """Return `ui` a tick later: the walk takes its next step after enough time to read the last one."""
    view = model.view
    if ui.ticks_left is None or view is None:
        return ui
    if ui.ticks_left > 1:
        return replace(ui, ticks_left=ui.ticks_left - 1)
    match ui.page:
        case Replay() as page:
            ui, _request = page.act(ui, Act.NEXT, model)
            model = replay.seen_in(ui)
        case Scoring(step):
            ui = replace(ui, page=at_step(view, step + 1))
        case _:
            pass
    return replace(ui, ticks_left=None if _ended(ui) else _ticks_for(ui, model))


def counting(ui: Ui, model: TableModel) -> bool:
    """Return whether anything on the screen changes with time."""
    if ui.ticks_left is not None or ui.stops_at is not None:
        return True
    if ui.lost is not None and ui.lost.until is not None:
        return True
    if model.view is None or model.view.phase is Phase.OVER or model.state is None:
        return False
    if model.state.paused is not None:
        return True
    return model.clock is not None or any(each.seconds_left for each in model.state.seats)


def _ended(ui: Ui) -> bool:
    """Return whether the walk is at its end."""
    match ui.page:
        case Scoring() | Replay(table=Scoring()):
            return False
        case Replay(recording, stop, table=Playing()):
            return stop >= recording.end
        case _:
            return True


def _ticks_for(ui: Ui, model: TableModel) -> int:
    """Return how long it takes to read the sentence of this step."""
    told = ui.log[-1] if ui.log else ""
    page = ui.page.game
    if model.view is not None and isinstance(page, Scoring | Result):
        told = sentence(model.view, step_of(page, model.view), names_at(model))
    return max(_LEAST_TICKS[ui.speed], ceil(len(told) / _READ_IN_A_TICK[ui.speed]))
