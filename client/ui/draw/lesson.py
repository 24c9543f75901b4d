"""The lessons' part of the screen: the text beside the board, and what it points at."""

from dataclasses import replace

from client.language import _
from client.ui.draw.board import Marks
from client.ui.draw.frame import Block
from client.ui.draw.lines import EMPTY, Line, ends, line, wrapped
from client.ui.lessons.pages import PAGES, Shown
from client.ui.lessons.progress import text_of
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.sentences import amounts
from client.ui.update.state import Lesson


def lesson_number(lesson: Lesson) -> str:
    return _("Lesson {number} of {count}").format(number=lesson.page + 1, count=len(PAGES))


def lesson_text(lesson: Lesson, glyphs: GlyphSet, width: int) -> list[Line]:
    """Return the page's heading and text, with an empty line below each paragraph."""
    page = PAGES[lesson.page]
    number = f"{lesson.page + 1}/{len(PAGES)}"
    lines = [ends(line(_(page.title), "class:heading"), line(number, "class:faint"), width)]
    for paragraph in text_of(page, glyphs):
        lines += [*(line(row) for row in wrapped(paragraph, width)), EMPTY]
    return lines


def above(text: list[Line], below: Block, height: int) -> Block:
    """Return the text with a block below it; where both do not fit, without the empty line between."""
    if len(text) + len(below.lines) > height and text[-1] is EMPTY:
        text = text[:-1]
    return Block((*text, *below.lines), tuple(target.moved(0, len(text)) for target in below.targets))


def shown_below(lesson: Lesson) -> Shown:
    return PAGES[lesson.page].shown


def pointed_out(marks: Marks, lesson: Lesson) -> Marks:
    """Return the marks with what the piece just placed draws from its neighbours."""
    if lesson.shown is None:
        return marks
    return replace(marks, notes={field: f"+{amount}" for field, amount in amounts(lesson.shown).items()})
