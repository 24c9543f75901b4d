"""The walk through the scoring and through a record: what each step shows, and autoplay, tick by tick."""

from dataclasses import replace

from hypothesis import given

from client.tables.table import TableModel
from client.ui.keys import Act
from client.ui.screens.dispatch import after_key, after_tick, counting, updated
from client.ui.screens.replay import Replay, open_record, seen_in
from client.ui.screens.scoring import Result, last_step, scene, steps
from client.ui.screens.screen import drawn
from client.ui.state import Ui
from client.ui.texts.glyphs import UNICODE
from client.ui.texts.tables import names_at
from engine.events import Captured, HillScored, SoldierFled
from engine.game import Game, GameOptions
from tests.client.ui.seen import (
    NAMES,
    after,
    at_scoring_step,
    model_of,
    screen_of,
    shown_step,
    text_of,
    ui_of,
    view_of,
)
from tests.client.ui.update.test_replay import recording_of
from tests.games import finished_games, played


def scoring() -> tuple[Ui, TableModel]:
    game = played(GameOptions(3, random_layout=True), 11)
    model = model_of(game, 0)
    return ui_of(game, model), model


def test_autoplay_shows_every_step_long_enough_to_read() -> None:
    """It goes from the first step to the result, and shows longer sentences for longer."""
    ui, model = scoring()
    ui = after(ui, model, "r")
    seen, ticks = [0], {0: 0}
    while ui.ticks_left is not None:
        assert counting(ui, model)
        ticks[shown_step(ui, model)] += 1
        ui = after_tick(ui, model)
        if (step := shown_step(ui, model)) != seen[-1]:
            seen.append(step)
            ticks[step] = 0
    assert seen == list(range(last_step(view_of(model)) + 1))
    for step in seen[:-1]:
        sentence = scene(view_of(model), step, names_at(model)).sentence
        assert ticks[step] >= max(2, len(sentence) / 20)
    assert not counting(ui, model)
    assert after_tick(ui, model) == ui


def test_any_key_stops_autoplay_and_acts_if_it_has_another_meaning() -> None:
    ui, model = scoring()
    autoplaying = at_scoring_step(after(ui, model, "r"), model, 4)
    stopped = replace(autoplaying, ticks_left=None)
    for key in ("enter", " ", "Z", "f12"):
        assert after_key(autoplaying, key, model) == (stopped, None)
    assert after(autoplaying, model, "left") == at_scoring_step(stopped, model, 3)
    assert after(autoplaying, model, "?").ticks_left is None


def test_the_same_key_makes_autoplay_faster() -> None:
    """Three speeds, and then the first again; every step is shown for a second at least."""
    ui, model = scoring()
    waits = []
    running = at_scoring_step(after(ui, model, "r"), model, 9)
    for speed in (2, 3, 1):
        running = after(running, model, "r")
        assert f"speed {speed} of 3" in screen_of(running, model)
        waits.append(running.ticks_left)
    fast, fastest, first = (ticks or 0 for ticks in waits)
    assert 1 <= fastest < fast < first
    stopped = after(after(running, model, "r"), model, "Z")
    assert after(stopped, model, "r").speed == 1  # it goes on as fast as before


def test_a_click_anywhere_stops_autoplay() -> None:
    ui, model = scoring()
    autoplaying = after(ui, model, "r")
    frame = drawn(autoplaying, model, UNICODE, 80, 24)
    assert "any other key stops it" in text_of(frame)
    for column, line in ((0, 0), (79, 23), (40, 12)):
        action = frame.action_at(column, line)
        assert action is not None
        assert updated(autoplaying, action, model) == (replace(autoplaying, ticks_left=None), None)


def test_the_walk_through_a_game_that_was_not_finished_ends_with_its_last_move() -> None:
    recording = recording_of(played(GameOptions(2, random_layout=True), 11, 3))
    ui = open_record(recording, recording.end - 1, recording.all_eyes)
    ui, _ = updated(ui, Act.RUN, seen_in(ui))
    for _tick in range(ui.ticks_left or 0):
        ui = after_tick(ui, seen_in(ui))
    assert isinstance(ui.page, Replay)
    assert (ui.page.stop, ui.ticks_left) == (recording.end, None)


def test_autoplay_goes_through_the_moves_and_scoring_of_a_record() -> None:
    recording = recording_of(played(GameOptions(3, random_layout=True), 11))
    ui = open_record(recording, recording.moves - 2, recording.all_eyes)
    ui, _ = updated(ui, Act.RUN, seen_in(ui))
    stops = []
    while ui.ticks_left is not None:
        assert isinstance(ui.page, Replay)
        stops.append(ui.page.stop)
        ui = after_tick(ui, seen_in(ui))
    view = seen_in(ui).view
    assert view is not None
    assert sorted(set(stops)) == list(range(recording.moves - 2, recording.end + 1))
    assert isinstance(ui.page.game, Result)
    assert after_key(ui, "r", seen_in(ui)) == (ui, None)


@given(finished_games())
def test_each_step_shows_the_board_of_its_moment(game: Game) -> None:
    """R5.4: soldiers act on the board before them, and influence counts on the board after them.

    R7.1: at the end, everybody's points are those of the result.
    """
    view = game.view
    assert view.result is not None
    last = scene(view, last_step(view), NAMES)
    assert last.points == tuple(tally.points for tally in view.result.tallies)
    assert scene(view, 0, NAMES).points == (0,) * view.seats
    for number, step in enumerate(steps(view)):
        event, shown = step.event, scene(view, number, NAMES)
        board = shown.board.board
        if isinstance(event, SoldierFled | Captured):
            assert {event.field, *event.merchants, *event.farmers} <= board.keys()
        if isinstance(event, HillScored):
            assert {piece.field for piece in event.pieces} <= board.keys()
            for act in shown.acts:
                assert act.field in board or isinstance(act, SoldierFled)
                assert not isinstance(act, Captured) or not {*act.taken} & board.keys()
    assert shown.board.board == view.board


@given(finished_games())
def test_the_notes_on_the_board_add_up_to_the_influence(game: Game) -> None:
    """R6: notes add up to a piece's influence, and pieces to the hill's totals."""
    view = game.view
    for number, step in enumerate(steps(view)):
        shown = scene(view, number, NAMES)
        event = step.event
        if step.counting is not None:
            assert sum(map(int, shown.marks.notes.values())) == step.counting.amount
            assert str(step.counting.amount) in shown.sentence or not step.counting.amount
        elif isinstance(event, HillScored):
            for seat in range(view.seats):
                total = sum(piece.amount for piece in step.counted if piece.seat == seat)
                assert total == event.influence[seat]
