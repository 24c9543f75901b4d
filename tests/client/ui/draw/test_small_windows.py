"""Every page in windows smaller than usual: nothing that is needed is cut off."""

import re
from dataclasses import replace

import pytest
from msgspec import structs
from prompt_toolkit.utils import get_cwidth

from client.language import LANGUAGES, speak
from client.tables.table import TableModel
from client.ui.at_table import HEX_POSITIONS
from client.ui.draw.news_lines import news_lines
from client.ui.frame import plain
from client.ui.keys import Act, ChooseLine, PointAt
from client.ui.screens.menu import MenuPage, TableMenu, choices
from client.ui.screens.overlays import Announcements, Quitting, TalkPage
from client.ui.screens.reading import Reading, Topic
from client.ui.screens.scoring import last_step
from client.ui.screens.screen import drawn, offered
from client.ui.state import Notice, Ui
from client.ui.texts.glyphs import UNICODE
from engine.game import GameOptions
from tests.client.ui.draw.sample_pages import LEVELS, PAGES, menu, placing
from tests.client.ui.seen import (
    after,
    assert_screen,
    at_scoring_step,
    model_of,
    reading_pages,
    text_of,
    ui_of,
    with_cursor,
)
from tests.games import played

SMALL_WINDOWS = (
    ("placing", 79, 23),
    ("placing", 60, 20),
    ("placing", 20, 10),
    ("laying", 40, 15),
    ("scoring-piece", 40, 15),
    ("scoring-soldier", 20, 10),
    ("result", 30, 12),
    ("result-wrong", 30, 12),
    ("lobby", 40, 10),
    ("gathering", 40, 12),
    ("menu", 40, 12),
    ("menu", 20, 8),
    ("menu-bots", 20, 8),
    ("quitting", 40, 12),
    ("quitting", 20, 8),
    ("counts", 44, 20),
    ("counts-two", 30, 12),
)


def test_small_windows() -> None:
    """They show the board around the cursor with the hand below it, or a short list."""
    texts = []
    for page, width, height in SMALL_WINDOWS:
        ui, model = PAGES[page]()
        frame = drawn(ui, model, UNICODE, width, height)
        assert [get_cwidth(plain(line)) for line in frame.lines] == [width] * height
        texts.append(f"{page} {width}x{height}\n\n{text_of(frame)}")
    assert_screen("small", "\n".join(texts))


@pytest.mark.parametrize("size", [(79, 23), (60, 20), (40, 15), (20, 10), (20, 8)])
def test_a_small_window_follows_the_cursor(size: tuple[int, int]) -> None:
    """Every hex with the cursor is visible, and a click on it points at it."""
    ui, model = placing()
    for cell in HEX_POSITIONS:
        there = with_cursor(ui, cell)
        frame = drawn(there, model, UNICODE, *size)
        line, text = next(
            (at, plain(row)) for at, row in enumerate(frame.lines) if re.search("▐.{5}▌", plain(row))
        )
        assert frame.action_at(text.index("▐") + 3, line) == PointAt(cell)
        assert all(each.column >= 0 and each.column + each.width <= size[0] for each in frame.targets)


@pytest.mark.parametrize("size", [(79, 23), (40, 12), (20, 8)])
def test_every_page_accepts_the_same_windows(size: tuple[int, int]) -> None:
    """Whatever lies over it: the menu, the question whether to quit, talk, announcements, texts."""
    overlays = (
        None,
        Quitting(),
        TalkPage(),
        Announcements(("Cosima.",)),
        *(TableMenu(page) for page in MenuPage),
        *map(Reading, Topic),
    )
    for page in PAGES.values():
        ui, model = page()
        for overlay in overlays:
            frame = drawn(replace(ui, overlay=overlay), model, UNICODE, *size)
            assert [get_cwidth(plain(line)) for line in frame.lines] == [size[0]] * size[1]
            assert frame.seen
            assert "The window" not in text_of(frame)


@pytest.mark.parametrize("players", [2, 5])
def test_everybodys_points_are_seen_in_every_window(players: int) -> None:
    """Even while the player is told something, and when others play again."""
    game = played(GameOptions(players, random_layout=True), 11)
    model = model_of(game, 0)
    assert model.view is not None
    assert model.state is not None
    assert (result := model.view.result) is not None
    model.state.seats[1] = structs.replace(model.state.seats[1], again=True)
    ui = at_scoring_step(ui_of(game, model), model, last_step(model.view))
    for size in ((79, 23), (40, 12), (20, 8)):
        for notice in (None, Notice("Saved as palatinus-KXQT.txt in /home/ann.")):
            shown = text_of(drawn(replace(ui, notice=notice), model, UNICODE, *size))
            points = [int(found) for found in re.findall(r"(?m)^ [ESLMA] .* (\d+) +\|", shown)]
            assert points == sorted((tally.points for tally in result.tallies), reverse=True)
            assert ("Saved" if notice else "again") in shown


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_question_whether_to_quit_is_whole_in_every_window(language: str) -> None:
    speak(language)
    try:
        ui, model = placing()
        asked = news_lines(replace(ui, overlay=Quitting(), log=()), 200, 1, "")
        frame = drawn(replace(ui, overlay=Quitting()), model, UNICODE, 20, 8)
    finally:
        speak("en")
    shown = " ".join(plain(row).strip() for row in frame.lines)
    assert plain(asked[0]).strip() in shown


@pytest.mark.parametrize("size", [(79, 23), (40, 12), (20, 8)])
def test_every_line_of_the_menu_can_be_read_and_clicked(size: tuple[int, int]) -> None:
    """The line that the player is on is shown whole in any window, and a click on it chooses it."""
    ui, model = menu()
    lines = [choice.text for choice in choices(MenuPage.MAIN, model, LEVELS, ui.talk)]
    for at, words in enumerate(lines):
        frame = drawn(replace(ui, overlay=TableMenu(chosen=at)), model, UNICODE, *size)
        rows = [row for row in range(size[1]) if frame.action_at(5, row) == ChooseLine(at)]
        shown = " ".join(plain(frame.lines[row]).strip("\u25ba ") for row in rows)
        assert shown == words


@pytest.mark.parametrize(("width", "height"), [(19, 10), (20, 7), (9, 3), (1, 1), (0, 0)])
def test_too_small_a_window_says_so(width: int, height: int) -> None:
    """The message is cut to the window, and nothing is drawn beyond its edge."""
    ui, model = placing()
    frame = drawn(ui, model, UNICODE, width, height)
    assert [get_cwidth(plain(line)) for line in frame.lines] == [width] * height
    if width >= 19:
        assert "20x8 or" in text_of(frame)


@pytest.mark.parametrize("size", [(79, 24), (80, 10), (20, 8)])
@pytest.mark.parametrize("topic", [*Topic])
def test_pages_to_read_are_scrolled_in_a_small_window(topic: Topic, size: tuple[int, int]) -> None:
    """Every word of every page is shown on the way to the end; back at the start, the first is again."""
    ui, model = placing()
    pages = [
        drawn(replace(ui, overlay=each), model, UNICODE, 80, 24).lines[1:-1] for each in reading_pages(topic)
    ]
    whole = "\n".join(plain(content) for page in pages for content in page)
    ui, first = shown_in(replace(ui, overlay=Reading(topic)), model, size)
    seen, text, screens = first, first, 1
    while Act.PAGE_DOWN in {key.action for key in offered(ui, model, ui.last_top)}:
        ui, text = shown_in(after(ui, model, "pagedown"), model, size)
        seen, screens = seen + text, screens + 1
    words = {word for word in re.findall(r"\w+", whole) if len(word) < size[0] - 2}
    assert words <= set(re.findall(r"\w+", seen))
    assert topic is not Topic.HELP or ", Space: " in seen  # a key stands apart from what it does
    for _ in range(screens):
        ui, text = shown_in(after(ui, model, "pageup"), model, size)
    assert "page 1 of" in text or topic in {Topic.COUNTS, Topic.WHOLE}
    assert drawn(replace(ui, overlay=Quitting()), model, UNICODE, *size).seen


def shown_in(ui: Ui, model: TableModel, size: tuple[int, int]) -> tuple[Ui, str]:
    """Return what a window shows, and the state after it has told how far it can be scrolled."""
    frame = drawn(ui, model, UNICODE, *size)
    assert frame.seen
    return replace(ui, last_top=frame.last_top), text_of(frame)
