"""What becomes of a page of the lessons: how it opens, and what the pupil's doings make of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

from client.language import _
from client.table import TableModel
from client.ui.lessons.example import NAMES
from client.ui.lessons.goals import (
    BeRefused,
    Catch,
    Earn,
    Goal,
    PlaceOn,
    PointTo,
    Walk,
    act_of,
    arrived,
    fulfilled,
    influence_of,
    walked,
)
from client.ui.lessons.pages import PAGES, Page
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.sentences import describe_influence, describe_soldier, names_at
from client.ui.update.scoring_steps import last_step
from client.ui.update.state import Lesson, Notice, Ui
from engine.errors import IllegalCommand
from engine.events import Command, Event, Place
from engine.legal import Legal
from engine.redaction import redacted
from engine.view import Phase, eyes_of, folded
from protocol.messages import SeatLine, TableState

_TABLE: Final = "lessons"


class Practice(Protocol):
    """A game that the pupil practises on: the engine's own."""

    events: list[Event]

    def legal(self) -> Legal | None: ...

    def apply(self, command: Command) -> Sequence[Event]: ...


def opened(number: int, name: str, model: TableModel, glyphs: GlyphSet) -> Ui:
    """Return the UI state when the page opens on the moment that `model` shows."""
    page = PAGES[number]
    task = _filled(page.task, page.goal, glyphs)
    lesson = Lesson(number, points=isinstance(page.goal, PointTo), last=page is PAGES[-1])
    ui = Ui(name=name, lesson=lesson, log=(f"{glyphs.pointer} {task}",))
    if (view := model.view) is None:
        return ui
    ui = replace(ui, last=next(reversed(view.placed), None))
    if page.cursor is not None:
        ui = replace(ui, cursor=view.layout.hexes[page.cursor])
    if isinstance(page.goal, Walk):
        first, last = walked(page.goal, view)
        ui = replace(ui, step=first, lesson=replace(lesson, walk=(first, last)))
    elif view.phase is Phase.OVER:
        ui = replace(ui, step=last_step(view))
    return judged(ui, model, glyphs)


def seen(practice: Practice, page: Page, name: str) -> TableModel:
    """Return the table as the page shows it."""
    seats = [SeatLine(each, here=True) for each in (name, *NAMES)]
    eyes = eyes_of(page.eyes)
    legal = practice.legal()
    return TableModel(
        _TABLE,
        page.eyes,
        state=TableState(_TABLE, "playing", seats, 0),
        view=folded([redacted(event, eyes) for event in practice.events], eyes),
        seq=len(practice.events),
        legal=legal if legal is not None and legal.seat == page.eyes else None,
    )


def text_of(page: Page, glyphs: GlyphSet) -> tuple[str, ...]:
    """Return the paragraphs of the page."""
    return tuple(_filled(paragraph, page.goal, glyphs) for paragraph in page.text)


def judged(ui: Ui, model: TableModel, glyphs: GlyphSet) -> Ui:
    """Return `ui` with its page done if the pupil has come where it wants them."""
    lesson, view = ui.lesson, model.view
    if lesson is None or lesson.done or view is None:
        return ui
    page = PAGES[lesson.page]
    return _done(ui, page.done, glyphs, _foreseen(page.goal, model)) if arrived(page.goal, ui, view) else ui


def _foreseen(goal: Goal, model: TableModel) -> str:
    """Return what the soldier pointed at would do if its hill were scored now; empty if there is none."""
    act = act_of(model, goal.field) if isinstance(goal, PointTo) else None
    return "" if act is None else describe_soldier(act, names_at(model))


def moved(ui: Ui, command: Command, model: TableModel, glyphs: GlyphSet) -> Ui | None:
    """Return the UI state after the pupil's move, with which `model` is as it is; None if it strays."""
    if (lesson := ui.lesson) is None:
        return None
    page = PAGES[lesson.page]
    if not fulfilled(page.goal, command, model):
        return None
    ui = replace(ui, busy=False)
    if not isinstance(command, Place):
        return _done(ui, page.done, glyphs)
    ui = replace(ui, last=command.field, piece=None)
    names = names_at(model)
    match page.goal:
        case Earn():
            influence = influence_of(model, command.field)
            told = "" if influence is None else describe_influence(influence, names)
            ui = replace(ui, lesson=replace(lesson, shown=influence))
        case Catch():
            act = act_of(model, command.field)
            told = "" if act is None else describe_soldier(act, names)
        case _:
            told = ""
    return _done(ui, page.done, glyphs, told)


def strayed(ui: Ui) -> Ui:
    """Return the UI state after a move that the rules allow and the page does not ask for."""
    return replace(
        ui,
        busy=False,
        notice=Notice(
            _("The rules allow that, but this page asks for something else. Your move was taken back.")
        ),
    )


def out_of_place(ui: Ui) -> Ui:
    """Return the UI state after something that is asked of a server."""
    return replace(ui, busy=False, notice=Notice(_("These are lessons: nobody else is here.")))


def refused(ui: Ui, error: IllegalCommand, sentence: str, command: Command, glyphs: GlyphSet) -> Ui:
    """Return the UI state after a move that the rules forbid, for the reason in `sentence`."""
    ui = replace(ui, busy=False, notice=Notice(sentence, refusal=True))
    if ui.lesson is None or not isinstance(goal := PAGES[ui.lesson.page].goal, BeRefused):
        return ui
    there = goal.field is None or (isinstance(command, Place) and command.field == goal.field)
    return _done(ui, PAGES[ui.lesson.page].done, glyphs) if error.fault is goal.fault and there else ui


def _done(ui: Ui, praise: str, glyphs: GlyphSet, told: str = "") -> Ui:
    if ui.lesson is None:
        return ui
    page = PAGES[ui.lesson.page]
    ui = replace(ui, lesson=replace(ui.lesson, done=True))
    if not praise:  # a page that is only read
        return ui
    said = " ".join(filter(None, (_filled(praise, page.goal, glyphs), told)))
    return replace(ui, log=(said,))


def _filled(text: str, goal: Goal, glyphs: GlyphSet) -> str:
    """Return the text in the language in use, with what it leaves open."""
    match goal:
        case PointTo(field) | PlaceOn(field) | BeRefused(field=field):
            pass
        case _:
            field = None
    least = goal.least if isinstance(goal, Earn | Catch) else ""
    return _(text).format(field=field or "", least=least, spring=glyphs.spring, arrow=glyphs.arrow)
