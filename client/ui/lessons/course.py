"""The lessons on the screen: a page's text beside the board, and a pupil's way from page to page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol

from msgspec import structs

from client.language import N_, _, labelled
from client.levels import LEVELS, describe_level, describe_temper
from client.network.refusals import describe_refusal
from client.tables.table import TableModel
from client.ui import requests
from client.ui.at_table import step
from client.ui.draw.page import Board, scrolled, with_news
from client.ui.frame import EMPTY, WIDE, Line, ends, line, spoken, wrapped
from client.ui.interaction import StandaloneService
from client.ui.keys import COMMAND, ON_EVERY_PAGE, Act, Action, Key, PointAt, Way
from client.ui.lessons import goals
from client.ui.lessons.pages import NAMES, PAGES, LessonPage, record_at
from client.ui.requests import Request, TurnPage
from client.ui.screens.playing import Playing
from client.ui.screens.scoring import Result, Scoring, at_step, result_lines, sentence, step_of
from client.ui.spots import Marks
from client.ui.state import GamePage, Notice, Outcome, Pane, Screen, Ui, with_game
from client.ui.texts.games import amounts, describe_influence, describe_soldier
from client.ui.texts.glyphs import GlyphSet, glyphs_to_read
from client.ui.texts.tables import names_at
from engine.board import Field
from engine.errors import IllegalCommand
from engine.events import Command, Event, LayTile, Place
from engine.legal import Legal
from engine.redaction import redacted
from engine.view import Phase, View, eyes_of, folded
from protocol.messages import Refused, SeatSummary, TableState

BOARD: Final = 1_000_000  # the line after the last one of any text: in a small window the board follows it

_KEYS: Final = (
    Key(("escape",), Act.QUIT, N_("leave")),
    Key(
        ("enter", " ", "n"),
        Act.NEXT,
        N_("one step forward, or the next page"),
        N_("next"),
        typed=("", "next"),
    ),
    Key(("backspace",), Act.BACK, N_("one step back, or the previous page"), N_("back"), typed=("back",)),
    Key(
        ("right", "l", "scroll-down"), Way.EAST, N_("one step forward in the scoring; otherwise cursor east")
    ),
    Key(("left", "h", "scroll-up"), Way.WEST, N_("one step back in the scoring; otherwise cursor west")),
    Key(("up", "k"), Way.UP, N_("move the cursor up")),
    Key(("down", "j"), Way.DOWN, N_("move the cursor down")),
    Key(
        ("pagedown",),
        Act.PAGE_DOWN,
        N_("the next page, at any time"),
        N_("next page"),
        typed=("next page",),
        when=lambda lesson, ui, _model: not lesson.last or lesson.top < ui.last_top,
    ),
    Key(("pageup",), Act.PAGE_UP, N_("the previous page, at any time"), typed=("last page",)),
    COMMAND,
    *ON_EVERY_PAGE,
)
_TURNS: Final[Mapping[Action, Key]] = {
    key.action: key for key in _KEYS if key.action in {Act.PAGE_DOWN, Act.PAGE_UP}
}


@dataclass(frozen=True, slots=True)
class Lesson(GamePage):
    """The lesson with this number, and its game; `done` when the pupil has reached its goal.

    In a small window, `top` is the first line of the text that is shown, or `BOARD` if the board is.
    """

    number: int
    done: bool = False
    top: int = 0

    reads_on = False
    leads_back = True
    log_style = "class:info"  # it says what to do
    commands = frozenset({"place", "lay", "leave", "count"})
    own_keys = _KEYS

    @property
    def page(self) -> LessonPage:
        return PAGES[self.number]

    @property
    def points(self) -> bool:
        """Return whether the pupil only moves the cursor."""
        return isinstance(self.page.goal, goals.PointTo)

    @property
    def last(self) -> bool:
        """Return whether a game follows."""
        return self.page is PAGES[-1]

    def reads(self, ui: Ui) -> bool:
        return self.top < ui.last_top

    def keys(self, model: TableModel) -> tuple[Key, ...]:
        if not isinstance(self.table, Playing) or self.done:
            return self.own_keys
        return self.table.keys(model)

    def shown_keys(self, model: TableModel) -> tuple[Key, ...]:
        return tuple(_TURNS.get(key.action, key) for key in self.keys(model) if not key.with_others)

    def offered_keys(self, ui: Ui, model: TableModel) -> tuple[Key, ...]:
        if self.reads(ui):  # what the page is about comes after its text
            return tuple(key for key in _KEYS if key.when(self, ui, model))
        keys = GamePage.offered_keys(self, ui, model)
        unused = {Act.NEXT_PIECE, Act.CONFIRM} if self.points and self.keys(model) is not _KEYS else set()
        return tuple(key for key in keys if key.action not in unused)

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        lesson, view = self, model.view
        if view is None:
            return ui, None
        if ui.last_top and (top := _scrolled_to(lesson, ui, action)) != min(lesson.top, ui.last_top):
            return ui.with_page(replace(lesson, top=BOARD if top == ui.last_top else top)), None
        if lesson.reads(ui) and action not in _PAGES:  # what is done is seen on the board
            lesson = replace(lesson, top=BOARD)
            ui = ui.with_page(lesson)
        if action is Act.PAGE_DOWN and lesson.last:
            return ui.with_notice(_("This is the last page. Press Enter to play.")), None
        if action in _PAGES:
            return ui, _PAGES[action]
        if not isinstance(lesson.table, Playing):
            assert isinstance(lesson.table, Scoring | Result)  # noqa: S101 - what else is there of a game
            return _walking(ui, lesson.table, lesson.page.goal, action, view)
        if lesson.done:
            return _looking(ui, lesson.table, action)
        held = lesson.table.piece, lesson.table.position, lesson.table.orientation or None
        if action is Act.CANCEL and held == (None, None, None):  # else Esc takes back a choice
            return ui, ui.way_back
        if lesson.points and action in {Act.CONFIRM, PointAt(lesson.table.cursor)}:
            return ui.with_notice(_("Nothing can be placed on this page: move the cursor.")), None
        return lesson.table.act(ui, action, model)

    def place(self, pane: Pane) -> str:
        return _("Lesson {number} of {count}").format(number=self.number + 1, count=len(PAGES))

    def block(self, pane: Pane) -> tuple[list[Line], int]:
        """Return the page; a small window can be scrolled through the text, and on to the board."""
        if not pane.small:
            return self._large(pane), 0
        text, last_top = scrolled(self._to_read(pane), self.top, pane.width, pane.height)
        if self.top != BOARD:
            return text, last_top + 1
        board = (
            self._board(self.table, pane) if isinstance(self.table, Playing) else self.table.block(pane)[0]
        )
        return board, last_top + 1

    def _large(self, pane: Pane) -> list[Line]:
        match self.table:
            case Playing() as table if not self.last:
                return self._board(table, pane)
            case Playing():
                return with_news(self._indented(pane), pane)
            case Result() if pane.view.result is not None:
                names, me = names_at(pane.model), pane.model.seat
                ended = result_lines(pane.view, names, pane.glyphs, pane.width, me)
                return with_news((*ended, EMPTY, *self._indented(pane)), pane)
            case Scoring() | Result() as table:
                scene = table.scene(pane)
                told = sentence(pane.view, step_of(table, pane.view), names_at(pane.model))
                return Board(scene.board, scene.marks, self._panel, told).laid_out(pane)
        raise AssertionError("there is nothing else of a game")

    def _board(self, table: Playing, pane: Pane) -> list[Line]:
        marks, without_text = self._marks(table, pane.model), partial(self._panel, text=False)
        board = Board(pane.view, marks, self._panel, hand=table.hand_line, small_panel=without_text)
        return board.laid_out(pane)

    def _to_read(self, pane: Pane) -> list[Line]:
        """Return the text, and below it the task and what came of it."""
        rows = self._text(pane.glyphs, pane.width - 2)
        rows += [line(row, "class:info") for told in pane.ui.log for row in wrapped(told, pane.width - 2)]
        return [line(" ") + content for content in rows]

    def _indented(self, pane: Pane) -> list[Line]:
        return [line("  ") + row for row in self._text(pane.glyphs, pane.width - 4)]

    def _panel(self, pane: Pane, *, text: bool = True) -> list[Line]:
        """Return the text, and below it the part of the panel that the page is about."""
        told = self._text(pane.glyphs, pane.width) if text else []
        if isinstance(self.table, Scoring | Result):
            return above(told, self.table.panel_block(pane), pane.height)
        assert isinstance(self.table, Playing)  # noqa: S101 - there is nothing else of a game
        # A pupil who is to count is not told the answer.
        panel = structs.replace(self.table.panel(pane), foresees=False)
        match self.page.goal:
            case goals.PlaceOne() | goals.BeRefused() as goal:
                counts = isinstance(goal, goals.PlaceOne) and goal.least > 0
                return above(told, panel.of_hand(pane.height - len(told), field_wanted=counts), pane.height)
            case goals.LayAnywhere():
                return above(told, panel.of_tile(), pane.height)
            case _ if self.points or self.page.cursor is not None:
                return above(told, panel.field(brief=True), pane.height)
            case _:
                return told

    def _marks(self, table: Playing, model: TableModel) -> Marks:
        marks = table.marks(model)
        goal = self.page.goal
        if not self.done or not isinstance(goal, goals.PlaceOne) or not goal.least or not marks.recent:
            return marks
        *_others, placed = marks.recent
        influence = goals.influence_of(model, placed)
        found = {} if influence is None else amounts(influence)
        return replace(marks, notes={field: f"+{amount}" for field, amount in found.items()})

    def words(self, ui: Ui, model: TableModel) -> Sequence[str]:
        scored = () if isinstance(self.table, Playing) else self.table.words(ui, model)
        hint = _("In text mode, field B3 points at it, m A1 places a merchant, lay 1 2 lays a tile.")
        hints = [hint] if self.number == 0 else []
        if self.page.example and not self.done:
            hints = [_("Type it like this: {example}").format(example=self.page.example)]
        return (*spoken(self._text(glyphs_to_read(), WIDE)), *hints, *scored)

    def _text(self, glyphs: GlyphSet, width: int) -> list[Line]:
        """Return the page's heading and text, with an empty line below each paragraph."""
        number = f"{self.number + 1}/{len(PAGES)}"
        lines = [ends(line(_(self.page.title), "class:heading"), line(number, "class:faint"), width)]
        for paragraph in self.page.fill(self.page.text, glyphs).split("\n\n"):
            lines += [*(line(row) for row in wrapped(paragraph, width)), EMPTY]
        return [*lines, *_levels(width)] if self.last else lines


_PAGES: Final[dict[Action, Request]] = {Act.PAGE_DOWN: TurnPage(1), Act.PAGE_UP: TurnPage(-1)}
_LINES: Final = 4  # no more than the smallest window shows, or some would never be seen
_ON: Final[frozenset[Action]] = frozenset({Act.NEXT, Act.CONFIRM, Way.DOWN, Way.EAST})
_BACK: Final[frozenset[Action]] = frozenset({Act.BACK, Way.UP, Way.WEST})
_TURNING: Final[dict[Action, Request]] = {Act.NEXT: TurnPage(1), Act.BACK: TurnPage(-1)}


def _scrolled_to(lesson: Lesson, ui: Ui, action: Action) -> int:
    """Return the first line shown of the text after a key in a small window."""
    top, end = min(lesson.top, ui.last_top), ui.last_top - 1
    if action is Act.PAGE_DOWN or (lesson.reads(ui) and action in _ON):
        return min(top + _LINES, end) if top < end else ui.last_top
    if action is Act.PAGE_UP or (lesson.reads(ui) and action in _BACK):
        return end if top > end else max(top - _LINES, 0)
    return top


def _walking(ui: Ui, page: Scoring | Result, goal: goals.Goal, action: Action, view: View) -> Outcome:
    """Go through the part of the scoring that the lesson is about, or turn the page at its ends."""
    step = step_of(page, view)
    first, last = goals.steps_of(goal, view) if isinstance(goal, goals.Walk) else (step, step)
    match action:
        case Act.NEXT | Way.EAST if step < last:
            return with_game(ui, at_step(view, step + 1)), None
        case Act.BACK | Way.WEST if step > first:
            return with_game(ui, at_step(view, step - 1)), None
        case _:
            return ui, _TURNING.get(action)


def _looking(ui: Ui, playing: Playing, action: Action) -> Outcome:
    match action:
        case Way():
            return with_game(ui, replace(playing, cursor=step(playing.cursor, action))), None
        case PointAt(cell):
            return with_game(ui, replace(playing, cursor=cell)), None
        case _:
            return ui, _TURNING.get(action)


def _levels(width: int) -> list[Line]:
    rows = []
    for level in LEVELS:
        temper = describe_temper(level.name)
        text = labelled(describe_level(level.name), temper)
        title = text.removesuffix(temper)
        first, *others = wrapped(text, width)
        rows.append(line(title, "class:key") + line(first[len(title) :]))
        rows += [line(f"  {row}") for row in wrapped(" ".join(others), width - 2)]
    return [*rows, EMPTY]


def above(text: list[Line], below: list[Line], height: int) -> list[Line]:
    """Return the text with a block below it; if both do not fit, without the empty line between."""
    if text and len(text) + len(below) > height and text[-1] is EMPTY:
        text = text[:-1]
    return text + below


_TABLE: Final = "lessons"


class Practice(Protocol):
    events: list[Event]

    def legal(self) -> Legal | None: ...

    def apply(self, command: Command) -> Sequence[Event]: ...


Replayed = Callable[[str], Practice]


class Course(StandaloneService):
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

    def settled(self, ui: Ui) -> Ui:
        """Return `ui` with its page done if the pupil has reached its goal without a move."""
        lesson, view = ui.page, self.model.view
        if not isinstance(lesson, Lesson) or lesson.done or view is None:
            return ui
        goal = lesson.page.goal
        if not goals.arrived(goal, lesson.table, view):
            return ui
        told = _effect(goal, goal.field, self.model) if isinstance(goal, goals.PointTo) else ""
        return self._after_goal(ui, lesson, told)

    def carry_out(self, request: Request) -> None:
        match request:
            case requests.Errand.QUIT | requests.Errand.GO_HOME:
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
        self.show(Ui(self._name, screens=(lesson,), log=log).in_place_of(self.ui))

    def _set_up(self, page: LessonPage) -> None:
        self._practice = self._replayed(record_at(page.moves))
        self.model = model_of(self._practice, page, self._name)

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
            lesson = replace(lesson, table=replace(lesson.table, piece=None))
        self.show(self._after_goal(replace(self.ui, busy=False), lesson, told))

    def _after_goal(self, ui: Ui, lesson: Lesson, told: str = "") -> Ui:
        """Return the UI state when the pupil has done what the lesson asks, and say so."""
        ui = ui.with_page(replace(lesson, done=True))
        if not lesson.page.done:  # a page that is only read
            return ui
        return replace(ui, log=(f"{lesson.page.fill(lesson.page.done, self._glyphs)} {told}".rstrip(),))


def _moment(page: LessonPage, view: View) -> Screen:
    """Return the moment of a game at which the page opens."""
    if isinstance(page.goal, goals.Walk):
        return at_step(view, goals.steps_of(page.goal, view)[0])
    if view.phase is Phase.OVER:
        return Result()
    playing = Playing()
    return playing if page.cursor is None else replace(playing, cursor=view.layout.hexes[page.cursor])


def _effect(goal: goals.Goal, field: Field, model: TableModel) -> str:
    """Return what the piece on a field gives or does, if that is what the page is about."""
    if not isinstance(goal, goals.PointTo) and not (isinstance(goal, goals.PlaceOne) and goal.least):
        return ""
    if (influence := goals.influence_of(model, field)) is not None:
        return describe_influence(influence, names_at(model))
    act = goals.act_of(model, field)
    return "" if act is None else describe_soldier(act, names_at(model))


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
