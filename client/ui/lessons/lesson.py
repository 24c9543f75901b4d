"""A lesson on the screen: its text beside the board, its keys, and what they do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from msgspec import structs

from client.language import N_, _, labelled
from client.levels import LEVELS, describe_level, describe_temper
from client.tables.table import TableModel
from client.ui import requests
from client.ui.at_table import step
from client.ui.draw.board import Marks
from client.ui.draw.page import scrolled, small_table_block, table_block, with_news
from client.ui.frame import EMPTY, WIDE, Line, ends, line, spoken, wrapped
from client.ui.keys import COMMAND, ON_EVERY_PAGE, Act, Action, Key, PointAt, Way
from client.ui.lessons import goals
from client.ui.lessons.pages import PAGES, LessonPage, PanelPart
from client.ui.requests import Request, TurnPage
from client.ui.screens.playing import Playing
from client.ui.screens.scoring import Result, Scoring, at_step, result_page, step_of
from client.ui.state import GamePage, Outcome, Pane, Ui, those, with_game
from client.ui.texts.games import amounts
from client.ui.texts.glyphs import GlyphSet, glyphs_to_read
from engine.view import View

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
class Lesson(GamePage):
    """The lesson with this number, and its game; `done` when the pupil has reached its goal.

    In a small window, `top` is the first line of the text that is shown, or `BOARD` if the board is.
    """

    number: int
    done: bool = False
    top: int = 0

    reads_on = False
    log_style = "class:info"  # it says what to do

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
            return ui, requests.Errand.QUIT
        if lesson.points and action in {Act.CONFIRM, PointAt(lesson.table.cursor)}:
            return ui.with_notice(_("Nothing can be placed on this page: move the cursor.")), None
        return lesson.table.act(ui, action, model)

    def place(self, pane: Pane) -> str:
        return _("Lesson {number} of {count}").format(number=self.number + 1, count=len(PAGES))

    def body(self, pane: Pane) -> list[Line]:
        match self.table:
            case Playing() as table if self.page.shown is not PanelPart.LEVELS:
                return table_block(pane, (pane.view, self._marks(table, pane.model)), self._panel, "")
            case Playing():
                return with_news(self._indented(pane), pane)
            case Result() if pane.view.result is not None:
                return with_news((*result_page(pane, pane.view.result), EMPTY, *self._indented(pane)), pane)
            case Scoring() | Result() as table:
                scene = table.scene(pane)
                return table_block(pane, (scene.board, scene.marks), self._panel, scene.sentence)
        raise AssertionError("there is nothing else of a game")

    def small_body(self, pane: Pane) -> list[Line]:
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
        match self.page.shown:
            case PanelPart.HAND:
                counts = isinstance(self.page.goal, goals.Earn | goals.Catch)
                return above(told, panel.of_hand(pane.height - len(told), field_wanted=counts), pane.height)
            case PanelPart.TILE:
                return above(told, panel.of_tile(), pane.height)
            case PanelPart.FIELD:
                return above(told, panel.field(brief=True), pane.height)
            case _:
                return told

    def _marks(self, table: Playing, model: TableModel) -> Marks:
        marks = table.marks(model)
        if not self.done or not isinstance(self.page.goal, goals.Earn) or table.last is None:
            return marks
        influence = goals.influence_of(model, table.last)
        found = {} if influence is None else amounts(influence)
        return replace(marks, notes={field: f"+{amount}" for field, amount in found.items()})

    def words(self, ui: Ui, model: TableModel) -> Sequence[str]:
        scored = () if isinstance(self.table, Playing) else self.table.words(ui, model)
        hint = _("In lines of text, field B3 points at it, m A1 places a merchant, lay 1 2 lays a tile.")
        text = spoken(self._text(glyphs_to_read(), WIDE))
        return (*text, *((hint,) if self.number == 0 else ()), *scored)

    def _text(self, glyphs: GlyphSet, width: int) -> list[Line]:
        """Return the page's heading and text, with an empty line below each paragraph."""
        number = f"{self.number + 1}/{len(PAGES)}"
        lines = [ends(line(_(self.page.title), "class:heading"), line(number, "class:faint"), width)]
        for paragraph in self.page.fill(self.page.text, glyphs).split("\n\n"):
            lines += [*(line(row) for row in wrapped(paragraph, width)), EMPTY]
        return [*lines, *_levels(width)] if self.page.shown is PanelPart.LEVELS else lines


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
