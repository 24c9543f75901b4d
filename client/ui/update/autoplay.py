"""The walk through a scoring, or through a record, that goes on by itself: a step at a time, to be read."""

from dataclasses import replace
from math import ceil
from typing import Final

from client.table import TableModel
from client.ui.texts.sentences import names_at
from client.ui.update import replay
from client.ui.update.actions import Act
from client.ui.update.scoring_steps import last_step, sentence
from client.ui.update.state import Ui
from engine.view import Phase

TICK_SECONDS: Final = 1.0
_LEAST_TICKS: Final = 2
_READ_IN_A_TICK: Final = 20  # characters; people who know the words read faster, and look at the board then


def running(ui: Ui, model: TableModel) -> Ui:
    """Return `ui` with the walk going on by itself, unless it is at its end."""
    if _ended(ui, model):
        return ui
    return replace(ui, rest=_ticks_for(ui, model))


def ticked(ui: Ui, model: TableModel) -> Ui:
    """Return `ui` a tick later: the walk takes its next step when there was time to read the last one."""
    if ui.rest is None or model.view is None:
        return ui
    if ui.rest > 1:
        return replace(ui, rest=ui.rest - 1)
    if ui.replay is not None:
        ui = replay.acted(ui, ui.replay, Act.NEXT, model.view)
        model = replay.seen_in(ui)
    elif not _ended(ui, model):
        ui = replace(ui, step=ui.step + 1)
    return replace(ui, rest=None if _ended(ui, model) else _ticks_for(ui, model))


def _ended(ui: Ui, model: TableModel) -> bool:
    """Tell whether there is nothing further to walk to."""
    if model.view is None:
        return True
    if model.view.phase is Phase.OVER:
        return ui.step >= last_step(model.view)
    return ui.replay is None or ui.replay.stop >= ui.replay.recording.end


def _ticks_for(ui: Ui, model: TableModel) -> int:
    """Return how long it takes to read what is told at this step."""
    told = ui.log[-1] if ui.log else ""
    if model.view is not None and model.view.phase is Phase.OVER:
        told = sentence(model.view, ui.step, names_at(model))
    return max(_LEAST_TICKS, ceil(len(told) / _READ_IN_A_TICK))


def counting(ui: Ui, model: TableModel) -> bool:
    """Tell whether anything on the screen changes as time goes by."""
    if ui.rest is not None or (ui.lost is not None and ui.lost.until is not None):
        return True
    if model.view is None or model.view.phase is Phase.OVER or model.state is None:
        return False
    return model.clock is not None or any(each.seconds_left for each in model.state.seats)
