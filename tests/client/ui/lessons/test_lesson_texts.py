"""What the lessons say agrees with the engine."""

from dataclasses import replace

import pytest

from client.ui.lessons.course import model_of
from client.ui.lessons.goals import Catch, Earn, LayAnywhere, PlaceOne, PointTo, act_of
from client.ui.lessons.pages import MOVES, NAMES, PAGES, PUPIL, LessonPage
from engine.board import Field, has_spring
from engine.events import Captured, HillScored, Place, Placed, SoldierFled, TileLaid
from engine.pieces import Kind, Piece, Seat, Wolf
from tests.client.ui.lessons import pupil


def test_the_example_is_one_game() -> None:
    """The engine plays the record of every page, and each is a beginning of the whole game."""
    whole = pupil.game_of(replace(PAGES[0], moves=MOVES))
    assert whole.over
    for moves in range(MOVES):
        events = pupil.game_of(replace(PAGES[0], moves=moves)).events
        assert events == whole.events[: len(events)]
    assert len([event for event in whole.events if isinstance(event, Placed)]) == 36


@pytest.mark.parametrize(
    "page", [page for page in PAGES if isinstance(page.goal, Earn | Catch)], ids=lambda page: page.title
)
def test_some_fields_solve_the_exercise_and_most_do_not(page: LessonPage) -> None:
    """Nothing hidden matters for the exercise."""
    found = {command.field for command in pupil.solutions(page) if isinstance(command, Place)}
    assert 1 <= len(found) <= 21
    view = model_of(pupil.game_of(page), page, "Ann").view
    assert view is not None
    assert not any(isinstance(piece, Wolf) for piece in view.board.values())


def test_the_pages_about_the_beginning_agree_with_the_engine() -> None:
    """R3.1, R3.3, R4.1: Livia laid the first tile after the centre, and placed the first piece."""
    assert "(E=6)" in pupil.shown(pupil.course_at("The land"))
    assert has_spring(field_of("Fields and springs"))
    assert isinstance(pupil.page_titled("Laying the land").goal, LayAnywhere)
    assert len(pupil.game_of(pupil.page_titled("Laying the land")).view.layout.hexes) == 3 * 6
    start = pupil.game_of(pupil.page_titled("Your people"))
    assert start.view.start.starting == NAMES.index("Livia") + 1
    assert [event.seat for event in start.events if isinstance(event, TileLaid | Placed)][::6] == [1, 1]
    assert sum(start.view.hands[PUPIL].values()) == 12
    for title, row in (
        ("Your people", "1 Em  merchant"),
        ("The wolf", "2 Em* wolf merchant"),
        ("The wolf", "4 Ef* wolf farmer"),
    ):
        assert row in pupil.shown(pupil.course_at(title))


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
        page, course = pupil.page_titled(title), pupil.course_at(title)
        act = act_of(model_of(pupil.game_of(page), page, "Ann"), field_of(title))
        assert isinstance(act, SoldierFled if farmers else Captured)
        assert (act.seat, act.merchants, act.farmers) == (seat, merchants, farmers)
        assert words not in " ".join(pupil.shown(course).split())
        pupil.do_exercise(course, page)
        assert pupil.shows_end_of(words, pupil.shown(course))


def field_of(title: str) -> Field:
    goal = pupil.page_titled(title).goal
    assert isinstance(goal, PointTo | PlaceOne)
    assert goal.field is not None
    return goal.field


def test_what_livia_sees_is_what_her_seat_sees() -> None:
    """R4.2: the kind of the pupil's wolf and the pupil's hand are hidden."""
    course = pupil.course_at("Through Livia's eyes")
    assert course.model.view is not None
    assert course.model.seat == 1
    assert course.model.view.placed[Field("E5")] == Wolf("E*")
    assert course.model.view.owners[Field("E5")] == PUPIL
    assert list(course.model.view.hands) == [1]
    assert "E?*" in pupil.shown(course)


def test_the_pages_about_hands_agree_with_the_engine() -> None:
    """R4.3: a hand of five whose one soldier must be placed, then a hand of one farmer."""
    for title in ("No soldier at the end", "Time for the soldier"):
        hand = pupil.game_of(pupil.page_titled(title)).view.hands[PUPIL]
        assert (sum(hand.values()), hand[Piece("Es")]) == (5, 1)
    course = pupil.course_at("No soldier at the end")
    pupil.do_exercise(course, pupil.page_titled("No soldier at the end"))
    assert "Place a soldier now" in " ".join(pupil.shown(course).split())
    game = pupil.game_of(pupil.page_titled("The last piece"))
    assert (game.view.hands[PUPIL], game.view.remaining) == ({Piece("Ef"): 1}, [1, 0, 0])
    game.apply(Place(PUPIL, Piece("Ef"), field_of("The last piece")))
    assert game.events == pupil.game_of(replace(PAGES[0], moves=MOVES)).events


def test_the_pages_about_scoring_agree_with_the_engine() -> None:
    """Hill A: a capture, and the pupil's soldier flees; hill D: a shared captive, and a tie."""
    scoring = pupil.game_of(replace(PAGES[0], moves=MOVES)).view.scoring
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
