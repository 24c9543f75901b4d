"""Autoplay of scoring and records, tick by tick, so that tests need no clock."""

from dataclasses import replace

import pytest

from client.tables.table import TableModel
from client.ui.keys import Act
from client.ui.screens.dispatch import counting, pressed, ticked, updated
from client.ui.screens.replay import Replay, open_record, seen_in
from client.ui.screens.scoring import Result, last_step, scene
from client.ui.screens.screen import drawn
from client.ui.state import Ui
from client.ui.texts.glyphs import UNICODE
from client.ui.texts.people import names_at
from engine.game import GameOptions
from tests.client.ui.seen import after, at_scoring_step, model_of, shown_step, text_of, ui_of
from tests.client.ui.update.test_replay import recording_of
from tests.games import played


def scoring() -> tuple[Ui, TableModel]:
    game = played(GameOptions(3, random_layout=True), 11)
    model = model_of(game, 0)
    return ui_of(game, model), model


def test_autoplay_shows_every_step_long_enough_to_read() -> None:
    """It goes from the first step to the result, and shows longer sentences for longer."""
    ui, model = scoring()
    assert model.view is not None
    ui = after(ui, model, "r")
    seen, ticks = [0], {0: 0}
    while ui.ticks_left is not None:
        assert counting(ui, model)
        ticks[shown_step(ui, model)] += 1
        ui = ticked(ui, model)
        if (step := shown_step(ui, model)) != seen[-1]:
            seen.append(step)
            ticks[step] = 0
    assert seen == list(range(last_step(model.view) + 1))
    for step in seen[:-1]:
        sentence = scene(model.view, step, names_at(model)).sentence
        assert ticks[step] >= max(2, len(sentence) / 20)
    assert not counting(ui, model)
    assert ticked(ui, model) == ui


@pytest.mark.parametrize("key", ["enter", " ", "Z", "f12"])
def test_any_key_stops_autoplay(key: str) -> None:
    ui, model = scoring()
    autoplaying = at_scoring_step(after(ui, model, "r"), model, 4)
    assert pressed(autoplaying, key, model) == (replace(autoplaying, ticks_left=None), None)


def test_the_same_key_makes_autoplay_faster() -> None:
    """Three speeds, and then the first again; every step is shown for a second at least."""
    ui, model = scoring()
    waits = []
    running = at_scoring_step(after(ui, model, "r"), model, 9)
    for speed in (2, 3, 1):
        running = after(running, model, "r")
        assert f"speed {speed} of 3" in text_of(drawn(running, model, UNICODE, 80, 24))
        waits.append(running.ticks_left)
    fast, fastest, first = waits
    assert fast is not None
    assert fastest is not None
    assert first is not None
    assert 1 <= fastest < fast < first
    stopped = after(after(running, model, "r"), model, "Z")
    assert after(stopped, model, "r").speed == 1  # it goes on as fast as before


def test_keys_with_another_meaning_stop_autoplay_and_act() -> None:
    ui, model = scoring()
    autoplaying = at_scoring_step(after(ui, model, "r"), model, 4)
    assert after(autoplaying, model, "left") == at_scoring_step(
        replace(autoplaying, ticks_left=None), model, 3
    )
    assert after(autoplaying, model, "?").ticks_left is None


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
        ui = ticked(ui, seen_in(ui))
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
        ui = ticked(ui, seen_in(ui))
    view = seen_in(ui).view
    assert view is not None
    assert sorted(set(stops)) == list(range(recording.moves - 2, recording.end + 1))
    assert isinstance(ui.page.game, Result)
    assert pressed(ui, "r", seen_in(ui)) == (ui, None)
