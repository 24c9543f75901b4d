"""What keys and clicks do in a lesson: doing what it asks, and turning its pages."""

from dataclasses import replace
from typing import Final

from client.language import _
from client.tables.table import TableModel
from client.ui.update import requests
from client.ui.update.actions import Act, Action, PointAt, Way
from client.ui.update.pages import playing
from client.ui.update.requests import Request, TurnPage
from client.ui.update.state import Lesson, Notice, Playing, Result, Scoring, Ui, with_table_page
from client.ui.update.table.cursor import moved
from client.ui.update.table.scoring_steps import at_step, step_of
from engine.view import View

_PAGES: Final[dict[Action, Request]] = {Act.PAGE_DOWN: TurnPage(1), Act.PAGE_UP: TurnPage(-1)}
_LINES: Final = 4  # no more than the smallest window shows, or some would never be seen
_ON: Final[frozenset[Action]] = frozenset({Act.NEXT, Act.CONFIRM, Way.DOWN, Way.EAST})
_BACK: Final[frozenset[Action]] = frozenset({Act.BACK, Way.UP, Way.WEST})
_TURNING: Final[dict[Action, Request]] = {Act.NEXT: TurnPage(1), Act.BACK: TurnPage(-1)}


def acted(ui: Ui, lesson: Lesson, action: Action, view: View, model: TableModel) -> tuple[Ui, Request | None]:
    """Return the UI state after a key or a click, and the move or the page that is asked for."""
    if lesson.last_top and (top := _scrolled(lesson, action)) != lesson.top:
        return replace(ui, page=replace(lesson, top=top)), None
    if lesson.reads and action not in _PAGES:  # what is done is seen on the board
        lesson = replace(lesson, top=lesson.last_top)
        ui = replace(ui, page=lesson)
    if action is Act.PAGE_DOWN and lesson.last:
        return replace(ui, notice=Notice(_("This is the last page. Press Enter to play."))), None
    if action in _PAGES:
        return ui, _PAGES[action]
    if not isinstance(lesson.table, Playing):
        return _walking(ui, lesson.table, lesson.walk, action, view)
    if lesson.done:
        return _looking(ui, lesson.table, action)
    if action is Act.CANCEL and not _holds_something(lesson.table):
        return ui, requests.Quit()
    if lesson.points and action in {Act.CONFIRM, PointAt(lesson.table.cursor)}:
        return replace(ui, notice=Notice(_("Nothing can be placed on this page: move the cursor."))), None
    return playing.acted(ui, lesson.table, action, model)


def scrollable(lesson: Lesson, last_top: int) -> Lesson:
    """Return the lesson in a window where its text can be scrolled so far: not at all in a large one."""
    top = min(lesson.top, last_top - 1) if lesson.reads or not lesson.last_top else last_top
    return replace(lesson, top=max(top, 0), last_top=last_top)


def _scrolled(lesson: Lesson, action: Action) -> int:
    """Return the first line shown of the text after a key in a small window."""
    top, end = lesson.top, lesson.last_top - 1
    if action is Act.PAGE_DOWN or (lesson.reads and action in _ON):
        return min(top + _LINES, end) if top < end else lesson.last_top
    if action is Act.PAGE_UP or (lesson.reads and action in _BACK):
        return end if top > end else max(top - _LINES, 0)
    return top


def _holds_something(playing: Playing) -> bool:
    """Return whether there is a choice to take back before Esc leaves the lessons."""
    return playing.piece is not None or playing.position is not None or playing.orientation != 0


def _walking(
    ui: Ui, page: Scoring | Result, walk: tuple[int, int] | None, action: Action, view: View
) -> tuple[Ui, Request | None]:
    """Go through the part of the scoring that the lesson is about, or turn the page at its ends."""
    step = step_of(page, view)
    first, last = walk or (step, step)
    match action:
        case Act.NEXT | Way.EAST if step < last:
            return with_table_page(ui, at_step(view, step + 1)), None
        case Act.BACK | Way.WEST if step > first:
            return with_table_page(ui, at_step(view, step - 1)), None
        case _:
            return ui, _TURNING.get(action)


def _looking(ui: Ui, playing: Playing, action: Action) -> tuple[Ui, Request | None]:
    """Look around on a page that is done, or turn it."""
    match action:
        case Way():
            return with_table_page(ui, replace(playing, cursor=moved(playing.cursor, action))), None
        case PointAt(cell):
            return with_table_page(ui, replace(playing, cursor=cell)), None
        case _:
            return ui, _TURNING.get(action)
