"""The lessons: all exercises and pages in any window, and what they say agrees with the engine."""

import functools
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from client.language import LANGUAGES, _
from client.ui.keys import Act, Hold, PointAt
from client.ui.lessons import goals
from client.ui.lessons.course import Course, Lesson, model_of
from client.ui.lessons.pages import MOVES, NAMES, PAGES, PUPIL, LessonPage, record_at
from client.ui.requests import Errand
from client.ui.screens.menu import At
from client.ui.screens.playing import PLACING_KEYS
from client.ui.screens.reading import Reading
from client.ui.screens.screen import drawn
from client.ui.screens.typed_commands import meaning
from client.ui.state import Notice
from client.ui.texts.glyphs import ASCII, UNICODE, GlyphSet
from client.ui.texts.pieces import piece_sign
from engine.board import Field, has_spring
from engine.events import Captured, Command, Event, HillScored, LayTile, Place, Placed, SoldierFled, TileLaid
from engine.game import Game, RandomChance
from engine.pieces import FACES, Kind, Piece, Seat, Wolf
from engine.record import replayed
from tests.client.ui.seen import KEY_NAMES, assert_screen, is_refused, notice_of, shown_step
from tests.client.ui.seen import text_of as screen_text
from tests.games import examples

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


def counts(page: LessonPage) -> bool:
    """Return whether the pupil has to count what a piece gives or captures."""
    return isinstance(page.goal, goals.PlaceOne) and page.goal.least > 0


def solutions(page: LessonPage) -> Iterator[Command]:
    """Yield the legal moves that do what the page asks."""
    start = game_of(page)
    for command in start.legal_commands():
        if isinstance(command, Place) and command.piece.wolf and page.goal != goals.PlaceOne(wolf=True):
            continue  # the same as without the wolf
        game = Game(start.events, RandomChance(random.Random(1)))
        game.apply(command)
        if goals.fulfilled(page.goal, command, model_of(game, page, "Ann")):
            yield command


def play(course: Course, command: Command) -> None:
    """Make a move on the screen, with keys where possible."""
    match command:
        case LayTile():
            course.interaction.press(str(command.position))
            for _ in range(command.orientation):
                course.interaction.press("r")
        case Place():
            assert course.model.view is not None
            course.interaction.act(Hold(command.piece))
            course.interaction.act(PointAt(course.model.view.layout.hexes[command.field]))
    course.interaction.press("enter")


def do_exercise(course: Course, page: LessonPage) -> None:
    """Do what the page asks."""
    assert course.model.view is not None
    match page.goal:
        case goals.PointTo(field):
            course.interaction.act(PointAt(course.model.view.layout.hexes[field]))
        case goals.BeRefused(field=field):
            legal = game_of(page).view.hands[PUPIL]
            piece = next(piece for piece in legal if piece.kind is not Kind.SOLDIER)
            play(course, Place(PUPIL, piece, field or Field("F3")))
        case goals.Walk():
            while not is_done(course):
                course.interaction.press("right")
        case goals.Read():
            pass
        case _:
            play(course, next(solutions(page)))


def test_the_example_of_a_page_is_what_it_asks_for_or_a_legal_try() -> None:
    """Text mode shows it; where pieces have to be well placed, it is no solution."""
    for number, page in enumerate(PAGES):
        course = Course("Ann", practice, UNICODE, number)
        assert bool(page.example) != isinstance(page.goal, goals.Read | goals.Walk), page.title
        if isinstance(page.goal, goals.PointTo):
            assert page.example == f"field {page.goal.field}"
        elif page.example:
            move = meaning(page.example, At(course.ui, course.model))
            assert isinstance(move, LayTile | Place)
            play(course, move)
            assert is_done(course) != counts(page), page.title
            assert not counts(page) or "The rules allow that" in (course.ui.notice or Notice("")).text


def is_done(course: Course) -> bool:
    return isinstance(course.ui.page, Lesson) and course.ui.page.done


def shown(course: Course, glyphs: GlyphSet = UNICODE, width: int = 80, height: int = 24) -> str:
    return screen_text(drawn(course.ui, course.model, glyphs, width, height))


def shows_end_of(sentence: str, text: str) -> bool:
    """Tell whether the sentence's last words are on the screen."""
    return " ".join(sentence.split()[-4:]) in " ".join(text.replace("|", " ").split())


ANY_KEY = sorted({*KEY_NAMES} | {":m D4", ":m* C2", ":lay 2 1", ":quit"})


def test_a_pupil_does_every_page_and_goes_on_to_play() -> None:
    course = Course("Ann", practice, UNICODE)
    for number, page in enumerate(PAGES):
        assert f"Lesson {number + 1} of {len(PAGES)}" in shown(course)
        assert is_done(course) == isinstance(page.goal, goals.Read)
        do_exercise(course, page)
        assert is_done(course), page.title
        course.interaction.press("enter")
    assert (course.interaction.over, course.interaction.request) == (True, Errand.PLAY)


def test_pages_are_turned_both_ways_at_any_time() -> None:
    course = course_at("Merchants")
    play(course, next(solutions(page_titled("Merchants"))))
    assert is_done(course)
    course.interaction.press("pageup")
    assert not is_done(course)
    assert course.ui.page.keys(course.model) == PLACING_KEYS
    course.interaction.press("pagedown")
    assert not is_done(course)
    for _page in PAGES:
        course.interaction.press("pageup")
    assert "Lesson 1 of" in shown(course)
    course.interaction.press("backspace")
    assert not course.interaction.over
    course.interaction.press("q")
    assert (course.interaction.over, course.interaction.request) == (True, Errand.QUIT)


def test_ways_out_of_the_lessons() -> None:
    """Quitting asks nothing, Esc first puts back what is chosen, and only Enter leads on to a game."""
    for keys, left in ((["c-c"], True), (["2", "escape"], False), (["2", "escape", "escape"], True)):
        course = course_at("Merchants")
        for key in keys:
            course.interaction.press(key)
        assert (course.interaction.over, course.interaction.request) == (left, Errand.QUIT)
    course = course_at("Merchants")
    course.interaction.press("v")
    assert course.ui.notice == Notice("These are lessons: nobody else is here.")
    for key in (":", *"leave", "enter"):
        course.interaction.press(key)
    assert (course.interaction.over, course.interaction.request) == (True, Errand.QUIT)
    course = Course("Ann", practice, UNICODE, len(PAGES) - 1)
    assert "PgDn" not in shown(course)
    course.interaction.press("pagedown")
    assert not course.interaction.over
    assert "Press Enter to play." in shown(course)


def test_a_page_without_a_hand_offers_no_piece() -> None:
    course = course_at("Fields and springs")
    assert "Tab" not in shown(course)
    course.interaction.press("enter")
    assert "move the cursor" in shown(course)
    assert not is_done(course)
    do_exercise(course, page_titled("Fields and springs"))
    course.interaction.press("right")
    assert "HILL B" in shown(course)


def test_a_legal_move_that_is_not_asked_for_is_undone() -> None:
    course, page = course_at("Farmers"), page_titled("Farmers")
    found = set(solutions(page))
    farmers = [Place(PUPIL, Piece("Ef"), field) for field in game_of(page).view.layout.hexes]
    other = next(each for each in farmers if each in game_of(page).legal_commands() and each not in found)
    before = course.model.view
    play(course, other)
    assert "taken back" in notice_of(course.ui)
    assert not is_done(course)
    assert course.model.view == before
    play(course, next(solutions(page)))
    assert is_done(course)
    course = course_at("No soldier at the end")  # which asks for another refusal than this one
    play(course, Place(PUPIL, Piece("Es"), Field("D4")))
    assert is_refused(course.ui)
    assert not is_done(course)


def test_a_wrong_answer_says_what_it_would_have_given() -> None:
    """In words, as the right one does; the number to reach is in the task."""
    for title, kind in (("Merchants", "merchant"), ("Farmers", "farmer"), ("Your soldier", "soldier")):
        page, course = page_titled(title), course_at(title)
        right = set(solutions(page))
        wrong = next(
            command
            for command in game_of(page).legal_commands()
            if isinstance(command, Place) and command.piece[1:] == kind[0] and command not in right
        )
        play(course, wrong)
        assert f"Your {kind} on {wrong.field}" in notice_of(course.ui)
        assert "taken back" in notice_of(course.ui)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_beside_a_field_is_shown_where_the_pupil_is_to_count(
    language: str, in_language: Callable[[str], None]
) -> None:
    """Whatever is chosen from the hand; what the piece would give is left to the"""
    in_language(language)
    beside, gives = (
        _(text).partition("{")[0] for text in ("Beside it: {around}.", "Influence changes: {changes}.")
    )
    for page in PAGES:
        if isinstance(page.goal, goals.PointTo) or counts(page):
            course = course_at(page.title)
            for key in ("", "2", "5"):
                course.interaction.press(key)
                text = " ".join(line[50:] for line in shown(course).splitlines())
                assert beside.strip() in text, page.title
                assert gives.strip() not in text


def test_the_scoring_is_walked_through_both_ways() -> None:
    course = course_at("Scoring: ties")
    first = shown_step(course.ui, course.model)
    course.interaction.press("right")
    course.interaction.press("left")
    course.interaction.press("left")
    assert shown_step(course.ui, course.model) == first
    while not is_done(course):
        course.interaction.press("enter")
    last = shown_step(course.ui, course.model)
    course.interaction.press("right")
    assert shown_step(course.ui, course.model) == last
    course.interaction.press("backspace")
    assert shown_step(course.ui, course.model) == last - 1
    course.interaction.press("enter")
    course.interaction.press("enter")
    assert isinstance(course.ui.page, Lesson)
    assert TITLES[course.ui.page.number] == "The end"


@given(st.integers(0, len(PAGES) - 1), st.lists(st.sampled_from(ANY_KEY), max_size=30))
@examples(4)
def test_any_keys_lead_to_a_page(page: int, keys: list[str]) -> None:
    """Whatever is pressed and typed, a page fills the screen."""
    course = Course("Ann", practice, UNICODE, page)
    for key in keys:
        for name in (
            (":", *key.removeprefix(":"), "enter") if len(key) > 1 and key.startswith(":") else (key,)
        ):
            course.interaction.press(name)
    lines = shown(course).splitlines()
    assert {get_cwidth(content) for content in lines} == {81}
    assert len(lines) == 24


HAND = tuple(piece_sign(Piece(f"E{face}")) for face in FACES)


@pytest.mark.parametrize(
    ("language", "glyphs", "size"),
    [
        ("en", ASCII, (80, 24)),
        *(pytest.param(each, UNICODE, (80, 24), marks=pytest.mark.slow) for each in LANGUAGES),
        pytest.param("en", UNICODE, (96, 31), marks=pytest.mark.slow),
    ],
)
def test_nothing_of_a_page_is_cut_off(
    language: str, glyphs: GlyphSet, size: tuple[int, int], in_language: Callable[[str], None]
) -> None:
    in_language(language)
    for page in PAGES:
        course = course_at(page.title, glyphs)
        for part in ("asked", "done"):
            text = shown(course, glyphs, *size)
            words = words_of(text)
            for sentence in (page.fill(page.text, glyphs), *course.ui.log):
                assert all(word in words for word in sentence.split()), (page.title, part, sentence, text)
            if re.search(r"\b1 Em", text) and not isinstance(page.goal, goals.PointTo | goals.Read):
                assert all(f"{number} {face}" in text for number, face in enumerate(HAND, start=1)), text
            do_exercise(course, page)
        assert not glyphs.ascii or text.isascii()


def words_of(text: str) -> Counter[str]:
    """Return the words of a screen without its bottom line, which shows more keys if there is room."""
    return Counter(" ".join(line.rstrip("|") for line in text.splitlines()[:-1]).split())


def test_the_longest_arithmetic_is_shown_in_full() -> None:
    """It belongs to the farmer on the best field."""
    page = page_titled("Farmers")

    def gain(command: Place) -> int:
        game = game_of(page)
        game.apply(command)
        influence = goals.influence_of(model_of(game, page, "Ann"), command.field)
        return 0 if influence is None else influence.amount

    course = course_at(page.title)
    play(course, max((way for way in solutions(page) if isinstance(way, Place)), key=gain))
    assert shows_end_of(course.ui.log[0], shown(course))


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
    title, finished, glyphs, size = SCREENS[name]
    course = course_at(title, glyphs)
    if finished:
        do_exercise(course, page_titled(title))
    assert_screen(name, shown(course, glyphs, *size))


@pytest.mark.parametrize(
    ("language", "size"),
    [
        ("en", (20, 8)),
        *(pytest.param(each, (20, 8), marks=pytest.mark.slow) for each in LANGUAGES if each != "en"),
        *(pytest.param("en", size, marks=pytest.mark.slow) for size in ((40, 12), (60, 20), (79, 23))),
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
            course.interaction.press("pagedown")
            seen += scrolled(course, size)
        wanted = " ".join((page.fill(page.text, UNICODE), *course.ui.log))
        words = {word for word in re.findall(r"\w+", wanted) if len(word) < size[0] - 4}
        assert words <= set(re.findall(r"\w+", seen))
        do_exercise(course, page)
        assert is_done(course)
        assert not course.ui.page.reads(course.ui)
        scrolled(course, size)
        course.interaction.press("pagedown")
        scrolled(course, size)
        if page is not PAGES[-1]:
            assert isinstance(course.ui.page, Lesson)
            assert course.ui.page.reads(course.ui)


def test_the_board_of_a_lesson_leads_back_to_its_text() -> None:
    course = course_at("Merchants")
    scrolled(course, (20, 8))
    assert isinstance(course.ui.page, Lesson)
    assert course.ui.page.reads(course.ui)
    course.interaction.press("1")
    assert not course.ui.page.reads(course.ui)
    course.interaction.press("pageup")
    assert course.ui.page.reads(course.ui)
    course.interaction.ui = replace(course.ui, last_top=0)  # in a large window both are seen
    assert isinstance(course.ui.page, Lesson)
    assert not course.ui.page.reads(course.ui)
    assert course.ui.page.number == TITLES.index("Merchants")


@pytest.mark.parametrize("title", ["Fields and springs", "Laying the land", "Merchants"])
def test_a_small_window_says_how_the_text_of_a_lesson_is_read(title: str) -> None:
    """Enter leads through the text first; what it does on the board is said below the board."""
    course = course_at(title)
    scrolled(course, (40, 12))
    while isinstance(course.ui.page, Lesson) and course.ui.page.reads(course.ui):
        below = scrolled(course, (40, 12)).rstrip("\n").splitlines()[-1]
        assert "Enter next" in below
        course.interaction.press("enter")
    below = scrolled(course, (40, 12)).rstrip("\n").splitlines()[-1]
    assert "Enter next" not in below


def scrolled(course: Course, size: tuple[int, int]) -> str:
    """Return what a small window shows, after it has told how far it can be scrolled."""
    frame = drawn(course.ui, course.model, UNICODE, *size)
    assert frame.seen
    course.interaction.ui = replace(course.ui, last_top=frame.last_top)
    return screen_text(drawn(course.ui, course.model, UNICODE, *size))


def test_help_is_about_the_lesson() -> None:
    course = course_at("Merchants")
    course.interaction.press("?")
    assert course.ui.overlay == Reading(Act.HELP)
    text = shown(course)
    assert "the next page, at any time" in text
    assert "north-west" in text
    assert "say something" not in text
    assert "older lines" not in text
    course.interaction.press("escape")
    assert "Lesson 5 of" in shown(course)


def test_the_example_is_one_game() -> None:
    """The engine plays the record of every page, and each is a beginning of the whole game."""
    whole = game_of(replace(PAGES[0], moves=MOVES))
    assert whole.over
    for moves in range(MOVES):
        events = game_of(replace(PAGES[0], moves=moves)).events
        assert events == whole.events[: len(events)]
    assert len([event for event in whole.events if isinstance(event, Placed)]) == 36


@pytest.mark.parametrize("page", [page for page in PAGES if counts(page)], ids=lambda page: page.title)
def test_some_fields_solve_the_exercise_and_most_do_not(page: LessonPage) -> None:
    """Nothing hidden matters for the exercise."""
    found = {command.field for command in solutions(page) if isinstance(command, Place)}
    assert 1 <= len(found) <= 21
    view = model_of(game_of(page), page, "Ann").view
    assert view is not None
    assert not any(isinstance(piece, Wolf) for piece in view.board.values())


def test_the_pages_about_the_beginning_agree_with_the_engine() -> None:
    """R3.1, R3.3, R4.1: Livia laid the first tile after the centre, and placed the first piece."""
    assert "(E=6)" in shown(course_at("The land"))
    assert has_spring(field_of("Fields and springs"))
    assert isinstance(page_titled("Laying the land").goal, goals.LayAnywhere)
    assert len(game_of(page_titled("Laying the land")).view.layout.hexes) == 3 * 6
    start = game_of(page_titled("Your people"))
    assert start.view.start.starting == NAMES.index("Livia") + 1
    assert [event.seat for event in start.events if isinstance(event, TileLaid | Placed)][::6] == [1, 1]
    assert sum(start.view.hands[PUPIL].values()) == 12
    for title, row in (
        ("Your people", "1 Em  merchant"),
        ("The wolf", f"2 {HAND[1]} wolf merchant"),
        ("The wolf", f"4 {HAND[3]} wolf farmer"),
    ):
        assert row in shown(course_at(title))


def test_the_pages_about_soldiers_agree_with_the_engine() -> None:
    """R5.1 to R5.4: at hill D, one soldier captures a merchant, and another flees."""
    for title, seat, merchants, farmers, words in (
        (
            "A soldier captures",
            1,
            ("D6",),
            (),
            "1 merchant and 0 farmers beside it: it captures the merchant on D6.",
        ),
        ("A soldier flees", 2, ("D6",), ("D4",), "1 merchant and 1 farmer beside it: it flees."),
    ):
        page, course = page_titled(title), course_at(title)
        act = goals.act_of(model_of(game_of(page), page, "Ann"), field_of(title))
        assert isinstance(act, SoldierFled if farmers else Captured)
        assert (act.seat, act.merchants, act.farmers) == (seat, merchants, farmers)
        assert words not in " ".join(shown(course).split())
        do_exercise(course, page)
        assert shows_end_of(words, shown(course))


def field_of(title: str) -> Field:
    goal = page_titled(title).goal
    assert isinstance(goal, goals.PointTo | goals.PlaceOne)
    assert goal.field is not None
    return goal.field


def test_what_livia_sees_is_what_her_seat_sees() -> None:
    """R4.2: the kind of the pupil's wolf and the pupil's hand are hidden."""
    course = course_at("Through Livia's eyes")
    assert course.model.view is not None
    assert course.model.seat == 1
    assert course.model.view.placed[Field("E5")] == Wolf("E*")
    assert course.model.view.owners[Field("E5")] == PUPIL
    assert list(course.model.view.hands) == [1]
    assert piece_sign(Wolf("E*")) in shown(course)


def test_the_pages_about_hands_agree_with_the_engine() -> None:
    """R4.3: a hand of five whose one soldier must be placed, then a hand of one farmer."""
    for title in ("No soldier at the end", "Time for the soldier"):
        hand = game_of(page_titled(title)).view.hands[PUPIL]
        assert (sum(hand.values()), hand[Piece("Es")]) == (5, 1)
    course = course_at("No soldier at the end")
    do_exercise(course, page_titled("No soldier at the end"))
    assert "Place a soldier now" in " ".join(shown(course).split())
    game = game_of(page_titled("The last piece"))
    assert (game.view.hands[PUPIL], game.view.remaining) == ({Piece("Ef"): 1}, [1, 0, 0])
    game.apply(Place(PUPIL, Piece("Ef"), field_of("The last piece")))
    assert game.events == game_of(replace(PAGES[0], moves=MOVES)).events


def test_the_pages_about_scoring_agree_with_the_engine() -> None:
    """Hill A: a capture, and the pupil's soldier flees; hill D: a shared captive, and a tie."""
    scoring = game_of(replace(PAGES[0], moves=MOVES)).view.scoring
    acts = [event for event in scoring if isinstance(event, SoldierFled | Captured | HillScored)]
    captured, fled, settled = (event for event in acts if event.hill == "A")
    assert isinstance(captured, Captured)
    assert isinstance(fled, SoldierFled)
    assert isinstance(settled, HillScored)
    assert (fled.seat, settled.leaders) == (PUPIL, (PUPIL,))
    assert {each.kind for each in settled.pieces} == {Kind.MERCHANT, Kind.FARMER}
    assert (captured.field, {*captured.taken, fled.field}) == ("A2", {"A1", "A3", "A4"})
    (farmer,) = (each for each in settled.pieces if each.field == "A6")
    assert (farmer.amount, sum(term.amount for term in farmer.terms if term.field == "A1")) == (8, 4)
    one, other, tied = (event for event in acts if event.hill == "D")
    assert isinstance(one, Captured)
    assert isinstance(other, Captured)
    assert isinstance(tied, HillScored)
    assert set() < set(other.shared) <= set(one.taken)
    assert tied.leaders == (PUPIL, Seat(1))
