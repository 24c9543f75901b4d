"""The lessons' part of the screen: the text beside the board, and what it points at."""

from dataclasses import replace

from client.language import _
from client.ui.board import Marks
from client.ui.frame import Block
from client.ui.learn.lessons import PAGES, Shown
from client.ui.learn.tutor import text_of
from client.ui.lines import EMPTY, Line, ends, line, wrapped
from client.ui.look import Look
from client.ui.state import Lesson
from client.ui.texts import amounts


def lesson_told(lesson: Lesson) -> str:
    return _("Lesson {number} of {count}").format(number=lesson.page + 1, count=len(PAGES))


def told_beside(lesson: Lesson, look: Look, width: int) -> list[Line]:
    """Return the page's heading and text, with an empty line below each paragraph."""
    page = PAGES[lesson.page]
    number = f"{lesson.page + 1}/{len(PAGES)}"
    lines = [ends(line(_(page.title), "class:heading"), line(number, "class:faint"), width)]
    for paragraph in text_of(page, look):
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
