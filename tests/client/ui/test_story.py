"""What is said of a finished game is true of it."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from client.ui.screens.scoring import Result
from client.ui.state import Offers
from client.ui.texts.story import captives_of, story, what_it_means
from engine.components import LAUREL_WORTH
from engine.events import Captured, DecidedBy, GameEnded, HillScored, Tally
from engine.game import GameOptions
from engine.pieces import Seat
from engine.scoring import result
from engine.view import View
from tests.client.ui import seen
from tests.client.ui.draw.sample_pages import PAGES
from tests.games import played

NAMES = ["Ann", "Bob", "Cosima", "Dario", "Emma"]
games = st.builds(
    lambda players, seed: played(GameOptions(players, random_layout=True), seed).view,
    st.integers(2, 5),
    st.integers(0, 10_000),
)


def points_after(view: View) -> list[tuple[str, list[int]]]:
    """Return the points after each hill, counted by hand (R7.1)."""
    points, found = [0] * view.seats, []
    for event in view.scoring:
        match event:
            case Captured(seat=seat, taken=taken, shared=shared):
                points[seat] += len(taken) + len(shared)
            case HillScored(hill=hill, laurel=laurel, leaders=leaders):
                for seat in leaders:
                    points[seat] += LAUREL_WORTH[laurel] if len(leaders) == 1 else 2
                found.append((str(hill), list(points)))
    return found


def alone_ahead(points: list[int]) -> int | None:
    best = [seat for seat, each in enumerate(points) if each == max(points)]
    return best[0] if len(best) == 1 else None


@given(games)
def test_the_lead_is_told_as_it_was(view: View) -> None:
    """Before the hill that is named the winner did not lead alone, and from then on always."""
    assert view.result is not None
    told = " ".join(story(view, NAMES))
    leaders = [(hill, alone_ahead(points)) for hill, points in points_after(view)]
    if view.result.decided_by is not DecidedBy.POINTS:
        assert " led " not in told
        assert " lead " not in told
        return
    (winner,) = view.result.winners
    if " led from the first hill to the last" in told:
        since = 0
    else:
        named = re.search(r"(\w+) took the lead (?:on|with the last) hill,? (\w)", told)
        assert named
        assert named[1] == NAMES[winner]
        since = [hill for hill, _leader in leaders].index(named[2])
        assert leaders[since - 1][1] != winner
    assert {leader for _hill, leader in leaders[since:]} == {winner}


@given(games)
def test_each_hill_says_who_takes_the_lead_and_who_cannot_be_caught(view: View) -> None:
    """Whoever leads alone was said to take the lead; who cannot be caught wins, and that is said once."""
    assert view.result is not None
    hills = [event for event in view.scoring if isinstance(event, HillScored)]
    leader, told_of = None, []
    for event, (_hill, points) in zip(hills, points_after(view), strict=True):
        meant = what_it_means(view, event, NAMES)
        now = alone_ahead(points)
        if now is not None and now != leader:
            assert meant in {f"{NAMES[now]} takes the lead.", f"{NAMES[now]} cannot be caught any more."}
        else:
            assert "takes the lead" not in meant
        if "caught" in meant:
            told_of.append(now)
        leader = now
    assert len(told_of) <= 1
    assert told_of in ([], list(view.result.winners))


@given(games)
def test_no_hill_was_closer_than_the_closest(view: View) -> None:
    """A tie is closer than any other; a hill on which only one player had influence is not close."""
    contested = {
        str(event.hill): sorted(event.influence, reverse=True)[:2]
        for event in view.scoring
        if isinstance(event, HillScored) and sum(each > 0 for each in event.influence) > 1
    }
    told = re.search(r"closest hill was (\w): \w+ (\d+), \w+ (\d+)", " ".join(story(view, NAMES)))
    if told is None:
        assert not contested
        return
    assert contested[told[1]] == [int(told[2]), int(told[3])]
    assert int(told[2]) - int(told[3]) == min(most - fewer for most, fewer in contested.values())


@given(games)
def test_who_lacked_so_much_would_have_won(view: View) -> None:
    """With less on any hill they would not have, even if it had brought a tie."""
    assert view.result is not None
    for seat in map(Seat, range(view.seats)):
        told = " ".join(story(view, NAMES, seat))
        found = re.search(r"With (\d+) more influence on hill (\w) you would have won", told)
        enough = {
            (more, hill)
            for hill in "ABCDEFG"
            for more in range(1, int(found[1]) + 1 if found else 50)
            if with_more(view, hill, seat, more).winners == (seat,)
        }
        if seat in view.result.winners:
            assert found is None
        elif found:
            assert (int(found[1]), found[2]) == min(enough)
        else:
            assert not enough


def with_more(view: View, hill: str, seat: Seat, more: int) -> GameEnded:
    """Return the result if the seat had had so much more influence on a hill (R6.5)."""
    scoring = []
    for event in view.scoring:
        if isinstance(event, HillScored) and event.hill == hill:
            influence = list(event.influence)
            influence[seat] += more
            leaders = tuple(Seat(each) for each, has in enumerate(influence) if has == max(influence))
            event = replace(event, leaders=leaders)  # noqa: PLW2901 - all others stay
        scoring.append(event)
    return result(scoring, view.seats)


@given(games)
def test_captives_are_those_that_count(view: View) -> None:
    assert view.result is not None
    for seat, tally in enumerate(view.result.tallies):
        assert len(captives_of(view, Seat(seat))) == tally.captives


@pytest.mark.parametrize("alone", [False, True])
def test_only_who_has_company_is_told_how_to_lead_through_the_scoring(alone: bool) -> None:
    """On a screen and in text mode."""
    ui, model = seen.over()
    ui = seen.after(replace(ui, offers=Offers(private=alone)), model, "home")
    assert ("lead everybody" in seen.screen_of(ui, model)) != alone
    assert any("lead everybody" in told for told in ui.page.words(ui, model)) != alone


@pytest.mark.parametrize("alone", [False, True])
def test_a_screen_tells_only_of_draws_that_are_not_plainly_right(alone: bool) -> None:
    """With a key it tells of others, as text mode does unless one plays against bots alone.

    There, points that nobody has are left out as well.
    """
    for page, told in (("result-right", "The draws are right"), ("result-wrong", "DO NOT TRUST THE DRAWS")):
        ui, model = PAGES[page]()
        ui = replace(ui, offers=Offers(private=alone))
        sentences = " ".join(ui.page.words(ui, model))
        expected = not alone or page == "result-wrong"
        screen = seen.screen_of(ui, model)
        assert (told in sentences, told in screen) == (expected, page == "result-wrong")
        assert told in seen.screen_of(seen.after(ui, model, "m"), model)
        result = seen.view_of(model).result
        assert result is not None
        assert ("discs 1" in sentences) == any(tally.ones for tally in result.tallies)


def test_nothing_is_told_before_the_result() -> None:
    view = played(GameOptions(3, random_layout=True), 1, 10).view
    assert story(view, NAMES, Seat(0)) == []


@pytest.mark.parametrize(
    ("levels", "level"),
    [
        (["slave", "slave"], "Plebeian"),
        (["slave", "citizen"], "Senator"),
        (["consul"] * 2, ""),
        ([None, "slave"], ""),
    ],
)
def test_who_beats_bots_by_far_is_told_of_the_next_level(levels: list[str | None], level: str) -> None:
    """Of the strongest of them; nobody else is told so, nor if a person played, too."""
    game = next(
        game
        for game in (played(GameOptions(3, random_layout=True), seed) for seed in itertools.count())
        if game.view.result is not None and best_twice_the_next(game.view.result.tallies)
    )
    assert game.view.result is not None
    (winner,) = game.view.result.winners
    for seat in range(3):
        model = seen.model_of(game, seat)
        state = seen.change(model)
        others = iter(levels)
        summaries = [
            summary if at == seat else structs.replace(summary, level=next(others))
            for at, summary in enumerate(state.seats)
        ]
        seen.change(model, stage="over", seats=summaries)
        told = " ".join(Result().words(seen.ui_of(game, model), model))
        assert ("next time" in told) == bool(level and seat == winner)
        assert level in told or seat != winner


def best_twice_the_next(tallies: Sequence[Tally]) -> bool:
    first, second, *_rest = sorted((tally.points for tally in tallies), reverse=True)
    return first >= 2 * second
