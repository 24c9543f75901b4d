"""A pupil's progress on a page of the lessons: how it opens, and when it is done."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

from client.language import _
from client.tables.table import TableModel
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
from client.ui.lessons.pages import PAGES, LessonPage
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.people import names_at
from client.ui.texts.scoring import describe_influence, describe_soldier
from client.ui.update.state import Lesson, Notice, Playing, Result, Scoring, Ui
from client.ui.update.table.scoring_steps import at_step
from engine.errors import IllegalCommand
from engine.events import Command, Event, Place
from engine.legal import Legal
from engine.redaction import redacted
from engine.view import Phase, View, eyes_of, folded
from protocol.messages import SeatSummary, TableState

_TABLE: Final = "lessons"


class Practice(Protocol):
    """A game to practise on: the engine's own."""

    events: list[Event]

    def legal(self) -> Legal | None: ...

    def apply(self, command: Command) -> Sequence[Event]: ...


def opened(number: int, name: str, model: TableModel, glyphs: GlyphSet, last_top: int = 0) -> Ui:
    """Return the UI state when the page opens on the moment that `model` shows.

    `last_top` is how far the page before could be scrolled, until the window has drawn this one.
    """
    page = PAGES[number]
    task = _filled(page.task, page.goal, glyphs)
    lesson = Lesson(
        number, Playing(), points=isinstance(page.goal, PointTo), last=page is PAGES[-1], last_top=last_top
    )
    if (view := model.view) is not None:
        lesson = _begun(lesson, page, view)
    ui = Ui(name=name, page=lesson, log=(f"{glyphs.pointer} {task}",))
    return judged(ui, model, glyphs)


def _begun(lesson: Lesson, page: LessonPage, view: View) -> Lesson:
    """Return the lesson with what it shows of its game at the beginning."""
    if isinstance(page.goal, Walk):
        first, last = walked(page.goal, view)
        return replace(lesson, table=at_step(view, first), walk=(first, last))
    if view.phase is Phase.OVER:
        return replace(lesson, table=Result())
    playing = Playing(last=next(reversed(view.placed), None))
    if page.cursor is not None:
        playing = replace(playing, cursor=view.layout.hexes[page.cursor])
    return replace(lesson, table=playing)


def seen(practice: Practice, page: LessonPage, name: str) -> TableModel:
    """Return the table as the page shows it."""
    seats = [SeatSummary(each, here=True) for each in (name, *NAMES)]
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


def text_of(page: LessonPage, glyphs: GlyphSet) -> tuple[str, ...]:
    """Return the paragraphs of the page."""
    return tuple(_filled(paragraph, page.goal, glyphs) for paragraph in page.text)


def judged(ui: Ui, model: TableModel, glyphs: GlyphSet) -> Ui:
    """Return `ui` with its page done if the pupil has reached its goal without a move."""
    lesson, view = ui.page, model.view
    if not isinstance(lesson, Lesson) or lesson.done or view is None:
        return ui
    goal = PAGES[lesson.number].goal
    if not arrived(goal, lesson.table, view):
        return ui
    return _done(ui, lesson, glyphs, _foreseen(goal, model))


def _foreseen(goal: Goal, model: TableModel) -> str:
    """Return what the soldier pointed at would do if its hill were scored now; empty if there is none."""
    act = act_of(model, goal.field) if isinstance(goal, PointTo) else None
    return "" if act is None else describe_soldier(act, names_at(model))


def moved(ui: Ui, command: Command, model: TableModel, glyphs: GlyphSet) -> Ui | None:
    """Return the UI state after the pupil's move, which `model` contains; None if it was not asked for."""
    lesson = ui.page
    if not isinstance(lesson, Lesson):
        return None
    goal = PAGES[lesson.number].goal
    if not fulfilled(goal, command, model):
        return None
    if isinstance(command, Place) and isinstance(lesson.table, Playing):
        over = model.view is not None and model.view.phase is Phase.OVER
        placed = replace(lesson.table, last=command.field, piece=None)
        lesson = replace(lesson, table=Scoring() if over else placed)
    ui, names, told = replace(ui, busy=False), names_at(model), ""
    match goal, command:
        case Earn(), Place(field=field):
            if (influence := influence_of(model, field)) is not None:
                lesson, told = replace(lesson, influence=influence), describe_influence(influence, names)
        case Catch(), Place(field=field):
            if (act := act_of(model, field)) is not None:
                told = describe_soldier(act, names)
        case _:
            pass
    return _done(ui, lesson, glyphs, told)


def strayed(ui: Ui, command: Command, model: TableModel) -> Ui:
    """Return the UI state after a move that the rules allow and the page does not ask for.

    `model` is the table after the move: where the page asks for an effect, the move's own is told.
    """
    told = _("The rules allow that, but this page asks for something else. Your move was taken back.")
    if isinstance(command, Place) and isinstance(lesson := ui.page, Lesson):
        found = _effect(PAGES[lesson.number].goal, command, model)
        told = f"{found} {told}" if found else told
    return replace(ui, busy=False, notice=Notice(told))


def _effect(goal: Goal, command: Place, model: TableModel) -> str:
    """Return what the piece placed would give or do, if that is what the page asks for."""
    names = names_at(model)
    if isinstance(goal, Earn) and (influence := influence_of(model, command.field)) is not None:
        return describe_influence(influence, names)
    if isinstance(goal, Catch) and (act := act_of(model, command.field)) is not None:
        return describe_soldier(act, names)
    return ""


def out_of_place(ui: Ui) -> Ui:
    """Return the UI state after a request that only a server could carry out."""
    return replace(ui, busy=False, notice=Notice(_("These are lessons: nobody else is here.")))


def refused(ui: Ui, error: IllegalCommand, sentence: str, command: Command, glyphs: GlyphSet) -> Ui:
    """Return the UI state after a move that the rules forbid, for the reason in `sentence`."""
    ui = replace(ui, busy=False, notice=Notice(sentence, refusal=True))
    if not isinstance(lesson := ui.page, Lesson):
        return ui
    goal = PAGES[lesson.number].goal
    if not isinstance(goal, BeRefused) or error.fault is not goal.fault:
        return ui
    there = goal.field is None or (isinstance(command, Place) and command.field == goal.field)
    return _done(ui, lesson, glyphs) if there else ui


def _done(ui: Ui, lesson: Lesson, glyphs: GlyphSet, told: str = "") -> Ui:
    """Return the UI state when the pupil has done what the lesson asks, and say so."""
    page = PAGES[lesson.number]
    ui = replace(ui, page=replace(lesson, done=True))
    if not page.done:  # a page that is only read
        return ui
    said = " ".join(filter(None, (_filled(page.done, page.goal, glyphs), told)))
    return replace(ui, log=(said,))


def _filled(text: str, goal: Goal, glyphs: GlyphSet) -> str:
    """Return the text in the language in use, with its placeholders filled in."""
    match goal:
        case PointTo(field) | PlaceOn(field) | BeRefused(field=field):
            pass
        case _:
            field = None
    least = goal.least if isinstance(goal, Earn | Catch) else ""
    return _(text).format(field=field or "", least=least, spring=glyphs.spring, arrow=glyphs.arrow)
