"""Chances on the screen: curves in cells, marks below them, and what was better."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from client.ui.frame import plain, width_of
from client.ui.screens.replay import analysed, curve_lines, marks_line, open_record, sampled, seen_in, stopped
from client.ui.screens.screen import drawn
from client.ui.state import Ui
from client.ui.texts.glyphs import ASCII, UNICODE, GlyphSet
from tests.client.ui.analysed import analysis_of, recording_of
from tests.client.ui.seen import assert_screen, text_of

_LEVELS = " ▁▂▃▄▅▆▇█"


def shown(players: int, stop: int, judged: int | None = None) -> Ui:
    """Return a record with its analysis; it goes on if only so many moves are judged."""
    recording = recording_of(players)
    ui = analysed(open_record(recording, stop, recording.all_eyes), analysis_of(recording, judged))
    return ui if judged is not None else replace(stopped(ui), notice=None)


@pytest.mark.parametrize("size", ["80x24", "120x40"])
@pytest.mark.parametrize("players", [2, 5])
def test_a_record_with_chances(players: int, size: str) -> None:
    """They are as everybody can see in tests/client/ui/screens."""
    width, height = map(int, size.split("x"))
    ui = shown(players, 22 if players == 2 else 30)
    assert_screen(f"chances-{players}-{size}", text_of(drawn(ui, seen_in(ui), UNICODE, width, height)))


def test_chances_in_ascii() -> None:
    """Digits stand for tens of per cent."""
    ui = shown(3, 18, judged=20)
    assert_screen("chances-ascii", text_of(drawn(ui, seen_in(ui), ASCII, 80, 24)))


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
@pytest.mark.parametrize("players", [2, 5])  # the fewest lines, and the most
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
    text = text_of(drawn(ui, seen_in(ui), UNICODE, 60, 18))
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
