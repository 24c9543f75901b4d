"""What keys and clicks do in the list of finished games."""

from dataclasses import replace
from typing import Final

from client.language import _
from client.ui.update import requests
from client.ui.update.actions import Act, Action, ChooseLine, Way
from client.ui.update.requests import Request
from client.ui.update.state import History, Notice, Ui

_STEPS: Final = {Way.UP: -1, Way.DOWN: 1, Act.PAGE_UP: -10, Act.PAGE_DOWN: 10}


def acted(ui: Ui, history: History, action: Action) -> tuple[Ui, Request | None]:
    """Return the UI state after a key or a click, and what is to be done with a game, if anything."""
    here = replace(history, removing=False)
    if action is Act.LEAVE:
        return ui, requests.GoHome()
    if not history.games:
        return ui, None
    game = history.games[history.chosen]
    match action:
        case Way() | Act.PAGE_UP | Act.PAGE_DOWN if action in _STEPS:
            there = min(max(history.chosen + _STEPS[action], 0), len(history.games) - 1)
            return replace(ui, page=replace(here, chosen=there)), None
        case ChooseLine(number) if number != history.chosen:
            return replace(ui, page=replace(here, chosen=number)), None
        case Act.CONFIRM | ChooseLine():
            return replace(ui, page=here), requests.ShowGame(game.file)
        case Act.ANALYSE if ui.hosting.analyses:
            return replace(ui, page=here), requests.ShowGame(game.file, analysed=True)
        case Act.SAVE_RECORD | Act.SAVE_PICTURE if ui.hosting.saves:
            picture = action is Act.SAVE_PICTURE
            return replace(ui, page=here), requests.SaveGame(game.file, picture=picture)
        case Act.REMOVE if history.removing:
            return replace(ui, page=here), requests.RemoveGame(game.file)
        case Act.REMOVE:
            text = _("Press x again to remove the game at table {table} for good.")
            asked = replace(history, removing=True)
            return replace(ui, page=asked, notice=Notice(text.format(table=game.table))), None
        case _:
            return replace(ui, page=here), None
