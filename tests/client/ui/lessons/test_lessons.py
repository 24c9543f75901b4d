"""The lessons: every exercise can be done, and every page read, in every window and language."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from client.language import LANGUAGES, _
from client.ui.lessons.course import Course, Lesson, model_of
from client.ui.lessons.goals import Catch, Earn, PointTo, Read, influence_of
from client.ui.lessons.pages import PAGES, PUPIL, PanelPart
from client.ui.requests import Errand
from client.ui.screens.playing import PLACING_KEYS
from client.ui.screens.reading import Reading, Topic
from client.ui.screens.screen import drawn
from client.ui.state import Notice
from client.ui.texts.glyphs import ASCII, UNICODE, GlyphSet
from engine.board import Field
from engine.events import Place
from engine.pieces import Piece
from tests.client.ui.lessons import pupil
from tests.client.ui.seen import KEY_NAMES, assert_screen, is_refused, notice_of, shown_step
from tests.client.ui.seen import text_of as screen_text
from tests.examples import examples

ANY_KEY = sorted({*KEY_NAMES} | {":m D4", ":m* C2", ":lay 2 1", ":quit"})


def test_a_pupil_does_every_page_and_goes_on_to_play() -> None:
    course = Course("Ann", pupil.practice, UNICODE)
    for number, page in enumerate(PAGES):
        assert f"Lesson {number + 1} of {len(PAGES)}" in pupil.shown(course)
        assert pupil.is_done(course) == isinstance(page.goal, Read)
        pupil.do_exercise(course, page)
        assert pupil.is_done(course), page.title
        course.press("enter")
    assert (course.over, course.request) == (True, Errand.PLAY)


def test_pages_are_turned_both_ways_at_any_time() -> None:
    """Pages turn in the middle of an exercise too, and a page opened again starts again."""
    course = pupil.course_at("Merchants")
    pupil.play(course, next(pupil.solutions(pupil.page_titled("Merchants"))))
    assert pupil.is_done(course)
    course.press("pageup")
    assert not pupil.is_done(course)
    assert course.ui.page.keys(course.model) == PLACING_KEYS
    course.press("pagedown")
    assert not pupil.is_done(course)
    for _page in PAGES:
        course.press("pageup")
    assert "Lesson 1 of" in pupil.shown(course)
    course.press("backspace")
    assert not course.over
    course.press("q")
    assert (course.over, course.request) == (True, Errand.QUIT)


def test_ways_out_of_the_lessons() -> None:
    """Quitting asks nothing, Esc first puts back what is chosen, and only Enter leads on to a game."""
    for keys, left in ((["c-c"], True), (["2", "escape"], False), (["2", "escape", "escape"], True)):
        course = pupil.course_at("Merchants")
        for key in keys:
            course.press(key)
        assert (course.over, course.request) == (left, Errand.QUIT)
    for key in (":", *"join KXQT", "enter"):
        course.press(key)
    assert course.ui.notice == Notice("These are lessons: nobody else is here.")
    course = Course("Ann", pupil.practice, UNICODE, len(PAGES) - 1)
    assert "PgDn" not in pupil.shown(course)
    course.press("pagedown")
    assert not course.over
    assert "Press Enter to play." in pupil.shown(course)


def test_a_page_without_a_hand_offers_no_piece() -> None:
    """The cursor moves, even when the page is done."""
    course = pupil.course_at("Fields and springs")
    assert "Tab" not in pupil.shown(course)
    course.press("enter")
    assert "move the cursor" in pupil.shown(course)
    assert not pupil.is_done(course)
    pupil.do_exercise(course, pupil.page_titled("Fields and springs"))
    course.press("right")
    assert "HILL B" in pupil.shown(course)


def test_a_legal_move_that_is_not_asked_for_is_undone() -> None:
    """It is not refused, but it does not complete the page."""
    course, page = pupil.course_at("Farmers"), pupil.page_titled("Farmers")
    found = set(pupil.solutions(page))
    farmers = [Place(PUPIL, Piece("Ef"), field) for field in pupil.game_of(page).view.layout.hexes]
    other = next(
        each for each in farmers if each in pupil.game_of(page).legal_commands() and each not in found
    )
    before = course.model.view
    pupil.play(course, other)
    assert "taken back" in notice_of(course.ui)
    assert not pupil.is_done(course)
    assert course.model.view == before
    pupil.play(course, next(pupil.solutions(page)))
    assert pupil.is_done(course)
    course = pupil.course_at("No soldier at the end")  # which asks for another refusal than this one
    pupil.play(course, Place(PUPIL, Piece("Es"), Field("D4")))
    assert is_refused(course.ui)
    assert not pupil.is_done(course)


def test_a_wrong_answer_says_what_it_would_have_given() -> None:
    """In words, as the right one does; the number to reach is in the task."""
    for title, kind in (("Merchants", "merchant"), ("Farmers", "farmer"), ("Your soldier", "soldier")):
        page, course = pupil.page_titled(title), pupil.course_at(title)
        right = set(pupil.solutions(page))
        wrong = next(
            command
            for command in pupil.game_of(page).legal_commands()
            if isinstance(command, Place) and command.piece[1:] == kind[0] and command not in right
        )
        pupil.play(course, wrong)
        assert f"Ann's {kind} on {wrong.field}" in notice_of(course.ui)
        assert "taken back" in notice_of(course.ui)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_beside_a_field_is_shown_where_the_pupil_is_to_count(
    language: str, in_language: Callable[[str], None]
) -> None:
    """Whatever is chosen from the hand; what the piece would give is left to the pupil."""
    in_language(language)
    beside, gives = (
        _(text).partition("{")[0] for text in ("Beside it: {around}.", "Influence changes: {changes}.")
    )
    for page in PAGES:
        if isinstance(page.goal, Earn | Catch | PointTo):
            course = pupil.course_at(page.title)
            for key in ("", "2", "5"):
                course.press(key)
                text = " ".join(line[50:] for line in pupil.shown(course).splitlines())
                assert beside.strip() in text, page.title
                assert gives.strip() not in text


def test_the_scoring_is_walked_through_both_ways() -> None:
    """The page turns only after the last step."""
    course = pupil.course_at("Scoring: ties")
    first = shown_step(course.ui, course.model)
    course.press("right")
    course.press("left")
    course.press("left")
    assert shown_step(course.ui, course.model) == first
    while not pupil.is_done(course):
        course.press("enter")
    last = shown_step(course.ui, course.model)
    course.press("right")
    assert shown_step(course.ui, course.model) == last
    course.press("backspace")
    assert shown_step(course.ui, course.model) == last - 1
    course.press("enter")
    course.press("enter")
    assert isinstance(course.ui.page, Lesson)
    assert pupil.TITLES[course.ui.page.number] == "The end"


@given(st.integers(0, len(PAGES) - 1), st.lists(st.sampled_from(ANY_KEY), max_size=30))
@examples(12)
def test_any_keys_lead_to_a_page(page: int, keys: list[str]) -> None:
    """Whatever is pressed and typed, a page fills the screen."""
    course = Course("Ann", pupil.practice, UNICODE, page)
    for key in keys:
        for name in (
            (":", *key.removeprefix(":"), "enter") if len(key) > 1 and key.startswith(":") else (key,)
        ):
            course.press(name)
    lines = pupil.shown(course).splitlines()
    assert {get_cwidth(content) for content in lines} == {81}
    assert len(lines) == 24


HAND = ("Em", "Em*", "Ef", "Ef*", "Es")


@pytest.mark.parametrize(
    ("language", "glyphs", "size"),
    [*((each, UNICODE, (80, 24)) for each in LANGUAGES), ("en", UNICODE, (96, 31)), ("en", ASCII, (80, 24))],
)
def test_nothing_of_a_page_is_cut_off(
    language: str, glyphs: GlyphSet, size: tuple[int, int], in_language: Callable[[str], None]
) -> None:
    """Title, text, exercise, answer and hand are shown in full."""
    in_language(language)
    for page in PAGES:
        course = pupil.course_at(page.title, glyphs)
        for part in ("asked", "done"):
            text = pupil.shown(course, glyphs, *size)
            words = words_of(text)
            for sentence in (page.fill(page.text, glyphs), *course.ui.log):
                assert all(word in words for word in sentence.split()), (page.title, part, sentence, text)
            if page.shown is PanelPart.HAND and "1 Em" in text:
                assert all(f"{number} {face}" in text for number, face in enumerate(HAND, start=1)), text
            pupil.do_exercise(course, page)
        assert not glyphs.ascii or text.isascii()


def words_of(text: str) -> Counter[str]:
    """Return the words of a screen without its bottom line, which shows more keys if there is room."""
    return Counter(" ".join(line.rstrip("|") for line in text.splitlines()[:-1]).split())


def test_the_longest_arithmetic_is_shown_in_full() -> None:
    """It belongs to the farmer on the best field."""
    page = pupil.page_titled("Farmers")

    def gain(command: Place) -> int:
        game = pupil.game_of(page)
        game.apply(command)
        influence = influence_of(model_of(game, page, "Ann"), command.field)
        return 0 if influence is None else influence.amount

    course = pupil.course_at(page.title)
    pupil.play(course, max((way for way in pupil.solutions(page) if isinstance(way, Place)), key=gain))
    assert pupil.shows_end_of(course.ui.log[0], pupil.shown(course))


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
    course = pupil.course_at(title, glyphs)
    if finished:
        pupil.do_exercise(course, pupil.page_titled(title))
    assert_screen(name, pupil.shown(course, glyphs, *size))


@pytest.mark.parametrize(
    ("language", "size"),
    [
        *(("en", (20, 8)), ("en", (79, 23)), ("fr", (20, 8))),
        *(
            pytest.param(each, (20, 8), marks=pytest.mark.slow)
            for each in LANGUAGES
            if each not in {"en", "fr"}
        ),
        *(pytest.param("en", size, marks=pytest.mark.slow) for size in ((40, 12), (60, 20))),
    ],
)
def test_every_page_can_be_read_and_done_in_a_small_window(
    language: str, size: tuple[int, int], in_language: Callable[[str], None]
) -> None:
    """All of its text and its task are shown on the way to the board; the board turns the page."""
    in_language(language)
    course = Course("Ann", pupil.practice, UNICODE)
    for number, page in enumerate(PAGES):
        assert isinstance(course.ui.page, Lesson)
        assert course.ui.page.number == number
        seen = scrolled(course, size)
        while course.ui.page.reads(course.ui):
            course.press("pagedown")
            seen += scrolled(course, size)
        wanted = " ".join((page.fill(page.text, UNICODE), *course.ui.log))
        words = {word for word in re.findall(r"\w+", wanted) if len(word) < size[0] - 4}
        assert words <= set(re.findall(r"\w+", seen))
        pupil.do_exercise(course, page)
        assert pupil.is_done(course)
        assert not course.ui.page.reads(course.ui)
        scrolled(course, size)
        course.press("pagedown")
        scrolled(course, size)
        if page is not PAGES[-1]:
            assert isinstance(course.ui.page, Lesson)
            assert course.ui.page.reads(course.ui)


def test_the_board_of_a_lesson_leads_back_to_its_text() -> None:
    """And a key that plays leads to the board."""
    course = pupil.course_at("Merchants")
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
    assert course.ui.page.number == pupil.TITLES.index("Merchants")


def scrolled(course: Course, size: tuple[int, int]) -> str:
    """Return what a small window shows, after it has told how far it can be scrolled."""
    frame = drawn(course.ui, course.model, UNICODE, *size)
    assert frame.seen
    course.ui = replace(course.ui, last_top=frame.last_top)
    return screen_text(drawn(course.ui, course.model, UNICODE, *size))


def test_help_is_about_the_lesson() -> None:
    """It has the keys of the exercise and of the pages, and none that need a table."""
    course = pupil.course_at("Merchants")
    course.press("?")
    assert course.ui.overlay == Reading(Topic.HELP)
    text = pupil.shown(course)
    assert "the next page, at any time" in text
    assert "north-west" in text
    assert "say something" not in text
    assert "older lines" not in text
    course.press("escape")
    assert "Lesson 5 of" in pupil.shown(course)
