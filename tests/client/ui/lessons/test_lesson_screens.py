"""The lessons on the screen: every page can be read in every window and language."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from client.language import LANGUAGES, _
from client.ui.lessons.course import Course
from client.ui.lessons.goals import (
    influence_of,
)
from client.ui.lessons.lesson import Lesson, seen, text_of
from client.ui.lessons.pages import PAGES, Shown
from client.ui.screens.reading import Reading, Topic
from client.ui.screens.screen import drawn
from client.ui.texts.glyphs import ASCII, UNICODE, GlyphSet
from engine.events import Place
from tests.client.ui.lessons.pupil import (
    TITLES,
    course_at,
    do_exercise,
    game_of,
    is_done,
    page_titled,
    play,
    practice,
    shown,
    shows_end_of,
    solutions,
)
from tests.client.ui.seen import assert_screen
from tests.client.ui.seen import text_of as screen_text

HAND = ("Em", "Em*", "Ef", "Ef*", "Es")


@pytest.mark.parametrize("size", [(80, 24), (96, 31)], ids=str)
def test_nothing_of_a_page_is_cut_off(size: tuple[int, int]) -> None:
    assert_complete(UNICODE, size)


def test_nothing_of_a_page_is_cut_off_in_ascii() -> None:
    assert_complete(ASCII)


@pytest.mark.parametrize("language", [each for each in LANGUAGES if each != "en"])
def test_nothing_of_a_page_is_cut_off_in_other_languages(
    language: str, in_language: Callable[[str], None]
) -> None:
    in_language(language)
    assert_complete(UNICODE)


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_is_cut_off_at_the_right(language: str, in_language: Callable[[str], None]) -> None:
    """A panel half as wide again has the same words, in titles, hands and all else.

    The exception is the field under the cursor, which is below the hand if there is room.
    """
    in_language(language)
    for page in PAGES:
        course = course_at(page.title)
        for part in ("asked", "done"):
            narrow, wide = (shown(course, UNICODE, width) for width in (80, 95))
            cut, missing = words_of(narrow) - words_of(wide), words_of(wide) - words_of(narrow)
            field = _("FIELD {field}").format(field="")
            if page.shown is Shown.HAND and field not in narrow:
                missing -= words_of(wide[wide.find(field) :])
            assert not cut, (page.title, part)
            assert not missing, (page.title, part)
            do_exercise(course, page)


def words_of(text: str) -> Counter[str]:
    """Return the words of a screen without its bottom line, which shows more keys if there is room."""
    return Counter(" ".join(line.rstrip("|") for line in text.splitlines()[:-1]).split())


def assert_complete(glyphs: GlyphSet, size: tuple[int, int] = (80, 24)) -> None:
    """Check that title, text, exercise, answer and hand are shown in full."""
    for page in PAGES:
        course = course_at(page.title, glyphs)
        for part in ("asked", "done"):
            text = shown(course, glyphs, *size)
            words = words_of(text)
            for sentence in (*text_of(page, glyphs), *course.ui.log):
                assert all(word in words for word in sentence.split()), (page.title, part, sentence, text)
            if page.shown is Shown.HAND and "1 Em" in text:
                assert all(f"{number} {face}" in text for number, face in enumerate(HAND, start=1)), text
            do_exercise(course, page)
        assert not glyphs.ascii or text.isascii()


def test_the_longest_arithmetic_is_shown_in_full() -> None:
    """It belongs to the farmer on the best field."""
    page = page_titled("Farmers")
    best = max((way for way in solutions(page) if isinstance(way, Place)), key=gain)
    course = course_at(page.title)
    play(course, best)
    assert shows_end_of(course.ui.log[0], shown(course))


def gain(command: Place) -> int:
    game = game_of(page_titled("Farmers"))
    game.apply(command)
    influence = influence_of(seen(game, page_titled("Farmers"), "Ann"), command.field)
    return 0 if influence is None else influence.amount


SCREENS: dict[str, tuple[str, bool, GlyphSet, tuple[int, int]]] = {
    "learn-laying-80x24": ("Laying the land", False, UNICODE, (80, 24)),
    "learn-merchants-80x24": ("Merchants", False, UNICODE, (80, 24)),
    "learn-farmers-done-80x24": ("Farmers", True, UNICODE, (80, 24)),
    "learn-refused-ascii": ("What is refused", True, ASCII, (80, 24)),
    "learn-livia-120x40": ("Through Livia's eyes", False, UNICODE, (120, 40)),
    "learn-scoring-80x24": ("Scoring: the influence", False, UNICODE, (80, 24)),
    "learn-end-80x24": ("The end", False, UNICODE, (80, 24)),
}


@pytest.mark.parametrize("name", SCREENS)
def test_page(name: str) -> None:
    """Pages as text; read the files to see them."""
    title, finished, glyphs, size = SCREENS[name]
    course = course_at(title, glyphs)
    if finished:
        do_exercise(course, page_titled(title))
    assert_screen(name, shown(course, glyphs, *size))


@pytest.mark.parametrize(
    ("language", "size"),
    [
        *(("en", size) for size in ((20, 8), (40, 12), (60, 20), (79, 23))),
        *((language, size) for language in LANGUAGES if language != "en" for size in ((20, 8), (60, 20))),
    ],
)
def test_every_page_can_be_read_and_done_in_a_small_window(
    language: str, size: tuple[int, int], in_language: Callable[[str], None]
) -> None:
    """All of its text and its task are shown on the way to the board; the board turns the page."""
    in_language(language)
    course = Course("Ann", practice, UNICODE)
    for number, page in enumerate(PAGES):
        assert isinstance(course.ui.page, Lesson)
        assert course.ui.page.number == number
        seen = scrolled(course, size)
        while course.ui.page.reads(course.ui):
            course.press("pagedown")
            seen += scrolled(course, size)
        wanted = " ".join((*text_of(page, UNICODE), *course.ui.log))
        words = {word for word in re.findall(r"\w+", wanted) if len(word) < size[0] - 4}
        assert words <= set(re.findall(r"\w+", seen))
        do_exercise(course, page)
        assert is_done(course)
        assert not course.ui.page.reads(course.ui)
        scrolled(course, size)
        course.press("pagedown")
        scrolled(course, size)
        if page is not PAGES[-1]:
            assert isinstance(course.ui.page, Lesson)
            assert course.ui.page.reads(course.ui)


def test_the_board_of_a_lesson_leads_back_to_its_text() -> None:
    """And a key that plays leads to the board."""
    course = course_at("Merchants")
    scrolled(course, (20, 8))
    assert isinstance(course.ui.page, Lesson)
    assert course.ui.page.reads(course.ui)
    course.press("1")
    assert not course.ui.page.reads(course.ui)
    course.press("pageup")
    assert course.ui.page.reads(course.ui)
    course.ui = replace(course.ui, last_top=0)  # in a large window both are seen
    assert isinstance(course.ui.page, Lesson)
    assert not course.ui.page.reads(course.ui)
    assert course.ui.page.number == TITLES.index("Merchants")


def scrolled(course: Course, size: tuple[int, int]) -> str:
    """Return what a small window shows, after it has told how far it can be scrolled."""
    frame = drawn(course.ui, course.model, UNICODE, *size)
    assert frame.seen
    course.ui = replace(course.ui, last_top=frame.last_top)
    return screen_text(drawn(course.ui, course.model, UNICODE, *size))


def test_help_is_about_the_lesson() -> None:
    """It has the keys of the exercise and of the pages, and none that need a table."""
    course = course_at("Merchants")
    course.press("?")
    assert course.ui.overlay == Reading(Topic.HELP)
    text = shown(course)
    assert "the next page, at any time" in text
    assert "north-west" in text
    assert "say something" not in text
    assert "older lines" not in text
    course.press("escape")
    assert "Lesson 5 of" in shown(course)
