"""A record that is analysed: what begins and stops it, the moves that decided, and the chances shown."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from client.records import Recording
from client.ui import requests
from client.ui.frame import plain, width_of
from client.ui.keys import Act
from client.ui.requests import Request
from client.ui.screens.dispatch import pressed
from client.ui.screens.playing import Playing
from client.ui.screens.replay import (
    Replay,
    analysed,
    curve_lines,
    marks_line,
    open_record,
    sampled,
    seen_in,
    stopped,
    told_of_move,
)
from client.ui.screens.screen import drawn, offered
from client.ui.state import Ui
from client.ui.texts.glyphs import ASCII, UNICODE, GlyphSet
from engine.game import GameOptions
from tests.client.ui.analysed import analysis_of, recording_of
from tests.client.ui.seen import assert_screen, notice_of, screen_of
from tests.games import played


def begun(*, can_analyse: bool = True) -> Ui:
    recording = recording_of(3)
    return open_record(recording, 0, recording.all_eyes, can_analyse=can_analyse)


def after(ui: Ui, key: str) -> tuple[Ui, Request | None]:
    return pressed(ui, key, seen_in(ui))


def is_offered(ui: Ui, act: Act) -> bool:
    return any(key.action is act for key in offered(ui, seen_in(ui)))


def replay_of(ui: Ui) -> Replay:
    assert isinstance(ui.page, Replay)
    return ui.page


def test_the_key_begins_the_analysis_once() -> None:
    """Not while it goes on, nor when all is judged; but again when it was stopped."""
    ui = begun()
    recording = replay_of(ui).recording
    assert is_offered(ui, Act.ANALYSE)
    assert after(ui, "y")[1] == requests.Errand.ANALYSE
    at_board, request = after(after(ui, "end")[0], "y")
    assert request == requests.Errand.ANALYSE
    assert isinstance(replay_of(at_board).table, Playing)  # the scoring shows no chances
    judging = analysed(ui, analysis_of(recording, 5))
    assert after(judging, "y")[1] is None
    assert not is_offered(judging, Act.ANALYSE)
    assert after(stopped(judging), "y")[1] == requests.Errand.ANALYSE
    assert after(stopped(analysed(ui, analysis_of(recording))), "y")[1] is None


def test_what_cannot_be_analysed() -> None:
    """An unfinished game, which is said; guests are offered nothing, as the host's computer would search."""
    ui = begun(can_analyse=False)
    assert not is_offered(ui, Act.ANALYSE)
    assert after(ui, "y")[1] is None
    recording = Recording.of(played(GameOptions(3, random_layout=True), seed=1, commands=20).events, {})
    told, request = after(open_record(recording, 0, recording.all_eyes, can_analyse=True), "y")
    assert request is None
    assert "Only a finished game" in notice_of(told)


def test_escape_stops_the_analysis_first() -> None:
    """Only then does it leave; q leaves immediately."""
    ui = analysed(begun(), analysis_of(recording_of(3), 5))
    assert after(ui, "escape")[1] == requests.Errand.STOP_ANALYSIS
    assert after(ui, "q")[1] == requests.Errand.QUIT
    ended = stopped(ui)
    assert notice_of(ended) == "Stopped: 5 of 36 moves analysed."
    assert after(ended, "escape")[1] == requests.Errand.QUIT


def test_what_is_told_of_a_move_can_be_read_in_full() -> None:
    """In a window of the least size there is little room for it beside the board."""
    ui = analysed(begun(), analysis_of(recording_of(3)))
    page = replay_of(ui)
    assert page.analysis is not None
    at = replace(ui, page=replace(page, stop=page.analysis.deciding[0].number))
    frame = drawn(after(at, "m")[0], seen_in(at), UNICODE, 80, 24)
    read = " ".join(" ".join(map(plain, frame.lines)).split())
    told = " ".join(told_of_move(replay_of(at), page.analysis))
    assert " ".join(told.split()) in read


def test_a_key_goes_from_one_decisive_move_to_the_next() -> None:
    """And from the last to the first."""
    ui = stopped(analysed(begun(), analysis_of(recording_of(3))))
    analysis = replay_of(ui).analysis
    assert analysis is not None
    numbers = sorted(move.number for move in analysis.deciding)
    assert notice_of(ui) == "Moves {}, {} and {} decided most.".format(*numbers)
    for number in [*numbers, numbers[0]]:
        ui, _ = after(ui, "d")
        assert replay_of(ui).stop == number
    ui, _ = after(replace(begun()), "d")
    assert replay_of(ui).stop == 0


@pytest.mark.parametrize("key", ["right", "end", "tab", "w"])
def test_the_chances_stay_while_one_looks_around(key: str) -> None:
    """Wherever one goes, and whose eyes one borrows."""
    ui = stopped(analysed(begun(), analysis_of(recording_of(3))))
    assert replay_of(after(ui, key)[0]).analysis == replay_of(ui).analysis


_LEVELS = " ▁▂▃▄▅▆▇█"


def shown(players: int, stop: int, judged: int | None = None) -> Ui:
    """Return a record with its analysis; it goes on if only so many moves are judged."""
    recording = recording_of(players)
    ui = analysed(open_record(recording, stop, recording.all_eyes), analysis_of(recording, judged))
    return ui if judged is not None else replace(stopped(ui), notice=None)


@pytest.mark.parametrize("size", ["80x24", "120x40"])
@pytest.mark.parametrize("players", [2, 5])
def test_a_record_with_chances(players: int, size: str) -> None:
    """As everybody can see in tests/client/ui/screens; in ASCII, digits stand for tens of per cent."""
    width, height = map(int, size.split("x"))
    ui = shown(players, 22 if players == 2 else 30)
    assert_screen(f"chances-{players}-{size}", screen_of(ui, seen_in(ui), width, height))
    ui = shown(3, 18, judged=20)
    assert_screen("chances-ascii", screen_of(ui, seen_in(ui), glyphs=ASCII))


@pytest.mark.parametrize(("players", "glyphs"), [(2, ASCII), (5, UNICODE)])  # the fewest lines, and the most
@pytest.mark.parametrize("size", [(80, 24), (100, 30), (60, 18), (20, 8), (160, 50)])
def test_they_fit_at_every_stop(size: tuple[int, int], players: int, glyphs: GlyphSet) -> None:
    """Judged or not, before the first piece and after the last."""
    recording = recording_of(players)
    for judged in (0, 3, None):
        for stop in (0, recording.moves - 30, recording.moves, recording.end):
            ui = shown(players, stop, judged)
            frame = drawn(ui, seen_in(ui), glyphs, *size)
            assert len(frame.lines) == size[1]
            assert {sum(get_cwidth(text) for _, text in row) for row in frame.lines} == {size[0]}


def test_a_small_window_has_them_in_one_line() -> None:
    """In place of the hand."""
    ui = shown(3, 22)
    text = screen_of(ui, seen_in(ui), 60, 18)
    assert " E  42%  S  26%  L  32% " in text
    assert "CHANCES" not in text


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40), st.integers(1, 4))
def test_a_higher_chance_is_drawn_higher(chances: list[float], height: int) -> None:
    """In cells of eight parts, and as a digit in ASCII; nobody vanishes."""
    rows = [plain(row) for row in curve_lines(chances, 0, "", UNICODE, height)]
    assert [len(row) for row in rows] == [len(chances)] * height
    levels = [sum(_LEVELS.index(row[at]) for row in rows) for at in range(len(chances))]
    assert all(levels)
    (digits,) = (plain(row) for row in curve_lines(chances, None, "", ASCII, height))
    for low, high in zip(sorted(range(len(chances)), key=chances.__getitem__), sorted(levels), strict=True):
        assert levels[low] == high
    assert sorted(digits) == [digits[at] for at in sorted(range(len(chances)), key=chances.__getitem__)]


@given(st.integers(1, 60), st.integers(8, 60), st.sets(st.integers(0, 59), max_size=4))
def test_all_of_the_game_fits_with_what_matters(count: int, width: int, keep: set[int]) -> None:
    """The first and the last moment, unless what matters needs the cell, and every moment that matters."""
    kept = {moment for moment in keep if moment < count}
    cells = sampled(count, width, kept)
    assert len(cells) == min(count, width)
    assert cells == sorted(cells)
    assert kept <= set(cells)


def test_marks_stand_below_their_moments() -> None:
    """What decided, and where one is; that gives way."""
    assert plain(marks_line(6, 4, [1, 5])) == " ^  |^"
    assert plain(marks_line(3, 1, [1])) == " ^ "
    assert width_of(marks_line(3, None, [])) == 3
