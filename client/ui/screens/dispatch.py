"""Pure functions from the UI state and an action to the next state, and to what is asked of the server."""

from dataclasses import replace
from typing import Final

from client.language import _
from client.tables.table import TableModel
from client.ui import requests
from client.ui.actions import Act, Action, Hover, Insert, PointAt
from client.ui.keys import Key, action_of
from client.ui.requests import Request
from client.ui.screens import autoplay, typed_line
from client.ui.screens.news import followed
from client.ui.screens.overlays import Quitting
from client.ui.screens.playing import LAYING_KEYS, PLACING_KEYS, Playing
from client.ui.screens.reading import opened
from client.ui.state import Notice, Outage, Outcome, Ui, with_game
from client.ui.texts.events import confirmation
from engine.board import Hex
from engine.events import LayTile, Place
from protocol.messages import Leave, ListTables

_OURS: Final = requests.Quit, requests.GoHome, requests.LookBack  # not for a server


def pressed(ui: Ui, name: str, model: TableModel) -> Outcome:
    """Return what a key does."""
    ui = followed(ui, model)
    action = action_of(name, keys_now(ui, model))
    if action is None and ui.entry is not None and len(name) == 1 and name.isprintable():
        action = Insert(name)
    return (replace(ui, ticks_left=None), None) if action is None else updated(ui, action, model)


def keys_now(ui: Ui, model: TableModel) -> tuple[Key, ...]:
    """Return the keys that do something now: of the line being typed, or else of what is on top."""
    return typed_line.KEYS if ui.entry is not None else (ui.overlay or ui.page).keys(model)


def updated(ui: Ui, action: Action, model: TableModel) -> Outcome:
    """Return the UI state after `action`, and what to ask of the server, if anything."""
    ui = followed(ui, model)
    if isinstance(action, Hover):
        return _hovering(ui, action.cell), None
    if ui.ticks_left is not None and action is Act.RUN:
        return autoplay.faster(ui, model), None
    if ui.ticks_left is not None and (action is Act.NEXT or isinstance(action, PointAt)):
        return replace(ui, ticks_left=None), None  # a player who stops the walk wants to stay there
    heard = replace(ui.talk, echoed=False) if ui.talk.echoed else ui.talk
    notice = ui.notice if action is Act.WHOLE else None  # which is about to be read
    before = replace(
        _hovering(ui, None), notice=notice, ticks_left=None, asked=None, ponders=False, talk=heard
    )
    after, request = _acted(before, action, model)
    if (
        ui.asked is not None
        and keys_now(ui, model) in {LAYING_KEYS, PLACING_KEYS}
        and action in {Act.CONFIRM, Act.CANCEL}
    ):
        after = replace(ui, notice=None, asked=None)
        request = ui.asked if action is Act.CONFIRM else None
    if ui.confirms and isinstance(request, LayTile | Place) and request != ui.asked:
        return replace(after, asked=request, notice=Notice(confirmation(request))), None
    if request is None or not ui.page.at_server or isinstance(request, _OURS):
        return after, request
    if isinstance(request, requests.Hint):  # which is worked out here
        if ui.ponders:  # and stopped by any key, this one too
            return after, None
        told = Notice(_("Looking for a good move ... Any key stops the search."))
        return replace(after, ponders=True, notice=told), request
    if ui.lost is not None:
        return _without_connection(after, ui.lost, request)
    if ui.busy:
        return replace(ui, notice=Notice(_("One moment: the server has not answered yet."))), None
    return replace(after, sent=ui.entry, busy=not isinstance(request, ListTables)), request


def _without_connection(ui: Ui, outage: Outage, request: Request) -> Outcome:
    """Keep one request until the connection is back, and say so."""
    if outage.until is None and isinstance(request, Leave):
        return ui, requests.GoHome() if ui.hosting.home else requests.Quit()
    if outage.until is None:
        return replace(ui, notice=Notice(outage.reason)), None
    if isinstance(request, ListTables):
        return replace(ui, notice=Notice(_("There is no connection: the list may be out of date."))), None
    if ui.busy:
        kept = _("There is no connection. Your earlier action will be sent when it is back.")
        return replace(ui, notice=Notice(kept)), None
    kept = _("There is no connection. Your action will be sent when it is back.")
    return replace(ui, notice=Notice(kept), busy=True), request


def _hovering(ui: Ui, cell: Hex | None) -> Ui:
    """Return `ui` with the mouse over this hex of the board, or over none, if a game is running."""
    table = ui.page.game
    if not isinstance(table, Playing) or table.hovered == cell:
        return ui
    return with_game(ui, replace(table, hovered=cell))


def _acted(ui: Ui, action: Action, model: TableModel) -> Outcome:
    if ui.entry is not None:
        return typed_line.acted(ui, ui.entry, action, model)
    if isinstance(ui.overlay, Quitting):
        return ui.overlay.act(ui, action, model)
    if (over_it := opened(ui, action, model)) is not None:
        return over_it
    if ui.overlay is None and action is Act.RUN:
        return autoplay.started(ui, model), None
    return (ui.overlay or ui.page).act(ui, action, model)
