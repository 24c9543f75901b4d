"""Pure functions from the UI state and an action to the next state, and to what is asked of the server."""

from dataclasses import replace
from typing import Final, TypeAlias, assert_never

from client.language import _
from client.tables.table import TableModel
from client.ui import requests
from client.ui.actions import Act, Action, Hover, PointAt, Scrollable
from client.ui.keys import KeyContext, action_of, context_of
from client.ui.lessons import lesson
from client.ui.requests import Request
from client.ui.screens import (
    autoplay,
    gathering,
    history,
    lobby,
    menu,
    playing,
    replay,
    scoring,
    search,
    start,
    typed_line,
)
from client.ui.screens.overlays import opened, read_on, read_talk
from client.ui.state import (
    Ended,
    Gathering,
    History,
    Lesson,
    Lobby,
    Notice,
    Outage,
    Playing,
    Quitting,
    Reading,
    Replay,
    Result,
    Scoring,
    Search,
    Start,
    TableMenu,
    TalkPage,
    Ui,
    followed,
    table_page,
    with_table_page,
)
from client.ui.texts.events import confirmation
from engine.board import Hex
from engine.events import LayTile, Place
from protocol.messages import Leave, ListTables

Outcome: TypeAlias = tuple[Ui, Request | None]

# Not for a server.
_OURS: Final = (
    requests.Quit,
    requests.GoHome,
    requests.LookBack,
    requests.TurnPage,
    requests.Analyse,
    requests.StopAnalysis,
)
_ON_TURN: Final = frozenset({KeyContext.LAYING, KeyContext.PLACING})


def pressed(ui: Ui, name: str, model: TableModel) -> Outcome:
    """Return what a key does, according to the table of keys."""
    ui = followed(ui, model)
    action = action_of(name, context_of(ui, model))
    return (replace(ui, ticks_left=None), None) if action is None else updated(ui, action, model)


def updated(ui: Ui, action: Action, model: TableModel) -> Outcome:
    """Return the UI state after `action`, and what to ask of the server, if anything."""
    ui = followed(ui, model)
    if isinstance(action, Hover):
        return _hovering(ui, action.cell), None
    if isinstance(action, Scrollable):
        return _scrollable(ui, action.last_top), None
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
    if ui.asked is not None and context_of(ui, model) in _ON_TURN and action in {Act.CONFIRM, Act.CANCEL}:
        after = replace(ui, notice=None, asked=None)
        request = ui.asked if action is Act.CONFIRM else None
    if ui.confirms and isinstance(request, LayTile | Place) and request != ui.asked:
        return replace(after, asked=request, notice=Notice(confirmation(request))), None
    if request is None or isinstance(ui.page, Start | Search | History) or isinstance(request, _OURS):
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


def _scrollable(ui: Ui, last_top: int) -> Ui:
    """Return `ui` with its text scrolled no further than it can be."""
    if isinstance(ui.overlay, TalkPage):
        return replace(ui, overlay=replace(ui.overlay, last_top=last_top))
    if not isinstance(ui.overlay, Reading):
        return replace(ui, page=lesson.scrollable(ui.page, last_top)) if isinstance(ui.page, Lesson) else ui
    top = min(ui.overlay.top, last_top)
    return replace(ui, overlay=replace(ui.overlay, top=top, last_top=last_top))


def _hovering(ui: Ui, cell: Hex | None) -> Ui:
    """Return `ui` with the mouse over this hex of the board, or over none, if a game is running."""
    table = table_page(ui)
    if not isinstance(table, Playing) or table.hovered == cell:
        return ui
    return with_table_page(ui, replace(table, hovered=cell))


def _acted(ui: Ui, action: Action, model: TableModel) -> Outcome:
    if ui.entry is not None:
        return typed_line.acted(ui, ui.entry, action, model)
    if isinstance(ui.overlay, Quitting):
        return replace(ui, overlay=None), ui.overlay.request if action is Act.CONFIRM else None
    if (over_it := opened(ui, action, model)) is not None:
        return over_it
    if isinstance(ui.overlay, TableMenu):
        return menu.acted(ui, ui.overlay, action, model)
    if isinstance(ui.overlay, Reading):
        return read_on(ui, ui.overlay, action), None
    if isinstance(ui.overlay, TalkPage):
        return read_talk(ui, ui.overlay, action), None
    if ui.overlay is not None:
        return (replace(ui, overlay=None) if action is Act.CANCEL else ui), None
    return _on_page(ui, action, model)


def _on_page(ui: Ui, action: Action, model: TableModel) -> Outcome:
    if action is Act.RUN:
        return autoplay.started(ui, model), None
    page, view = ui.page, model.view
    match page:
        case Start():
            return start.acted(ui, page, action)
        case Search():
            return search.acted(ui, page, action)
        case History():
            return history.acted(ui, page, action)
        case Lobby():
            return lobby.acted(ui, page, action)
        case Gathering():
            return gathering.acted(ui, action, model)
        case Playing():
            return playing.acted(ui, page, action, model)
        case Ended():
            return scoring.left_or_again(ui, action, model)
        case Scoring() | Result() | Replay() | Lesson() if view is None:
            return ui, None
        case Scoring() | Result():
            return scoring.acted(ui, page, action, view, model)
        case Replay():
            return replay.acted(ui, page, action, view), replay.request(page, action)
        case Lesson():
            return lesson.acted(ui, page, action, view, model)
        case _:
            assert_never(page)
