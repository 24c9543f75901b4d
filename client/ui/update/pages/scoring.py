"""What keys and clicks do after a game: walking through the scoring, and what follows the result."""

from dataclasses import replace

from client.language import _
from client.tables.table import TableModel
from client.ui.update import requests
from client.ui.update.actions import Act, Action, PointAt
from client.ui.update.requests import Request
from client.ui.update.state import Notice, Result, Scoring, Ui
from client.ui.update.table.scoring_steps import at_step, next_hill_step, step_of
from engine.view import View


def acted(
    ui: Ui, page: Scoring | Result, action: Action, view: View, model: TableModel
) -> tuple[Ui, Request | None]:
    """Return the UI state after a key or a click, and what is asked of the server."""
    step = step_of(page, view)
    match action:
        case Act.NEXT | PointAt():
            return replace(ui, page=at_step(view, step + 1)), None
        case Act.BACK:
            return replace(ui, page=at_step(view, step - 1)), None
        case Act.NEXT_HILL:
            return replace(ui, page=at_step(view, next_hill_step(view, step))), None
        case Act.FIRST:
            return replace(ui, page=Scoring()), None
        case Act.SKIP:
            return replace(ui, page=Result()), None
        case _:
            return left_or_again(ui, action, model)


def left_or_again(ui: Ui, action: Action, model: TableModel) -> tuple[Ui, Request | None]:
    """Return the UI state after a key at a table whose game is over."""
    match action:
        case Act.LEAVE:
            return ui, requests.Leave()
        case Act.REMATCH:
            return _playing_again(ui, model)
        case Act.REVIEW if ui.hosting.looks_back:
            return ui, requests.Review()
        case Act.ANALYSE if ui.hosting.analyses:
            return ui, requests.Review(analysed=True)
        case Act.SAVE_RECORD if ui.hosting.saves:
            return ui, requests.SaveRecord()
        case Act.SAVE_PICTURE if ui.hosting.saves:
            return ui, requests.SavePicture()
        case _:
            return ui, None


def _playing_again(ui: Ui, model: TableModel) -> tuple[Ui, Request | None]:
    """Play again, or watch those who do."""
    if model.seat is not None:
        return ui, requests.Rematch()
    if model.state is not None and model.state.next is not None:
        return ui, requests.WatchNext(model.state.next)
    return replace(ui, notice=Notice(_("You are watching: the players decide whether to play again."))), None
