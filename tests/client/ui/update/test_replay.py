"""A record on the screen: every key, the typed commands, and what each pair of eyes is shown."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from client.recording import Recording
from client.ui.draw.lines import plain
from client.ui.draw.screen import drawn
from client.ui.texts.glyphs import ASCII, UNICODE, GlyphSet
from client.ui.update import requests
from client.ui.update.actions import PointAt
from client.ui.update.dispatch import pressed, updated
from client.ui.update.keys import KeyContext, context_of
from client.ui.update.pages.replay import opened, seen_in
from client.ui.update.state import Playing, Reading, Replay, Topic, Ui, table_page
from client.ui.update.table.scoring_steps import last_step
from engine.board import HILLS
from engine.game import Game, GameOptions
from engine.pieces import Piece, Seat, Wolf
from engine.record import names_in, replayed
from engine.redaction import snapshot
from engine.view import SPECTATOR, eyes_of
from tests.client.ui.seen import NAMES, assert_screen, playing_of, shown_step, text_of, typed
from tests.games import all_eyes, games, played

RECORDS = Path(__file__).parents[3] / "engine" / "records"


def recording_of(game: Game) -> Recording:
    return Recording.of(game.events, dict(enumerate(NAMES[: game.view.seats])))


def recorded(players: int = 3) -> Recording:
    text = (RECORDS / f"{players}-players.txt").read_text(encoding="utf-8")
    return Recording.of(replayed(text).events, dict(enumerate(NAMES)))


def start(recording: Recording | None = None) -> Ui:
    recording = recording or recorded()
    return opened(recording, 0, recording.all_eyes)


def after(ui: Ui, *keys: str) -> Ui:
    """Return the UI state after these keys; a record never asks for anything."""
    for key in keys:
        ui, request = pressed(ui, key, seen_in(ui))
        assert request is None
    return ui


def stop(ui: Ui) -> int:
    return replay_of(ui).stop


def replay_of(ui: Ui) -> Replay:
    assert isinstance(ui.page, Replay)
    return ui.page


def step(ui: Ui) -> int:
    return shown_step(ui, seen_in(ui))


def shown(ui: Ui, width: int = 80, height: int = 24) -> str:
    return text_of(drawn(ui, seen_in(ui), UNICODE, width, height))


# -- the recording --------------------------------------------------------------------------------


@given(games())
def test_every_stop_is_the_game_as_it_was(game: Game) -> None:
    """The last stop is what a table's snapshot would be, for all eyes; every move is one stop."""
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
def test_names_are_read_where_they_can_be_shown(comment: str, name: str) -> None:
    """The comments of a record, or the seat's number."""
    game = played(GameOptions(2), 1, 3)
    assert Recording.of(game.events, names_in(f"palatinus record 1\n{comment}\n")).names[0] == name


# -- keys -----------------------------------------------------------------------------------------


def test_moves_forward_and_back() -> None:
    """Step by step, a round at a time, and never over the ends."""
    ui = start()
    assert context_of(ui, seen_in(ui)) is KeyContext.REPLAY
    assert stop(after(ui, "left", "up", "home")) == 0
    assert stop(after(ui, "right", " ", "enter", "left")) == 2
    assert stop(after(ui, "down", "pagedown", "up")) == 3
    assert stop(after(ui, *["down"] * 14)) == 42
    assert seen_in(after(ui, *["down"] * 14)).view == recorded().view(42, recorded().all_eyes)


def test_the_scoring_is_walked_through_like_a_live_one() -> None:
    """After the last move: step by step, hill by hill, to the result and back."""
    ui = after(start(), *typed("42"))
    assert "all pieces placed" in shown(ui)
    ui = after(ui, "right")
    assert (stop(ui), step(ui)) == (43, 0)
    assert "step 1 of" in shown(ui)
    assert step(after(ui, "right", "right", "left")) == 1
    hill = after(ui, "down", "down")
    assert "scoring hill B" in shown(hill)
    assert "scoring hill A" in shown(after(hill, "up"))
    assert "scoring hill B" in shown(after(hill, "right", "up"))
    ended = after(ui, "end")
    view = seen_in(ended).view
    assert view is not None
    assert step(ended) == last_step(view)
    assert "POINTS" in shown(ended)
    assert after(ended, "right", "down", "end") == ended
    assert stop(after(ui, "left")) == stop(after(ui, "up")) == 42


def test_a_running_game_ends_with_its_last_move() -> None:
    recording = recording_of(played(GameOptions(4, random_layout=True), 3, 9))
    ui = after(start(recording), "end")
    assert (stop(ui), type(table_page(ui))) == (9, Playing)
    assert after(ui, "right") == ui
    assert "not been scored" in shown(after(ui, *typed("go scoring")))


def test_eyes_are_changed_by_key() -> None:
    """Tab goes through all of them; a number, `a` and `w` choose."""
    ui = after(start(), *typed("30"))
    recording = recorded()
    every = [recording.all_eyes, *(eyes_of(Seat(seat)) for seat in range(3)), SPECTATOR]
    for eyes in [*every[1:], every[0]]:
        ui = after(ui, "tab")
        assert replay_of(ui).eyes == eyes
    assert after(ui, "s-tab", "s-tab").page == after(ui, "3").page
    assert after(ui, "w").page == after(ui, "s-tab").page
    assert after(ui, "2", "a") == ui
    assert after(ui, "4").notice is not None
    assert "seen by Bob" in shown(after(ui, "2"))


def test_what_eyes_may_not_see_is_nowhere_on_the_screen() -> None:
    """R4.2: before the scoring no kind of another's wolf stands on the board, in the log, in a hand."""
    ui = after(start(), *typed("42"), "1")
    view = seen_in(ui).view
    assert view is not None
    assert list(view.hands) == [0]
    wolves = [field for field, piece in view.placed.items() if isinstance(piece, Wolf)]
    assert wolves
    for field in wolves:
        for text in (*ui.log, shown(updated(ui, PointAt(view.layout.hexes[field]), seen_in(ui))[0])):
            for kind in "mf":
                assert f"{view.placed[field].people}{kind}*" not in text
    assert not any(
        isinstance(piece, Wolf) for piece in (seen_in(after(ui, "a")).view or view).placed.values()
    )


def test_the_hand_shown_is_that_of_the_eyes_or_of_who_is_on_turn() -> None:
    ui = after(start(), *typed("7"))
    assert "HAND OF Bob" in shown(ui)
    assert "HAND OF Cosima" in shown(after(ui, "3"))
    assert "HAND OF" not in shown(after(ui, "w"))


def test_typed_commands() -> None:
    """Jumps and eyes by words, with completion; what means nothing is told."""
    ui = start()
    assert stop(after(ui, "g", "1", "2", "enter")) == 12
    assert stop(after(ui, *typed("go 42"))) == 42
    assert step(after(ui, *typed("go end"))) == step(after(ui, "end")) > 0
    assert stop(after(ui, *typed("go scoring"))) == 43
    assert stop(after(ui, *typed("9"), *typed("go start"))) == 0
    assert after(ui, *typed("eyes none")).page == after(ui, "w").page
    assert after(ui, *typed("eyes cosima")).page == after(ui, *typed("eyes 3")).page
    assert after(ui, *typed("eyes 1"), *typed("eyes all")).page == ui.page
    for line in ("go 43", "go", "go x", "eyes", "eyes 7", "say hello", "m* C4", "1000000000000"):
        misread = after(ui, *typed(line))
        assert misread.notice is not None
        assert misread.notice.refusal
        assert (stop(misread), misread.page) == (0, ui.page)
    completed = after(ui, ":", "e", "tab")
    assert completed.entry is not None
    assert completed.entry.text == "eyes "
    assert "eyes Cosima" in shown(after(completed, "C"))


def test_help_and_quitting() -> None:
    """The same help as everywhere; nothing is lost by quitting, so nothing is asked."""
    ui = start()
    assert after(ui, "?").overlay == Reading(Topic.HELP)
    assert "to the move whose number" in shown(after(ui, "?"))
    assert "eyes 1" in shown(after(ui, "?", "pagedown", "pagedown"))
    assert after(ui, "?", "escape") == ui
    assert pressed(ui, "q", seen_in(ui))[1] == requests.Quit()
    closing = replace(after(ui, ":", *"quit"), notice=None)
    assert pressed(closing, "enter", seen_in(ui))[1] == requests.Quit()


def test_a_click_explains_a_field_and_goes_on_in_the_scoring() -> None:
    ui = start()
    pointed, _ = updated(ui, PointAt(HILLS[0]), seen_in(ui))
    assert (playing_of(pointed).cursor, stop(pointed)) == (HILLS[0], 0)
    scoring = after(ui, *typed("go scoring"))
    assert step(updated(scoring, PointAt(HILLS[0]), seen_in(scoring))[0]) == 1


# -- drawing --------------------------------------------------------------------------------------

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
    assert_screen(f"replay-{name}-80x24", shown(page(name)))


@given(st.sampled_from([*PAGES]), st.integers(0, 130), st.integers(0, 45), st.sampled_from([UNICODE, ASCII]))
def test_every_size_is_filled_and_no_more(name: str, width: int, height: int, glyphs: GlyphSet) -> None:
    ui = page(name)
    frame = drawn(ui, seen_in(ui), glyphs, width, height)
    assert [get_cwidth(plain(line)) for line in frame.lines] == [width] * height
    assert not glyphs.ascii or text_of(frame).isascii()


def test_the_longest_names_leave_the_move_in_sight() -> None:
    game = played(GameOptions(3), 1)
    recording = Recording.of(game.events, dict.fromkeys(range(3), "W" * 20))
    title = shown(after(start(recording), "right", "1")).split("\n")[0]
    assert "move 1 of 42" in title
    assert "seen by WWW" in title


def test_pieces_are_all_known_when_all_is_open() -> None:
    view = seen_in(after(start(), *typed("42"))).view
    assert view is not None
    assert all(isinstance(piece, Piece) for piece in view.placed.values())
