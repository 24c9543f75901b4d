"""A pupil of the lessons: what is shown, and every way to do an exercise."""

import functools
import random
from collections.abc import Iterator

from client.ui.keys import Hold, PointAt
from client.ui.lessons.course import Course, Lesson, model_of
from client.ui.lessons.goals import BeRefused, PlaceOne, PointTo, Read, Walk, fulfilled
from client.ui.lessons.pages import PAGES, PUPIL, LessonPage, record_at
from client.ui.screens.screen import drawn
from client.ui.texts.glyphs import UNICODE, GlyphSet
from engine.board import Field
from engine.events import Command, Event, LayTile, Place
from engine.game import Game, RandomChance
from engine.pieces import Kind
from engine.record import replayed
from tests.client.ui.seen import text_of as screen_text

TITLES = [page.title for page in PAGES]


def practice(record: str) -> Game:
    """Return the game of a record, as the start screen's `practice` does; each is read only once."""
    return Game(_events_of(record), RandomChance(random.Random()))


@functools.cache
def _events_of(record: str) -> tuple[Event, ...]:
    return tuple(replayed(record).events)


def course_at(title: str, glyphs: GlyphSet = UNICODE) -> Course:
    """Return the course, opened at this page."""
    return Course("Ann", practice, glyphs, TITLES.index(title))


def page_titled(title: str) -> LessonPage:
    return PAGES[TITLES.index(title)]


def game_of(page: LessonPage) -> Game:
    return practice(record_at(page.moves))


def solutions(page: LessonPage) -> Iterator[Command]:
    """Yield the legal moves that do what the page asks."""
    start = game_of(page)
    for command in start.legal_commands():
        if isinstance(command, Place) and command.piece.wolf and page.goal != PlaceOne(wolf=True):
            continue  # the same as without the wolf
        game = Game(start.events, RandomChance(random.Random(1)))
        game.apply(command)
        if fulfilled(page.goal, command, model_of(game, page, "Ann")):
            yield command


def play(course: Course, command: Command) -> None:
    """Make a move on the screen, with keys where possible."""
    match command:
        case LayTile():
            course.press(str(command.position))
            for _ in range(command.orientation):
                course.press("r")
        case Place():
            assert course.model.view is not None
            course.act(Hold(command.piece))
            course.act(PointAt(course.model.view.layout.hexes[command.field]))
    course.press("enter")


def do_exercise(course: Course, page: LessonPage) -> None:
    """Do what the page asks."""
    assert course.model.view is not None
    match page.goal:
        case PointTo(field):
            course.act(PointAt(course.model.view.layout.hexes[field]))
        case BeRefused(field=field):
            legal = game_of(page).view.hands[PUPIL]
            piece = next(piece for piece in legal if piece.kind is not Kind.SOLDIER)
            play(course, Place(PUPIL, piece, field or Field("F3")))
        case Walk():
            while not is_done(course):
                course.press("right")
        case Read():
            pass
        case _:
            play(course, next(solutions(page)))


def is_done(course: Course) -> bool:
    return isinstance(course.ui.page, Lesson) and course.ui.page.done


def shown(course: Course, glyphs: GlyphSet = UNICODE, width: int = 80, height: int = 24) -> str:
    return screen_text(drawn(course.ui, course.model, glyphs, width, height))


def shows_end_of(sentence: str, text: str) -> bool:
    """Tell whether the sentence's last words are on the screen."""
    return " ".join(sentence.split()[-4:]) in " ".join(text.replace("|", " ").split())
