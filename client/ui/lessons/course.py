"""A pupil's way through the lessons: the open page, the game to practise on, and when the goal is reached."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, Protocol

from client.language import _
from client.network.refusals import describe_refusal
from client.tables.table import TableModel
from client.ui import requests
from client.ui.activity import Activity
from client.ui.lessons import goals
from client.ui.lessons.lesson import Lesson
from client.ui.lessons.pages import NAMES, PAGES, LessonPage, record_at
from client.ui.program import show
from client.ui.requests import Request
from client.ui.screens.playing import Playing
from client.ui.screens.scoring import Result, Scoring, at_step
from client.ui.state import Notice, Outcome, Screen, Ui
from client.ui.terminal.device import own_device
from client.ui.texts.games import describe_influence, describe_soldier
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.tables import names_at
from engine.board import Field
from engine.errors import IllegalCommand
from engine.events import Command, Event, LayTile, Place
from engine.legal import Legal
from engine.redaction import redacted
from engine.view import Phase, View, eyes_of, folded
from protocol.messages import Refused, SeatSummary, TableState

_TABLE: Final = "lessons"


class Practice(Protocol):
    events: list[Event]

    def legal(self) -> Legal | None: ...

    def apply(self, command: Command) -> Sequence[Event]: ...


Replayed = Callable[[str], Practice]


class Course(Activity):
    """The lessons as one pupil goes through them, until the pupil leaves, or wants to play a game."""

    def __init__(self, name: str, replayed: Replayed, glyphs: GlyphSet, page: int = 0) -> None:
        """Open a page; `replayed` turns a record into a game that can be continued."""
        self._name, self._replayed, self._glyphs = name, replayed, glyphs
        super().__init__(Ui(name))
        self._open(page)

    @property
    def _lesson(self) -> Lesson:
        assert isinstance(self.ui.page, Lesson)  # noqa: S101 - a course has no other pages
        return self.ui.page

    def take(self, outcome: Outcome) -> None:
        ui, request = outcome
        super().take((self._after_arrival(ui), request))

    def carry_out(self, request: Request) -> None:
        match request:
            case requests.Errand.QUIT:
                super().carry_out(request)
            case requests.TurnPage(pages):
                if (number := self._lesson.number + pages) == len(PAGES):
                    super().carry_out(requests.Errand.PLAY)
                elif number >= 0:
                    self._open(number)
            case LayTile() | Place():
                self._try(request, self._lesson)
            case _:
                text = _("These are lessons: nobody else is here.")
                self.show(replace(self.ui, busy=False, notice=Notice(text)))

    def _open(self, number: int) -> None:
        page = PAGES[number]
        self._set_up(page)
        assert self.model.view is not None  # noqa: S101 - the game has begun
        lesson = Lesson(number, table=_moment(page, self.model.view))
        log = (f"{self._glyphs.pointer} {page.fill(page.task, self._glyphs)}",)
        self.show(self._after_arrival(Ui(name=self._name, page=lesson, log=log)))

    def _set_up(self, page: LessonPage) -> None:
        self._practice = self._replayed(record_at(page.moves))
        self.model = model_of(self._practice, page, self._name)

    def _after_arrival(self, ui: Ui) -> Ui:
        """Return `ui` with its page done if the pupil has reached its goal without a move."""
        lesson, view = ui.page, self.model.view
        if not isinstance(lesson, Lesson) or lesson.done or view is None:
            return ui
        goal = lesson.page.goal
        if not goals.arrived(goal, lesson.table, view):
            return ui
        told = _effect(goal, goal.field, self.model) if isinstance(goal, goals.PointTo) else ""
        return self._after_goal(ui, lesson, told)

    def _try(self, command: LayTile | Place, lesson: Lesson) -> None:
        """Make the move in the page's game; a move that the page does not ask for is taken back."""
        goal, field = lesson.page.goal, command.field if isinstance(command, Place) else None
        try:
            self._practice.apply(command)
        except IllegalCommand as error:
            # A server passes a refusal on in the same way.
            sentence = describe_refusal(Refused(error.fault, str(error), rule=error.rule, about=error.about))
            ui = replace(self.ui, busy=False, notice=Notice(sentence, refusal=True))
            match goal:
                case goals.BeRefused(fault, where) if error.fault is fault and where in {None, field}:
                    ui = self._after_goal(ui, lesson)
            self.show(ui)
            return
        model = model_of(self._practice, lesson.page, self._name)
        told = "" if field is None else _effect(goal, field, model)
        if not goals.fulfilled(goal, command, model):
            text = _("The rules allow that, but this page asks for something else. Your move was taken back.")
            self._set_up(lesson.page)
            notice = Notice(f"{told} {text}".lstrip())
            self.show(replace(self.ui, busy=False, notice=notice))
            return
        self.model = model
        if model.view is not None and model.view.phase is Phase.OVER:
            lesson = replace(lesson, table=Scoring())
        elif field is not None and isinstance(lesson.table, Playing):
            lesson = replace(lesson, table=replace(lesson.table, last=field, piece=None))
        self.show(self._after_goal(replace(self.ui, busy=False), lesson, told))

    def _after_goal(self, ui: Ui, lesson: Lesson, told: str = "") -> Ui:
        """Return the UI state when the pupil has done what the lesson asks, and say so."""
        ui = replace(ui, page=replace(lesson, done=True))
        if not lesson.page.done:  # a page that is only read
            return ui
        return replace(ui, log=(f"{lesson.page.fill(lesson.page.done, self._glyphs)} {told}".rstrip(),))


def _moment(page: LessonPage, view: View) -> Screen:
    """Return the moment of a game at which the page opens."""
    if isinstance(page.goal, goals.Walk):
        return at_step(view, goals.steps_of(page.goal, view)[0])
    if view.phase is Phase.OVER:
        return Result()
    playing = Playing(last=next(reversed(view.placed), None))
    return playing if page.cursor is None else replace(playing, cursor=view.layout.hexes[page.cursor])


def _effect(goal: goals.Goal, field: Field, model: TableModel) -> str:
    """Return what the piece on a field gives or does, if that is what the page is about."""
    names = names_at(model)
    if isinstance(goal, goals.Earn) and (influence := goals.influence_of(model, field)) is not None:
        return describe_influence(influence, names)
    if isinstance(goal, goals.Catch | goals.PointTo) and (act := goals.act_of(model, field)) is not None:
        return describe_soldier(act, names)
    return ""


def model_of(practice: Practice, page: LessonPage, name: str) -> TableModel:
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


async def run(name: str, replayed: Replayed) -> Request | None:
    """Give the lessons; return what the pupil wants then, or None if they failed, which has been reported."""
    return await show(Course(name, replayed, own_device().glyphs()))
