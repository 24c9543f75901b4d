"""A lesson on the screen: how it opens, its goal, when it is done, and its text beside the board."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol

from msgspec import structs

from client.language import N_, _, labelled
from client.levels import LEVELS, describe_level, describe_temper
from client.tables.table import TableModel
from client.ui import requests
from client.ui.at_table import step
from client.ui.draw.board import Marks
from client.ui.draw.news_lines import with_news
from client.ui.draw.page import scrolled, small_table_block, table_block
from client.ui.frame import EMPTY, WIDE, Block, Line, beside, ends, line, spoken, wrapped
from client.ui.keys import COMMAND, ON_EVERY_PAGE, Act, Action, Key, PointAt, Way
from client.ui.lessons import goals
from client.ui.lessons.pages import NAMES, PAGES, LessonPage, Shown
from client.ui.requests import Request, TurnPage
from client.ui.screens.playing import Playing
from client.ui.screens.scoring import Result, Scoring, at_step, result_page, step_of
from client.ui.state import Notice, Outcome, Pane, Screen, Ui, those, with_game
from client.ui.texts.games import amounts, describe_influence, describe_soldier
from client.ui.texts.glyphs import GlyphSet, glyphs_to_read
from client.ui.texts.tables import names_at
from engine.board import Field
from engine.errors import IllegalCommand
from engine.events import Command, Event, Influence, Place
from engine.legal import Legal
from engine.redaction import redacted
from engine.view import Phase, View, eyes_of, folded
from protocol.messages import SeatSummary, TableState

BOARD: Final = 1_000_000  # the line after the last one of any text: in a small window the board follows it

_KEYS: Final = (
    Key(("escape",), Act.QUIT, N_("leave")),
    Key(("enter", " ", "n"), Act.NEXT, N_("one step forward, or the next page"), N_("next")),
    Key(("backspace", "p"), Act.BACK, N_("one step back, or the previous page"), N_("back")),
    Key(
        ("right", "l", "scroll-down"), Way.EAST, N_("one step forward in the scoring; otherwise cursor east")
    ),
    Key(("left", "h", "scroll-up"), Way.WEST, N_("one step back in the scoring; otherwise cursor west")),
    Key(("up", "k"), Way.UP, N_("move the cursor up")),
    Key(("down", "j"), Way.DOWN, N_("move the cursor down")),
    Key(("pagedown",), Act.PAGE_DOWN, N_("the next page, at any time"), N_("next page")),
    Key(("pageup",), Act.PAGE_UP, N_("the previous page, at any time")),
    COMMAND,
    *ON_EVERY_PAGE,
)
_TURNS: Final[Mapping[Action, Key]] = {
    key.action: key for key in _KEYS if key.action in {Act.PAGE_DOWN, Act.PAGE_UP}
}
_WITH_OTHERS: Final = frozenset({Act.CHAT, Act.TALK, Act.VOTE, Act.REFUSE, Act.PAUSE, Act.HINT, Act.MENU})


@dataclass(frozen=True, slots=True)
class Lesson(Screen):
    """The lesson with this number, and its game; `done` when the pupil has reached its goal.

    `walk` is the first and the last step of the scoring, if the lesson walks through it. `influence` is that
    of a piece just placed: the board shows what each field gives it. With `points`, the pupil only moves the
    cursor; `last` if a game follows. In a small window, `top` is the first line of the text that is shown, or
    `BOARD` if the board is.
    """

    number: int
    table: Screen
    done: bool = False
    walk: tuple[int, int] | None = None
    influence: Influence | None = None
    points: bool = False
    last: bool = False
    top: int = 0

    log_style = "class:info"  # it says what to do

    def reads(self, ui: Ui) -> bool:
        return self.top < ui.last_top

    def keys(self, model: TableModel) -> tuple[Key, ...]:
        if not isinstance(self.table, Playing) or self.done:
            return _KEYS
        return self.table.keys(model)

    def shown_keys(self, model: TableModel) -> tuple[Key, ...]:
        return tuple(
            _TURNS.get(key.action, key) for key in self.keys(model) if key.action not in _WITH_OTHERS
        )

    def idle(self, ui: Ui, model: TableModel, last_top: int) -> frozenset[Act]:
        if self.keys(model) is _KEYS:
            return those((Act.PAGE_DOWN, self.last and self.top >= last_top))
        idle = self.table.idle(ui, model, last_top)
        return idle | {Act.NEXT_PIECE, Act.CONFIRM} if self.points else idle

    def act(self, ui: Ui, action: Action, model: TableModel) -> Outcome:
        lesson, view = self, model.view
        if view is None:
            return ui, None
        if ui.last_top and (top := _scrolled_to(lesson, ui, action)) != min(lesson.top, ui.last_top):
            return replace(ui, page=replace(lesson, top=BOARD if top == ui.last_top else top)), None
        if lesson.reads(ui) and action not in _PAGES:  # what is done is seen on the board
            lesson = replace(lesson, top=BOARD)
            ui = replace(ui, page=lesson)
        if action is Act.PAGE_DOWN and lesson.last:
            return replace(ui, notice=Notice(_("This is the last page. Press Enter to play."))), None
        if action in _PAGES:
            return ui, _PAGES[action]
        if not isinstance(lesson.table, Playing):
            assert isinstance(lesson.table, Scoring | Result)  # noqa: S101 - what else is there of a game
            return _walking(ui, lesson.table, lesson.walk, action, view)
        if lesson.done:
            return _looking(ui, lesson.table, action)
        if action is Act.CANCEL and not _holds_something(lesson.table):
            return ui, requests.Errand.QUIT
        if lesson.points and action in {Act.CONFIRM, PointAt(lesson.table.cursor)}:
            return replace(ui, notice=Notice(_("Nothing can be placed on this page: move the cursor."))), None
        return lesson.table.act(ui, action, model)

    def stage(self, model: TableModel) -> str:
        return self.table.stage(model)

    def place(self, pane: Pane) -> str:
        return _("Lesson {number} of {count}").format(number=self.number + 1, count=len(PAGES))

    def title(self, pane: Pane) -> Line:
        left = line(f" Palatinus {pane.glyphs.dot} {self.place(pane)}", "class:title")
        return ends(left, line(f"  {pane.ui.name} ", "class:title"), pane.width, "class:title")

    def body(self, pane: Pane) -> Block:
        match self.table:
            case Playing() as table if PAGES[self.number].shown is not Shown.LEVELS:
                return table_block(pane, (pane.view, self._marks(table, pane.model)), self._panel, "")
            case Playing():
                return with_news(Block(tuple(self._indented(pane))), pane)
            case Result() if pane.view.result is not None:
                lines = (*result_page(pane, pane.view.result), EMPTY, *self._indented(pane))
                return with_news(Block(lines), pane)
            case Scoring() | Result() as table:
                scene = table.scene(pane)
                return table_block(pane, (scene.board, scene.marks), self._panel, scene.sentence)
        raise AssertionError("there is nothing else of a game")

    def small_body(self, pane: Pane) -> Block:
        if self.top != BOARD:
            return scrolled(self._to_read(pane), self.top, pane.width, pane.height)[0]
        if not isinstance(table := self.table, Playing):
            return self.table.small_body(pane)
        board, panel = (pane.view, self._marks(table, pane.model)), partial(self._panel, text=False)
        hand, below = table.hand_line(pane), pane.height // 2
        return small_table_block(pane, board, panel, "", hand=hand, below=below)

    def last_top(self, pane: Pane) -> int:
        """Return how far a small window can be scrolled: through the text, and on to the board."""
        return max(len(self._to_read(pane)) - pane.height, 0) + 1

    def _to_read(self, pane: Pane) -> list[Line]:
        """Return the text, and below it the task and what came of it."""
        rows = lesson_text(self, pane.glyphs, pane.width - 2)
        rows += [line(row, "class:info") for told in pane.ui.log for row in wrapped(told, pane.width - 2)]
        return [beside(line(" "), content) for content in rows]

    def _indented(self, pane: Pane) -> list[Line]:
        return [beside(line("  "), row) for row in lesson_text(self, pane.glyphs, pane.width - 4)]

    def _panel(self, pane: Pane, *, text: bool = True) -> Block:
        """Return the text, and below it the part of the panel that the page is about."""
        told, page = lesson_text(self, pane.glyphs, pane.width) if text else [], PAGES[self.number]
        if isinstance(self.table, Scoring | Result):
            return above(told, self.table.panel_block(pane), pane.height)
        assert isinstance(self.table, Playing)  # noqa: S101 - there is nothing else of a game
        # A pupil who is to count is not told the answer.
        panel = structs.replace(self.table.panel(pane), foresees=False)
        match page.shown:
            case Shown.HAND:
                counts = isinstance(page.goal, goals.Earn | goals.Catch)
                return above(told, panel.of_hand(pane.height - len(told), field_wanted=counts), pane.height)
            case Shown.TILE:
                return above(told, panel.of_tile(), pane.height)
            case Shown.FIELD:
                return above(told, panel.of_field(), pane.height)
            case _:
                return Block(tuple(told))

    def _marks(self, table: Playing, model: TableModel) -> Marks:
        marks = table.marks(model)
        if self.influence is None or marks.preview is not None:
            return marks
        notes = {field: f"+{amount}" for field, amount in amounts(self.influence).items()}
        return replace(marks, notes=notes)

    def words(self, ui: Ui, model: TableModel) -> Sequence[str]:
        scored = () if isinstance(self.table, Playing) else self.table.words(ui, model)
        hint = _("In lines of text, field B3 points at it, m A1 places a merchant, lay 1 2 lays a tile.")
        text = spoken(lesson_text(self, glyphs_to_read(), WIDE))
        return (*text, *((hint,) if self.number == 0 else ()), *scored)

    @property
    def game(self) -> Screen:
        return self.table

    def with_game(self, game: Screen) -> Screen:
        return replace(self, table=game)


_TABLE: Final = "lessons"


class Practice(Protocol):
    events: list[Event]

    def legal(self) -> Legal | None: ...

    def apply(self, command: Command) -> Sequence[Event]: ...


def open_page(number: int, name: str, model: TableModel, glyphs: GlyphSet) -> Ui:
    """Return the UI state when the page opens on the moment that `model` shows."""
    page = PAGES[number]
    task = _filled(page.task, page.goal, glyphs)
    lesson = Lesson(number, Playing(), points=isinstance(page.goal, goals.PointTo), last=page is PAGES[-1])
    if (view := model.view) is not None:
        lesson = _begun(lesson, page, view)
    ui = Ui(name=name, page=lesson, log=(f"{glyphs.pointer} {task}",))
    return judged(ui, model, glyphs)


def _begun(lesson: Lesson, page: LessonPage, view: View) -> Lesson:
    if isinstance(page.goal, goals.Walk):
        first, last = goals.walked(page.goal, view)
        return replace(lesson, table=at_step(view, first), walk=(first, last))
    if view.phase is Phase.OVER:
        return replace(lesson, table=Result())
    playing = Playing(last=next(reversed(view.placed), None))
    if page.cursor is not None:
        playing = replace(playing, cursor=view.layout.hexes[page.cursor])
    return replace(lesson, table=playing)


def seen(practice: Practice, page: LessonPage, name: str) -> TableModel:
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
    return tuple(_filled(paragraph, page.goal, glyphs) for paragraph in page.text)


def judged(ui: Ui, model: TableModel, glyphs: GlyphSet) -> Ui:
    """Return `ui` with its page done if the pupil has reached its goal without a move."""
    lesson, view = ui.page, model.view
    if not isinstance(lesson, Lesson) or lesson.done or view is None:
        return ui
    goal = PAGES[lesson.number].goal
    if not goals.arrived(goal, lesson.table, view):
        return ui
    return _done(
        ui, lesson, glyphs, _effect(goal, goal.field, model) if isinstance(goal, goals.PointTo) else ""
    )


def after_move(ui: Ui, command: Command, model: TableModel, glyphs: GlyphSet) -> Ui | None:
    """Return the UI state after the pupil's move, which `model` contains; None if it was not asked for."""
    lesson = ui.page
    if not isinstance(lesson, Lesson):
        return None
    goal = PAGES[lesson.number].goal
    if not goals.fulfilled(goal, command, model):
        return None
    if isinstance(command, Place) and isinstance(lesson.table, Playing):
        over = model.view is not None and model.view.phase is Phase.OVER
        placed = replace(lesson.table, last=command.field, piece=None)
        lesson = replace(lesson, table=Scoring() if over else placed)
    told = ""
    if isinstance(command, Place):
        told = _effect(goal, command.field, model)
        if isinstance(goal, goals.Earn):
            lesson = replace(lesson, influence=goals.influence_of(model, command.field))
    return _done(replace(ui, busy=False), lesson, glyphs, told)


def strayed(ui: Ui, command: Command, model: TableModel) -> Ui:
    """Return the UI state after a legal move that does not reach the page's goal.

    `model` is the table after the move: where the goal is an effect, the move's own effect is shown.
    """
    told = _("The rules allow that, but this page asks for something else. Your move was taken back.")
    if isinstance(command, Place) and isinstance(lesson := ui.page, Lesson):
        found = _effect(PAGES[lesson.number].goal, command.field, model)
        told = f"{found} {told}" if found else told
    return replace(ui, busy=False, notice=Notice(told))


def _effect(goal: goals.Goal, field: Field, model: TableModel) -> str:
    """Return what the piece on a field gives or does, if that is what the page is about."""
    names = names_at(model)
    if isinstance(goal, goals.Earn) and (influence := goals.influence_of(model, field)) is not None:
        return describe_influence(influence, names)
    if isinstance(goal, goals.Catch | goals.PointTo) and (act := goals.act_of(model, field)) is not None:
        return describe_soldier(act, names)
    return ""


def refused(ui: Ui, error: IllegalCommand, sentence: str, command: Command, glyphs: GlyphSet) -> Ui:
    """Return the UI state after a move that the rules forbid, for the reason in `sentence`."""
    ui = replace(ui, busy=False, notice=Notice(sentence, refusal=True))
    if not isinstance(lesson := ui.page, Lesson):
        return ui
    goal = PAGES[lesson.number].goal
    if not isinstance(goal, goals.BeRefused) or error.fault is not goal.fault:
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


def _filled(text: str, goal: goals.Goal, glyphs: GlyphSet) -> str:
    field = goal.field if isinstance(goal, goals.PointTo | goals.PlaceOne | goals.BeRefused) else None
    least = goal.least if isinstance(goal, goals.Earn | goals.Catch) else ""
    return _(text).format(field=field or "", least=least, spring=glyphs.spring, arrow=glyphs.arrow)


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


def _holds_something(playing: Playing) -> bool:
    """Return whether there is a choice to take back before Esc leaves the lessons."""
    return playing.piece is not None or playing.position is not None or playing.orientation != 0


def _walking(
    ui: Ui, page: Scoring | Result, walk: tuple[int, int] | None, action: Action, view: View
) -> Outcome:
    """Go through the part of the scoring that the lesson is about, or turn the page at its ends."""
    step = step_of(page, view)
    first, last = walk or (step, step)
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


def lesson_text(lesson: Lesson, glyphs: GlyphSet, width: int) -> list[Line]:
    """Return the page's heading and text, with an empty line below each paragraph."""
    page = PAGES[lesson.number]
    number = f"{lesson.number + 1}/{len(PAGES)}"
    lines = [ends(line(_(page.title), "class:heading"), line(number, "class:faint"), width)]
    for paragraph in text_of(page, glyphs):
        lines += [*(line(row) for row in wrapped(paragraph, width)), EMPTY]
    return [*lines, *_levels(width)] if page.shown is Shown.LEVELS else lines


def _levels(width: int) -> list[Line]:
    rows = []
    for level in LEVELS:
        temper = describe_temper(level.name)
        text = labelled(describe_level(level.name), temper)
        title = text.removesuffix(temper)
        first, *others = wrapped(text, width)
        rows.append(beside(line(title, "class:key"), line(first[len(title) :])))
        rows += [line(f"  {row}") for row in wrapped(" ".join(others), width - 2)]
    return [*rows, EMPTY]


def above(text: list[Line], below: Block, height: int) -> Block:
    """Return the text with a block below it; if both do not fit, without the empty line between."""
    if text and len(text) + len(below.lines) > height and text[-1] is EMPTY:
        text = text[:-1]
    return Block((*text, *below.lines), tuple(target.moved(0, len(text)) for target in below.targets))
