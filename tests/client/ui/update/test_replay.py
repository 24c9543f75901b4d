"""A record on the screen: every key, the typed commands, and what each seat's eyes are shown."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from client.records import Recording
from client.ui import requests
from client.ui.frame import plain
from client.ui.keys import PointAt
from client.ui.screens.dispatch import pressed, updated
from client.ui.screens.playing import Playing
from client.ui.screens.reading import Reading, Topic
from client.ui.screens.replay import Replay, open_record, seen_in
from client.ui.screens.scoring import last_step
from client.ui.screens.screen import drawn
from client.ui.state import Capabilities, Ui
from client.ui.texts.glyphs import ASCII, UNICODE, GlyphSet
from engine.board import HILLS
from engine.game import Game, GameOptions
from engine.pieces import Seat
from engine.record import names_in, replayed
from engine.redaction import snapshot
from engine.view import SPECTATOR, eyes_of
from tests.client.ui.seen import (
    NAMES,
    assert_screen,
    is_refused,
    line_of,
    notice_of,
    playing_of,
    shown_step,
    text_of,
    typed,
)
from tests.games import all_eyes, games, played

RECORDS = Path(__file__).parents[3] / "engine" / "records"


def recording_of(game: Game) -> Recording:
    return Recording.of(game.events, dict(enumerate(NAMES[: game.view.seats])))


def recording_from_file(players: int = 3) -> Recording:
    text = (RECORDS / f"{players}-players.txt").read_text(encoding="utf-8")
    return Recording.of(replayed(text).events, dict(enumerate(NAMES)))


def start(recording: Recording | None = None) -> Ui:
    recording = recording or recording_from_file()
    return open_record(recording, 0, recording.all_eyes)


def after(ui: Ui, *keys: str) -> Ui:
    """Return the UI state after these keys; a record never leads to a request."""
    for key in keys:
        ui, request = pressed(ui, key, seen_in(ui))
        assert request is None
    return ui


def shown_stop(ui: Ui) -> int:
    return replay_of(ui).stop


def replay_of(ui: Ui) -> Replay:
    assert isinstance(ui.page, Replay)
    return ui.page


def scoring_step(ui: Ui) -> int:
    return shown_step(ui, seen_in(ui))


def screen_of(ui: Ui) -> str:
    return text_of(drawn(ui, seen_in(ui), UNICODE, 80, 24))


@given(games())
def test_every_stop_is_the_game_as_it_was(game: Game) -> None:
    """The last stop equals a snapshot, for all eyes, and every move has one stop."""
    recording = recording_of(game)
    for eyes in all_eyes(game):
        assert recording.view(recording.end, eyes) == snapshot(game.view, eyes)
    placed = [recording.view(at, SPECTATOR) for at in range(recording.moves + 1)]
    laid = [sum(tile is not None for tile in view.tiles) + len(view.placed) for view in placed]
    assert laid == list(range(laid[0], laid[0] + recording.moves + 1))
    assert recording.end == recording.moves + game.over


@pytest.mark.parametrize(
    ("comment", "name"),
    [
        ("# seat 0 is Zoë", "Zoë"),
        ("  # seat 0 is Anna Maria  \r", "Anna Maria"),
        ("# seat 0 is 小林", "小林"),
        ("# seat 0 is " + "x" * 21, "Seat 1"),
        ("# seat 0 is a\u0301\u0301\u0301", "Seat 1"),
        ("# seat 0 is \u2800", "Seat 1"),
        ("# seat 7 is Anna", "Seat 1"),
        ("# the seat 0 is Anna", "Seat 1"),
        ("", "Seat 1"),
    ],
)
def test_names_are_read_from_comments_if_they_are_safe(comment: str, name: str) -> None:
    """Otherwise the seat's number is the name."""
    game = played(GameOptions(2), 1, 3)
    assert Recording.of(game.events, names_in(f"palatinus record 1\n{comment}\n")).names[0] == name


def test_keys_go_forward_and_back() -> None:
    """Keys go by one move or one round, and never beyond the ends."""
    ui = start()
    assert isinstance(ui.page, Replay)
    assert shown_stop(after(ui, "left", "up", "home")) == 0
    assert shown_stop(after(ui, "right", " ", "enter", "left")) == 2
    assert shown_stop(after(ui, "down", "pagedown", "up")) == 3
    assert shown_stop(after(ui, *["down"] * 14)) == 42
    assert seen_in(after(ui, *["down"] * 14)).view == recording_from_file().view(
        42, recording_from_file().all_eyes
    )


def test_the_scoring_of_a_record_is_walked_through() -> None:
    """It follows the last move, step by step or hill by hill, to the result and back."""
    ui = after(start(), *typed("42"))
    assert "all pieces placed" in screen_of(ui)
    ui = after(ui, "right")
    assert (shown_stop(ui), scoring_step(ui)) == (43, 0)
    assert "step 1 of" in screen_of(ui)
    assert scoring_step(after(ui, "right", "right", "left")) == 1
    hill = after(ui, "down", "down")
    assert "scoring hill B" in screen_of(hill)
    assert "scoring hill A" in screen_of(after(hill, "up"))
    assert "scoring hill B" in screen_of(after(hill, "right", "up"))
    ended = after(ui, "end")
    view = seen_in(ended).view
    assert view is not None
    assert scoring_step(ended) == last_step(view)
    assert "POINTS" in screen_of(ended)
    assert after(ended, "right", "down", "end") == ended
    assert shown_stop(after(ui, "left")) == shown_stop(after(ui, "up")) == 42


def test_a_running_game_ends_with_its_last_move() -> None:
    recording = recording_of(played(GameOptions(4, random_layout=True), 3, 9))
    ui = after(start(recording), "end")
    assert (shown_stop(ui), type(ui.page.game)) == (9, Playing)
    assert after(ui, "right") == ui
    assert "not been scored" in screen_of(after(ui, *typed("go scoring")))


def test_keys_change_the_eyes() -> None:
    """Tab goes through all of them; a number, `a` and `w` choose directly."""
    ui = after(start(), *typed("30"))
    recording = recording_from_file()
    every = [recording.all_eyes, *(eyes_of(Seat(seat)) for seat in range(3)), SPECTATOR]
    for eyes in [*every[1:], every[0]]:
        ui = after(ui, "tab")
        assert replay_of(ui).eyes == eyes
    assert after(ui, "s-tab", "s-tab").page == after(ui, "3").page
    assert after(ui, "w").page == after(ui, "s-tab").page
    assert after(ui, "2", "a") == ui
    assert after(ui, "4").notice is not None
    assert "seen by Bob" in screen_of(after(ui, "2"))


def test_a_past_game_is_played_on_in_the_seat_looking_or_on_turn() -> None:
    """As long as it is not over there, and only where it was chosen from the past games."""
    recording = recording_from_file()
    there = after(start(recording), *["right"] * 9)
    assert "start screen" in notice_of(after(there, "b"))
    there = replace(there, capabilities=Capabilities(plays_on=True))
    turn = recording.view(9, recording.all_eyes).turn
    assert turn is not None
    assert pressed(there, "b", seen_in(there))[1] == requests.PlayOn(recording, 9, turn)
    first = after(there, "1")
    assert pressed(first, "b", seen_in(first))[1] == requests.PlayOn(recording, 9, Seat(0))
    for keys in (("end",), ("end", "1")):
        assert "over here" in notice_of(after(there, *keys, "b"))


def test_the_hand_shown_is_that_of_the_eyes_or_of_the_player_on_turn() -> None:
    ui = after(start(), *typed("7"))
    assert "HAND OF Bob" in screen_of(ui)
    assert "HAND OF Cosima" in screen_of(after(ui, "3"))
    assert "HAND OF" not in screen_of(after(ui, "w"))


def test_typed_commands() -> None:
    """Words choose stops and eyes and can be completed; mistakes are refused."""
    ui = start()
    assert shown_stop(after(ui, "g", "1", "2", "enter")) == 12
    assert shown_stop(after(ui, *typed("go 42"))) == 42
    assert scoring_step(after(ui, *typed("go end"))) == scoring_step(after(ui, "end")) > 0
    assert shown_stop(after(ui, *typed("go scoring"))) == 43
    assert shown_stop(after(ui, *typed("9"), *typed("go start"))) == 0
    assert after(ui, *typed("eyes none")).page == after(ui, "w").page
    assert after(ui, *typed("eyes cosima")).page == after(ui, *typed("eyes 3")).page
    assert after(ui, *typed("eyes 1"), *typed("eyes all")).page == ui.page
    for line in ("go 43", "go", "go x", "eyes", "eyes 7", "say hello", "m* C4", "1000000000000"):
        misread = after(ui, *typed(line))
        assert is_refused(misread)
        assert misread.page == ui.page
    completed = after(ui, ":", "e", "tab")
    assert line_of(completed) == "eyes "
    assert "eyes Cosima" in screen_of(after(completed, "C"))


def test_help_and_quitting() -> None:
    """Help is the same as elsewhere, and quitting asks nothing, since nothing is lost."""
    ui = start()
    assert after(ui, "?").overlay == Reading(Topic.HELP)
    assert "to the move whose number" in screen_of(after(ui, "?"))
    assert "eyes 1" in screen_of(after(ui, "?", "pagedown", "pagedown"))
    assert after(ui, "?", "escape") == ui
    assert pressed(ui, "q", seen_in(ui))[1] == requests.Errand.QUIT
    closing = replace(after(ui, ":", *"quit"), notice=None)
    assert pressed(closing, "enter", seen_in(ui))[1] == requests.Errand.QUIT


def test_a_click_explains_a_field_and_goes_on_in_the_scoring() -> None:
    ui = start()
    pointed, _ = updated(ui, PointAt(HILLS[0]), seen_in(ui))
    assert (playing_of(pointed).cursor, shown_stop(pointed)) == (HILLS[0], 0)
    scoring = after(ui, *typed("go scoring"))
    assert scoring_step(updated(scoring, PointAt(HILLS[0]), seen_in(scoring))[0]) == 1


PAGES = {
    "laying": ("3",),
    "placing": ("24", "tab", "tab"),
    "scoring": ("go scoring", "down", "right", "right"),
    "result": ("go end",),
}


def page(name: str) -> Ui:
    line, *keys = PAGES[name]
    return after(start(), *typed(line), *keys)


@pytest.mark.parametrize("name", PAGES)
def test_page(name: str) -> None:
    """The pages of a record at the least size; read the files to see them."""
    assert_screen(f"replay-{name}-80x24", screen_of(page(name)))


@given(st.sampled_from([*PAGES]), st.integers(0, 130), st.integers(0, 45), st.sampled_from([UNICODE, ASCII]))
def test_the_screen_fills_every_size_exactly(name: str, width: int, height: int, glyphs: GlyphSet) -> None:
    ui = page(name)
    frame = drawn(ui, seen_in(ui), glyphs, width, height)
    assert [get_cwidth(plain(line)) for line in frame.lines] == [width] * height
    assert not glyphs.ascii or text_of(frame).isascii()


def test_the_longest_names_leave_room_for_the_move() -> None:
    game = played(GameOptions(3), 1)
    recording = Recording.of(game.events, dict.fromkeys(range(3), "W" * 20))
    title = screen_of(after(start(recording), "right", "1")).split("\n")[0]
    assert "move 1 of 42  " in title  # and nothing that would be cut
    assert "seen by WWW" in title
