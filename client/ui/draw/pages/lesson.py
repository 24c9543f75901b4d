"""The page of a lesson: its game, with the lesson's text beside the board."""

from dataclasses import replace

from msgspec import structs

from client.language import _
from client.levels import LEVELS, describe_level, describe_temper
from client.ui.draw.board import Marks
from client.ui.draw.frame import Block
from client.ui.draw.lines import EMPTY, Line, beside, ends, line, stacked, wrapped
from client.ui.draw.news_lines import with_news
from client.ui.draw.page import AroundGame
from client.ui.draw.pages.playing import PlayingDrawing, in_hand
from client.ui.draw.pages.result import ResultDrawing
from client.ui.draw.pages.scoring import ScoringDrawing
from client.ui.draw.scene import Scene
from client.ui.draw.table_layout import small_table_block
from client.ui.lessons.goals import Catch, Earn
from client.ui.lessons.pages import PAGES, Shown
from client.ui.lessons.progress import text_of
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.scoring import amounts
from client.ui.update.state import Lesson


class LessonDrawing(AroundGame, frozen=True):
    """A lesson of the pupil called `name`; the `log` says what is to be done."""

    lesson: Lesson
    name: str
    log: tuple[str, ...]

    def title(self, width: int) -> Line:
        left = line(f" Palatinus {self.glyphs.dot} {self.place}", "class:title")
        return ends(left, line(f"  {self.name} ", "class:title"), width, "class:title")

    @property
    def place(self) -> str:
        return _("Lesson {number} of {count}").format(number=self.lesson.number + 1, count=len(PAGES))

    def small_body(self, width: int, height: int) -> Block:
        rows = self._to_read(width)
        if self.lesson.top > (end := _end(rows, height)):
            return self.table.small_body(width, height)
        return Block(tuple(stacked(rows[min(self.lesson.top, end) :], width, height)))

    def last_top(self, width: int, height: int) -> int:
        """Return how far a small window can be scrolled: through the text, and on to the board."""
        return _end(self._to_read(width), height) + 1

    def _to_read(self, width: int) -> list[Line]:
        """Return the text, and below it the task and what came of it."""
        rows = lesson_text(self.lesson, self.glyphs, width - 2)
        rows += [line(row, "class:info") for told in self.log for row in wrapped(told, width - 2)]
        return [beside(line(" "), content) for content in rows]


def _end(rows: list[Line], height: int) -> int:
    """Return the line with which the last screen of the text begins."""
    return max(len(rows) - height, 0)


class LessonPlayingDrawing(PlayingDrawing, frozen=True):
    """A lesson's running game: the lesson's text, and the part of the panel that it is about."""

    lesson: Lesson

    def body(self, width: int, height: int) -> Block:
        if PAGES[self.lesson.number].shown is not Shown.LEVELS:
            return PlayingDrawing.body(self, width, height)
        text = lesson_text(self.lesson, self.glyphs, width - 4)
        return with_news(Block(tuple(beside(line("  "), row) for row in text)), self.ui, width, height)

    def small_body(self, width: int, height: int) -> Block:
        return small_table_block(
            self.ui,
            (self.view, self.marks()),
            self.glyphs,
            (width, height),
            panel=lambda width, height: self._beside(width, height, []),
            hand=in_hand(self.playing, self.model, self.glyphs, width),
            below=height // 2,
            sentence=self.sentence(),
        )

    def panel_block(self, width: int, height: int) -> Block:
        return self._beside(width, height, lesson_text(self.lesson, self.glyphs, width))

    def _beside(self, width: int, height: int, text: list[Line]) -> Block:
        """Return the text, and below it the part of the panel that the page is about."""
        # A pupil who is to count is not told the answer.
        panel = structs.replace(self.panel(width), foresees=False)
        page = PAGES[self.lesson.number]
        match page.shown:
            case Shown.HAND:
                counts = isinstance(page.goal, Earn | Catch)
                return above(text, panel.of_hand(height - len(text), field_wanted=counts), height)
            case Shown.TILE:
                return above(text, panel.of_tile(), height)
            case Shown.FIELD:
                return above(text, panel.of_field(), height)
            case _:
                return Block(tuple(text))

    def marks(self) -> Marks:
        """Return what the board points at, and what each field gives the piece just placed."""
        marks = PlayingDrawing.marks(self)
        if self.lesson.influence is None or marks.preview is not None:
            return marks
        notes = {field: f"+{amount}" for field, amount in amounts(self.lesson.influence).items()}
        return replace(marks, notes=notes)


class LessonScoringDrawing(ScoringDrawing, frozen=True):
    """A step of the scoring, below the lesson's text."""

    lesson: Lesson

    def panel_block(self, scene: Scene, width: int, height: int) -> Block:
        panel = ScoringDrawing.panel_block(self, scene, width, height)
        return above(lesson_text(self.lesson, self.glyphs, width), panel, height)


class LessonResultDrawing(ResultDrawing, frozen=True):
    """The result, above the lesson's text."""

    lesson: Lesson

    def lines(self, width: int) -> list[Line]:
        told = lesson_text(self.lesson, self.glyphs, width - 4)
        indented = (beside(line("  "), content) for content in told)
        return [*ResultDrawing.lines(self, width), EMPTY, *indented]


def lesson_text(lesson: Lesson, glyphs: GlyphSet, width: int) -> list[Line]:
    """Return the page's heading and text, with an empty line below each paragraph."""
    page = PAGES[lesson.number]
    number = f"{lesson.number + 1}/{len(PAGES)}"
    lines = [ends(line(_(page.title), "class:heading"), line(number, "class:faint"), width)]
    for paragraph in text_of(page, glyphs):
        lines += [*(line(row) for row in wrapped(paragraph, width)), EMPTY]
    return [*lines, *_levels(width)] if page.shown is Shown.LEVELS else lines


def _levels(width: int) -> list[Line]:
    """Return the levels of bots, each with its temper."""
    rows = []
    for level in LEVELS:
        title = f"{describe_level(level.name)}: "
        first, *others = wrapped(f"{title}{describe_temper(level.name)}", width)
        rows.append(beside(line(title, "class:key"), line(first[len(title) :])))
        rows += [line(f"  {row}") for row in wrapped(" ".join(others), width - 2)]
    return [*rows, EMPTY]


def above(text: list[Line], below: Block, height: int) -> Block:
    """Return the text with a block below it; if both do not fit, without the empty line between."""
    if text and len(text) + len(below.lines) > height and text[-1] is EMPTY:
        text = text[:-1]
    return Block((*text, *below.lines), tuple(target.moved(0, len(text)) for target in below.targets))
