"""Every page as text, kept in `screens`, some with colours, and what holds of any screen in any window."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import get_cwidth

from client.finding.found import Found, FoundServer, Listed
from client.language import LANGUAGES, _, labelled, speaking
from client.player.preferences import Preferences
from client.player.seats import KeptSeat
from client.player.terminal import Colouring, Colours, Theme
from client.records import PastGame
from client.tables.table import Back, TableModel
from client.ui.at_table import HEX_POSITIONS
from client.ui.draw.board import LARGE, MEDIUM, SMALL, Scale, board_text, borders, drawn_board
from client.ui.draw.page import news_lines
from client.ui.frame import Frame, plain
from client.ui.keys import Act, ChooseLine, ChooseUnseen, Hover, Key, PointAt, key_name
from client.ui.screens.actions import MENU, SEAT_BOT, START
from client.ui.screens.dispatch import after_key, updated
from client.ui.screens.history import HistoryPage
from client.ui.screens.lobby import NEW_TABLE, LobbyPage
from client.ui.screens.menu import At, Form, Menu
from client.ui.screens.news import after_update
from client.ui.screens.overlays import Announcements, Quitting, TalkPage
from client.ui.screens.planning import PlanChoice, choices_for
from client.ui.screens.reading import Reading, hands_table
from client.ui.screens.scoring import Result, Scoring, last_step, result_lines
from client.ui.screens.screen import drawn, keys_offered
from client.ui.screens.search import Search
from client.ui.screens.start import HOSTING, SETTINGS, LeftGame, Start
from client.ui.spots import UNMARKED, just_placed
from client.ui.state import (
    FinishedGames,
    LinePrompt,
    Notice,
    Offers,
    OnlineList,
    Outage,
    Overlay,
    Screen,
    Sign,
    TalkLog,
    TypedLine,
    Ui,
    Ways,
)
from client.ui.terminal.painter import style_for
from client.ui.texts.games import describe_forecast
from client.ui.texts.glyphs import ASCII, UNICODE, GlyphSet
from client.ui.texts.pieces import a_piece, face_sign, piece_sign
from client.ui.texts.signs import SIGNS
from client.ui.texts.tables import describe_ended
from engine.board import Field, Tile, neighbours
from engine.components import DEALS, Laurel
from engine.events import Place, Tally
from engine.forecast import Change, Forecast, SoldierAct
from engine.game import Game, GameOptions
from engine.knowledge import Bounds, HillInfluence
from engine.pieces import Kind, Piece, Seat, Wolf
from engine.redaction import snapshot
from engine.view import SPECTATOR
from protocol.absence import ByVote, LongClock, MoveClock
from protocol.admin import EveningPlan
from protocol.limits import ANNOUNCEMENT_LENGTH
from protocol.messages import (
    NEW,
    Condition,
    Evening,
    PersonOnline,
    PlannedMove,
    Rematch,
    SeatSummary,
    Shown,
    SpectatorSummary,
    TableState,
    TableSummary,
    Turn,
)
from tests.client.ui import seen
from tests.client.ui.draw.sample_pages import (
    LEVELS,
    PAGES,
    SIZES,
    TABLES,
    counting,
    menu,
    over,
    placing,
    talking,
)
from tests.games import begun, games, played, rest_slow

TOPICS = (Act.HELP, Act.RULES, Act.COUNTS, Act.WHOLE)


# These look different in a large window; the others are the same text, which properties below are about.
LARGE_TOO = (
    *("lobby", "gathering", "history", "laying", "placing", "placing-two", "foreseeing", "hinted", "talking"),
    *("ended", "scoring-wolves", "scoring-soldier", "scoring-piece", "result"),
)


@pytest.mark.parametrize(
    ("page", "size"), [*((page, "80x24") for page in PAGES), *((page, "120x40") for page in LARGE_TOO)]
)
def test_page(page: str, size: str) -> None:
    ui, model = PAGES[page]()
    seen.assert_screen(f"{page}-{size}", seen.screen_of(ui, model, *SIZES[size]))


@pytest.mark.parametrize("page", PAGES)
def test_a_large_window_has_every_word_of_a_small_one(page: str) -> None:
    ui, model = PAGES[page]()
    screens = [seen.screen_of(ui, model, *size) for size in SIZES.values()]
    # Where lists go on, and before what a large window says move by move, instead of one's own move.
    unmarked = (
        re.sub("[\u2191\u2193] \\d+ more|Since your turn|You place .*", "", screen) for screen in screens
    )
    small, large = ({*re.findall(r"[^\W\d_]{3,}", screen)} for screen in unmarked)
    assert small <= large


@pytest.mark.parametrize("page", ["laying", "placing", "scoring-piece"])
def test_page_in_ascii_and_in_a_large_window(page: str) -> None:
    """There is no character beyond ASCII; in the large one, hexes are larger, with the panel beside them."""
    ui, model = PAGES[page]()
    text = seen.screen_of(ui, model, glyphs=ASCII)
    assert text.isascii()
    seen.assert_screen(f"{page}-ascii", text)
    if page != "laying":
        seen.assert_screen(f"{page}-160x50", seen.screen_of(ui, model, 160, 50))


@pytest.mark.parametrize("players", [3, 4, 5])
def test_every_move_since_ones_turn_is_on_a_small_screen(players: int) -> None:
    ui, model = placing(players)
    view, screen = seen.view_of(model), " ".join(seen.screen_of(ui, model).replace("|", " ").split())
    placed = just_placed(view, model.seat)
    assert len(placed) == players - 1
    for field in placed:
        piece = view.placed[field]
        assert f"{piece_sign(piece)} {field}" in screen or f"{a_piece(piece)} on {field}" in screen


def test_talk_stays_above_the_log_until_it_is_read() -> None:
    """Whatever happens, the board stays where it was, and the bar of any window counts what was not read."""
    ui, model = talking()
    quiet, _ = placing()
    for _turn in range(50):
        ui = after_update(ui, Back(), model)
    screen = seen.screen_of(ui, model)
    assert "spectator 7: Indeed." in screen
    assert "T read (3)" in screen
    silent = seen.screen_of(quiet, model)
    assert screen.splitlines()[:20] == silent.splitlines()[:20]
    for size in ((79, 24), (40, 16), (24, 10), (20, 8)):
        small = seen.screen_of(ui, model, *size)
        assert "T read (3)" in small
        everything = seen.after(ui, model, "T")
        shown = ""
        for _line in range(20):
            frame = drawn(everything, model, UNICODE, *size)
            shown = seen.text_of(frame) + shown
            everything = seen.after(replace(everything, last_top=frame.last_top), model, "up")
        assert all(word in shown for word in ("Shall", "here?", "Lovely.", "Indeed."))
    read = seen.screen_of(seen.after(ui, model, "T", "escape"), model)
    assert "Indeed." not in read
    assert "Indeed." in seen.screen_of(seen.after(ui, model, "T", "escape"), model, 120, 40)


@pytest.mark.parametrize(
    "page", rest_slow("placing-two", "gathering", "laying", "ended", "scoring-piece", "result")
)
@pytest.mark.parametrize("language", rest_slow(*LANGUAGES))
def test_a_sign_is_seen_at_its_seat_in_any_window(
    page: str, language: str, in_language: Callable[[str], None]
) -> None:
    """It takes the place of the name; where there is no room for seats, the first line says who gave it."""
    in_language(language)
    ui, model = PAGES[page]()
    for sign, words in SIGNS.items():
        ui = replace(ui, talk=TalkLog(model.table))
        signed = replace(ui, signs=(Sign(Seat(1), sign, 1.0),))
        for size in (*SIZES.values(), (160, 50), (79, 23), (60, 20), (40, 15), (24, 10)):
            without, shown = (seen.screen_of(each, model, *size).splitlines() for each in (ui, signed))
            title, *rows = (
                (now, before) for now, before in zip(shown, without, strict=True) if now != before
            )
            if size in {*SIZES.values(), (160, 50)}:
                assert rows == []
                assert _(words)[: 9 if page == "scoring-piece" else 15] in title[0]
                assert (_("you") if model.seat == 1 else "Bob") in title[1]
            else:
                assert shown[0] == title[0]
                assert title[0].startswith(f" {labelled('Bob', _(words))[:14]}")
                assert all(_(words)[:5] in now for now, _before in rows)


@pytest.mark.parametrize("page", ["gathering", "placing-two"])
def test_a_spectators_sign_is_seen_where_spectators_are_listed(page: str) -> None:
    ui, model = PAGES[page]()
    seen.change(model, spectators=2, watching=[SpectatorSummary(1, "Otto"), SpectatorSummary(2, "Zoe")])
    signed = replace(ui, talk=TalkLog(model.table), signs=(Sign(None, "👏", 1.0, "Zoe"),))
    for size in ((120, 40), (80, 24), (40, 12)):
        assert "Zoe: Well played!" in seen.screen_of(signed, model, *size)


def test_a_small_window_says_that_the_game_has_ended() -> None:
    ui, model = PAGES["ended"]()
    screen = seen.screen_of(replace(ui, log=(describe_ended(),)), model, 40, 12)
    assert describe_ended() in " ".join(screen.replace("|", "").split())


def test_points_of_past_games_are_seen_beside_long_names() -> None:
    """Names are cut where there is no room for them, points are not."""
    game = PastGame(
        "1.txt", "KXQT", 0.0, tuple(letter * 20 for letter in "abcde"), (11, 22, 33, 44, 55), (4,)
    )
    (row,) = (
        row
        for row in seen.screen_of(Ui("", screens=(HistoryPage((game,)),)), TableModel()).splitlines()
        if "KXQT" in row
    )
    assert re.findall(r"(\w)\1* (\d\d\*?)", row.partition("KXQT")[2]) == [
        ("a", "11"), ("b", "22"), ("c", "33"), ("d", "44"), ("e", "55*"),
    ]  # fmt: skip


def test_the_game_chosen_in_a_narrow_window_has_all_its_points() -> None:
    names = ("Ann", "Livia (plebeian)", "Rufus (plebeian)")
    games = PastGame("1.txt", "KXQT", 0.0, names, (11, 22, 33), (2,)), PastGame("2.txt", "ABCD", 0.0)
    for chosen, words in enumerate(
        ("Ann 11, Livia (plebeian) 22, Rufus (plebeian) 33*", "(this record cannot be read)")
    ):
        screen = seen.screen_of(Ui("", screens=(HistoryPage(games, chosen),)), TableModel(), 40, 12)
        assert words in " ".join(screen.replace("|", "").split())


def test_the_standings_of_many_players_are_shown_whole() -> None:
    names = [f"{letter}{'x' * 23}" for letter in "abcdefgh"]
    games = tuple(
        PastGame(f"{number}.txt", "KXQT", 0.0, tuple(names[at : at + 4]), (1, 2, 3, 4), (3,))
        for number, at in enumerate((0, 4) * 15)
    )
    screen = seen.screen_of(Ui("", screens=(HistoryPage(games),)), TableModel())
    assert all(f"{name}: " in screen for name in names)
    small = seen.screen_of(Ui("", screens=(HistoryPage(games),)), TableModel(), 40, 12)
    assert "won" not in small  # games fill it


class HasKeys(Overlay):
    """Something over a page, with keys."""

    def __init__(self, keys: tuple[Key, ...]) -> None:
        self._keys = keys

    def keys(self, _model: TableModel) -> tuple[Key, ...]:
        return self._keys


def _tells_of_keys(page: Frame) -> bool:
    """Return whether nothing but keys stands there, or these come first."""
    first = plain(page.lines[1 + bool(page.last_top)]).strip()
    return first not in {_("SIGNS ON THE BOARD"), _("IN THE SCORING")}


@pytest.mark.parametrize("size", rest_slow((40, 12), (79, 23), (80, 24), (120, 40)))
@pytest.mark.parametrize("language", rest_slow(*LANGUAGES))
def test_the_help_has_every_key(
    language: str, size: tuple[int, int], in_language: Callable[[str], None]
) -> None:
    """Its names, and what it does, in any window, whatever other keys there are."""
    in_language(language)
    ui, model = placing()
    column = {79: 24, 80: 25, 120: 25}.get(size[0], 0)  # of the meanings, beside names in several rows
    for table, keys in seen.KEYS.items():
        ui = replace(ui.opened(HasKeys(keys)), evening=Evening("Friday", 1, 3, 60))
        pages = takewhile(_tells_of_keys, seen.reading_pages(ui, model, Act.HELP, size=size))
        rows = [plain(row) for page in pages for row in page.lines[1 + bool(page.last_top) : -1]]
        named, explained = (
            " ".join(" ".join(row[part] for row in rows).split())
            for part in (slice(column or None), slice(column, None))
        )
        for key in keys:
            assert " ".join(key.words.split()) in explained, table
            for name in key.names:
                assert name.isdigit() or key_name(name, UNICODE) in named, table


@pytest.mark.parametrize("language", rest_slow(*LANGUAGES))
def test_the_help_flows_into_pages(language: str, in_language: Callable[[str], None]) -> None:
    """No page is empty or ends with a heading; in a larger window there are fewer."""
    in_language(language)
    ui, model = placing()
    counts = []
    for size in ((40, 12), (79, 23), (80, 24), (120, 40), (120, 120)):
        pages = [*seen.reading_pages(ui, model, Act.HELP, Act.RULES, size=size)]
        counts.append(len(pages))
        for frame in pages:
            rows = [row for row in frame.lines[1 + bool(frame.last_top) : -1] if plain(row).strip()]
            assert not plain(rows[-1]).isupper()
    assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("players", DEALS)
def test_the_counting_page_fits(players: int, language: str, in_language: Callable[[str], None]) -> None:
    """Nothing is cut off at 80x24, for any number of players in any language."""
    in_language(language)
    ui, model = counting(players)
    narrow, tall, wide = (
        [plain(line).split() for line in drawn(ui, model, UNICODE, *size).lines[1:-1]]
        for size in ((80, 24), (80, 60), (160, 24))
    )
    assert narrow == tall[:22]
    assert not any(tall[22:])
    assert list(chain(*narrow)) == list(chain(*wide))


def test_spectators_see_that_they_are_watching() -> None:
    model = seen.model_of(played(GameOptions(3, random_layout=True), 3, 12), None)
    frame = drawn(Ui("Ann", seen.ADDRESS), model, UNICODE, 80, 24)
    assert plain(frame.lines[0]).endswith("  watching ")
    assert {Act.CONFIRM, Act.NEXT_PIECE}.isdisjoint(seen.actions_of(frame))
    state = TableState("KXQT", "gathering", [SeatSummary("Ann", True), SeatSummary()], 0)
    room = drawn(Ui("Bob", seen.ADDRESS), TableModel("KXQT", state=state), UNICODE, 80, 24)
    assert "g take a seat" in seen.text_of(room)
    assert {Act.LEAVE} <= {*seen.actions_of(room)}


@pytest.mark.parametrize("bots", [False, True])
def test_a_game_can_be_started_when_everybody_is_there(bots: bool) -> None:
    """A bot is offered to the host while a seat is free, if the server has bots; otherwise the start.

    While a seat is kept for somebody who may not come, the host is told how to do without them.
    """
    ui = Ui("Ann", seen.ADDRESS, offers=Offers(levels=("greedy",) if bots else ()))
    (seat_bot,), (start_game,) = ([key.action for key in each.keys] for each in (SEAT_BOT, START))
    for seats, expected in (
        ([SeatSummary("Ann", True), SeatSummary()], {seat_bot} if bots else set()),
        ([SeatSummary("Ann", True), SeatSummary("Bob", True)], {start_game}),
        ([SeatSummary("Ann", True), SeatSummary("Bob", kept=True)], set()),
    ):
        model = TableModel("KXQT", Seat(0), state=TableState("KXQT", "gathering", seats, 0))
        actions = {*seen.actions_of(drawn(ui, model, UNICODE, 80, 24))}
        assert actions & {seat_bot, start_game} == expected
        told = "Type remove Bob to play without Bob." in seen.screen_of(ui, model)
        assert told == seats[1].kept


def test_the_options_of_the_chosen_table_are_shown() -> None:
    """Layout and absence policy are in words below the list; a deserted game is seen for what it is."""
    tables = (*TABLES, TableSummary("QRST", "Ann", 3, 1, "gathering", False, ByVote(600)))
    ui = Ui("Ann", seen.ADDRESS, screens=(LobbyPage(tables, frozenset({"QRST"}), 2),))
    text = seen.screen_of(ui, TableModel())
    assert "after 10 min away, a player may be replaced by a bot, by vote" in text
    assert "waiting for players     your seat" in text
    deserted = tuple(structs.replace(each, deserted=True) for each in TABLES)
    text = seen.screen_of(Ui("Ann", seen.ADDRESS, screens=(LobbyPage(deserted),)), TableModel())
    assert "5 of 5  playing, all away" in text
    assert "1 of 3  waiting for players " in text


def test_help_and_rules() -> None:
    ui, model = placing()
    texts = [seen.text_of(each) for each in seen.reading_pages(ui, model, Act.HELP, Act.RULES)]
    seen.assert_screen("reading", "\n".join(texts))


def test_every_glyph_is_explained() -> None:
    ui, model = placing()
    for glyphs in (UNICODE, ASCII):
        _keys, *others = seen.reading_pages(ui, model, Act.HELP, glyphs=glyphs)
        pages = "".join(map(seen.text_of, others))
        for sign in (glyphs.spring, glyphs.arrow, glyphs.last, glyphs.captive, glyphs.pointer, glyphs.times):
            assert f"\n  {sign}" in pages
        assert "C4 ".join(glyphs.cursor) in pages


@pytest.mark.parametrize("players", DEALS)
def test_the_rules_show_the_hands(players: int) -> None:
    """R3.5: the table has the counts that a game of this many players deals."""
    dealt = begun(GameOptions(players, Seat(0)), 1).view.start
    rows = [plain(row).split() for row in hands_table()]
    column = list(DEALS).index(players) - len(DEALS)
    for piece, count in dealt.hands[0].items():
        cell = next(row for row in rows if row[0] == face_sign(piece))[column]
        second = piece.people != dealt.peoples[0][0]
        assert int(cell.partition("+")[2 if second else 0]) == count
    assert int(rows[-2][column]) == sum(dealt.hands[0].values())
    assert int(rows[-1][column]) == dealt.soldierless_at


def test_the_field_under_the_mouse_is_explained() -> None:
    """This ends when the mouse leaves the board or a key is pressed; choices and questions stay."""
    ui, model = placing()
    asking = replace(ui, notice=Notice("Place Em on C4?"), asked=Place(Seat(0), Piece("Em"), Field("C4")))
    over, request = updated(asking, Hover(seen.view_of(model).layout.hexes[Field("C4")]), model)
    assert request is None
    assert over.with_page(ui.page) == asking
    assert seen.playing_of(over).cursor == seen.playing_of(ui).cursor
    for now, explained in ((over, True), (updated(over, Hover(None), model)[0], False)):
        assert ("FIELD C4" in seen.screen_of(now, model)) is explained
    assert "FIELD C4" not in seen.screen_of(seen.after(over, model, "l"), model)


def test_what_the_player_has_to_know_is_shown() -> None:
    ui, model = placing()
    refused = replace(ui, notice=Notice("C4 is taken. Choose an empty field.", refusal=True))
    for width, height in SIZES.values():
        assert "C4 is taken." in seen.screen_of(refused, model, width, height)
    lost = replace(ui, now=3.0, lost=Outage("The connection broke.", 5.0))
    assert "Trying again in 2 s." in plain(drawn(lost, model, UNICODE, 80, 24).lines[0])
    typing = drawn(seen.after(ui, model, *":m* C"), model, UNICODE, 80, 24)
    assert plain(typing.lines[-1]).startswith(" : m* C    m* C")


def test_wide_names_keep_the_columns_straight() -> None:
    ui, model = placing()
    model.state = TableState(
        "KXQT", "playing", [SeatSummary(name, True) for name in ("小林" * 5, "é" * 20, "Åse", "d")], 0
    )
    for glyphs in (UNICODE, ASCII):
        for width, height in SIZES.values():
            frame = drawn(ui, model, glyphs, width, height)
            assert {get_cwidth(plain(line)) for line in frame.lines} == {width}


def test_a_click_points_at_the_hex_that_is_drawn_there() -> None:
    ui, model = placing()
    for width, height in SIZES.values():
        frame = drawn(ui, model, UNICODE, width, height)
        for y, content in enumerate(frame.lines[1:-4], start=1):
            text = plain(content)[: 50 if width == 80 else 82]
            for field, cell in seen.view_of(model).layout.hexes.items():
                if field not in seen.view_of(model).board and field in text:
                    action = frame.action_at(text.index(field), y)
                    assert action is not None
                    assert getattr(action, "cell", None) == cell


def test_the_log_begins_with_the_beginning_of_a_sentence() -> None:
    """Older sentences that do not fit as a whole are left out; one alone is cut at its end."""
    ui, model = placing()
    long = "Ann's farmer " + "gives a lot, " * 8 + "and more."
    for log in ((long, "Bob is away."), (long, long), ("Bob is back.", long)):
        for size in ((80, 24), (40, 15), (120, 40)):
            frame = drawn(replace(ui, log=log), model, UNICODE, *size)
            rows = [plain(row) for row in frame.lines]
            at = next(number for number, row in enumerate(rows) if re.search("(Ann's f|Bob is )", row))
            assert not any("lot, gives" in row for row in rows[:at])


def test_seven_laurels_stand_apart_from_the_other_points() -> None:
    """Every source of points at its most, for a player of two peoples with the longest name."""
    finished = played(GameOptions(2, random_layout=True), 11)
    ended = finished.view.result
    assert ended is not None
    most = Tally(11, 11, 7, tuple(Laurel), 77, 36)
    shown = replace(ended, tallies=(most, *ended.tallies[1:]))
    names = ("Eleonora di Tole", "Bob")
    rows = [plain(row) for row in result_lines(replace(finished.view, result=shown), names, UNICODE, 80)]
    row = next(row for row in rows if "77" in row and "Tole" in row and "points" not in row)
    assert get_cwidth(row) <= 80
    assert re.search(r"Tole +11 +11 +7x2 = 14 +\d(\+\d){6} = 30 +77", row)


def test_every_line_of_the_log_can_be_scrolled_to() -> None:
    """Where the log is shortest, with a notice below it."""
    ui, model = placing()
    ui = replace(ui, log=tuple(f"no. {number}." for number in range(20)))
    read = ""
    for _line in ui.log:
        read += seen.screen_of(replace(ui, notice=Notice("Read this.")), model)
        ui, _request = after_key(ui, "pageup", model)
    assert [line for line in ui.log if line not in read] == []


def test_small_windows() -> None:
    texts = []
    for page, width, height in (
        *(("placing", 79, 23), ("placing", 60, 20), ("placing", 20, 10), ("laying", 40, 15)),
        *(("scoring-piece", 40, 15), ("scoring-soldier", 20, 10), ("result", 30, 12)),
        *(("result-wrong", 30, 12), ("lobby", 40, 10), ("gathering", 40, 12), ("menu", 40, 12)),
        *(("menu", 20, 8), ("menu-bots", 20, 8), ("quitting", 40, 12), ("quitting", 20, 8)),
        *(("counts", 44, 20), ("counts-two", 30, 12)),
    ):
        ui, model = PAGES[page]()
        frame = drawn(ui, model, UNICODE, width, height)
        assert [get_cwidth(plain(line)) for line in frame.lines] == [width] * height
        texts.append(f"{page} {width}x{height}\n\n{seen.text_of(frame)}")
    seen.assert_screen("small", "\n".join(texts))


@pytest.mark.parametrize("size", rest_slow((20, 8), (40, 15), (79, 23)))
def test_a_small_window_follows_the_cursor(size: tuple[int, int]) -> None:
    """Every hex with the cursor is visible, and a click on it points at it."""
    ui, model = placing()
    for cell in HEX_POSITIONS:
        there = seen.with_cursor(ui, cell)
        frame = drawn(there, model, UNICODE, *size)
        line, text = next(
            (at, plain(row)) for at, row in enumerate(frame.lines) if re.search("▐.{5}▌", plain(row))
        )
        assert frame.action_at(text.index("▐") + 3, line) == PointAt(cell)


def test_what_a_soldier_reaches_is_said_in_words() -> None:
    """Nothing of which there is none, and a wolf whose kind the player does not know as such."""
    game = played(GameOptions(3, random_layout=True), 1, 30)
    ui, model = seen.client_of(game, game.view.turn)
    view, told = seen.view_of(model), set[str]()
    for field, piece in view.placed.items():
        if not isinstance(piece, Piece) or piece.kind is not Kind.SOLDIER:
            continue
        screen = seen.screen_of(seen.with_cursor(ui, view.layout.hexes[field]), model, 120, 40)
        words = " ".join(row[80:].rstrip("| ").strip() for row in screen.splitlines())
        found = re.search(r"Within its reach: .*?\.|Nothing is within its reach\.", words)
        assert found, words
        beside = map(view.layout.fields.get, neighbours(view.layout.hexes[field]))
        near = [view.placed[each] for each in beside if each in view.placed]
        for kind, name in ((Kind.MERCHANT, "merchant"), (Kind.FARMER, "farmer")):
            number = sum(isinstance(each, Piece) and each.kind is kind for each in near)
            assert re.findall(rf"(\d+) {name}", found[0]) == ([str(number)] if number else [])
        wolves = sum(isinstance(each, Wolf) for each in near)
        assert re.findall(r"(\d+) wol", found[0]) == ([str(wolves)] if wolves else [])
        told.add(found[0])
    assert len(told) > 1


@pytest.mark.slow
@pytest.mark.parametrize("size", [(20, 8), (79, 23), (40, 12)])
def test_every_page_accepts_the_same_windows(size: tuple[int, int]) -> None:
    """Whatever lies over it: the menu, the question whether to quit, talk, announcements, texts."""
    overlays = (
        Quitting(),
        TalkPage(),
        Announcements(("Cosima.",)),
        *(Menu(page) for page in seen.MENU_PAGES),
        *map(Reading, TOPICS),
    )
    for page in PAGES.values():
        ui, model = page()
        for shown in (ui, *map(ui.opened, overlays)):
            frame = drawn(shown, model, UNICODE, *size)
            assert [get_cwidth(plain(line)) for line in frame.lines] == [size[0]] * size[1]
            assert frame.seen
            assert "The window" not in seen.text_of(frame)


def test_a_result_that_is_not_known_yet_is_the_last_step_of_the_scoring() -> None:
    ui, model = seen.over()
    view = seen.view_of(model)
    view.scoring, view.result = view.scoring[:-1], None
    walk, result = (ui.with_page(page) for page in (Scoring(last_step(view)), Result()))
    for size in ((80, 24), (40, 12)):
        shown, expected = (seen.screen_of(each, model, *size).splitlines() for each in (result, walk))
        assert shown[1:-1] == expected[1:-1]
    assert result.page.words(result, model) == walk.page.words(walk, model)


def test_who_plays_again_is_told_to_players_who_are_still_in_the_scoring() -> None:
    """With the key that follows them, which does nothing there before."""
    game = played(GameOptions(3, random_layout=True), 11)
    model = seen.model_of(game, 0)
    assert model.state is not None
    ui = seen.at_scoring_step(seen.ui_of(game, model), model, 3)
    assert seen.request_after(ui, model, "g") is None
    seats = list(model.state.seats)
    seats[1] = structs.replace(seats[1], again=True)
    ui = seen.after_change(ui, model, seats=seats)
    assert seen.request_after(ui, model, "g") == Rematch(NEW)
    for size in ((80, 24), (120, 40), (40, 12)):
        shown = seen.screen_of(ui, model, *size)
        assert "g play again" in shown
        assert size == (40, 12) or "plays again" in shown


@pytest.mark.parametrize("players", [2, 5])
def test_every_choice_after_a_game_is_seen_with_who_has_chosen_it(players: int) -> None:
    """At the least size of a whole screen, and in text mode."""
    game = played(GameOptions(players, random_layout=True), 11)
    model = seen.model_of(game, 0)
    assert model.state is not None
    model.state.seats[1] = structs.replace(model.state.seats[1], again=True)
    seen.change(model, shown=Shown(3, seat=1))
    ui = seen.at_scoring_step(seen.ui_of(game, model), model, last_step(seen.view_of(model)))
    ui = replace(ui, finished_games=FinishedGames(judged=True, saved=True))
    shown = seen.screen_of(ui, model, 80, 24)
    chosen = (
        ("a", "applaud"),
        ("g", "play again: Bob"),
        ("f", "look together: Bob"),
        ("v", "replay the game"),
    )
    for key, words in (*chosen, ("y", "what decided it"), ("w", "keep the record"), ("e", "a picture")):
        assert f" {key}  {words}" in shown
    small = seen.screen_of(ui, model, 40, 23)
    assert " g  play again: Bob " in small
    assert " f  look together  " in small
    told = ui.page.words(ui, model)[-1]
    assert told == "You can type: again (Bob), together (Bob), applaud, review, analyse, save, picture"


@pytest.mark.parametrize("players", [2, 5])
def test_everybodys_points_are_seen_in_every_window(players: int) -> None:
    """Even while the player is told something, and when others play again."""
    game = played(GameOptions(players, random_layout=True), 11)
    model = seen.model_of(game, 0)
    assert model.state is not None
    assert (result := seen.view_of(model).result) is not None
    model.state.seats[1] = structs.replace(model.state.seats[1], again=True)
    ui = seen.at_scoring_step(seen.ui_of(game, model), model, last_step(seen.view_of(model)))
    for size in ((79, 23), (40, 12), (20, 8)):
        for notice in (None, Notice("Saved as palatinus-KXQT.txt in /home/ann.")):
            shown = seen.screen_of(replace(ui, notice=notice), model, *size)
            points = [int(found) for found in re.findall(r"(?m)^ [ESLMA] .* (\d+) +\|", shown)]
            assert points == sorted((tally.points for tally in result.tallies), reverse=True)
            assert ("Saved" if notice else "again") in shown


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_asked_and_typed_is_seen_in_every_window(language: str) -> None:
    """The question whether to quit as a whole, and the end of a line, however long its question is."""
    ui, model = placing()
    with speaking(language):
        asked = news_lines(replace(ui.opened(Quitting()), log=()), 200, 1, "")
        frame = drawn(ui.opened(Quitting()), model, UNICODE, 20, 8)
        assert plain(asked[0]).strip() in " ".join(plain(row).strip() for row in frame.lines)
        for asks in LinePrompt:
            entry = TypedLine(asks).filled("the end")
            seen_of_it = "*" * 7 if asks is LinePrompt.PASSWORD else "the end"
            assert seen_of_it in plain(drawn(replace(ui, entry=entry), model, UNICODE, 20, 8).lines[-1])


@pytest.mark.parametrize("size", [(79, 23), (40, 12), (20, 8)])
def test_every_line_of_the_menu_can_be_read_and_clicked(size: tuple[int, int]) -> None:
    ui, model = menu()
    lines = [choice.text for choice in MENU.lines(At(ui, model))]
    for at, words in enumerate(lines):
        frame = drawn(ui.opened(Menu(MENU, at)), model, UNICODE, *size)
        rows = [row for row in range(size[1]) if frame.action_at(5, row) == ChooseLine(at)]
        shown = (re.sub(" [\u2191\u2193]\\d+", "", plain(frame.lines[row])) for row in rows)  # without marks
        assert " ".join(row.strip("\u25ba ") for row in shown) == words


def _lists() -> Iterator[tuple[str, list[tuple[Ui, TableModel]]]]:
    """Yield every kind of list at its longest, drawn with each of its lines chosen."""
    for stage, absence in (("gathering", MoveClock(86_400)), ("playing", LongClock(259_200, 259_200))):
        ui, model = menu() if stage == "gathering" else placing(3)
        assert model.state is not None
        seats = [model.state.seats[0], *(structs.replace(each, here=False) for each in model.state.seats[1:])]
        watching = [SpectatorSummary(1, "Zoe")]
        seen.change(model, spectators=1, watching=watching, absence=absence, seats=seats)
        seen.change(model, may_ask=["take-back", "more-time"])
        ui = replace(ui, offers=Offers(levels=LEVELS, notices=("mail",)))
        for page in seen.MENU_PAGES:
            many = len([*page.lines(At(ui, model))])
            yield (
                f"{stage} {page}",
                [(ui.opened(Menu(page, at)), model) for at in range(many)],
            )
    ui, model = placing(3)
    model.plans = (PlannedMove("Em", "C4", Condition("D6", 1)), PlannedMove("Ef", "D1"))
    choice = choices_for(Place(Seat(0), Piece("Es"), Field("B1")))
    yield "plans", [(ui.opened(PlanChoice(choice, at)), model) for at in range(4)]
    listed = tuple(structs.replace(TABLES[0], table=f"AB{number:02}") for number in range(30))
    hosting = Ways(addresses=(seen.ADDRESS,), other_ways=("ssh", "http"), pages="http://192.0.2.7:7733/")
    for online in (None, OnlineList((PersonOnline("Bob"), PersonOnline("Cosima")))):
        ui = Ui("Ann", ways=hosting, company=online)
        pages = [LobbyPage(listed, chosen=at) for at in range(len(listed) + 1)]
        yield "lobby", [(ui.with_page(page), TableModel()) for page in pages]
    servers = tuple(f"ws://192.0.2.{number}:7733" for number in range(5))
    start = Start(Preferences(servers=servers), left=(LeftGame("a", 3, "2026-01-01 10:00"),))
    games = {KeptSeat(url, "AB01", "Ann"): Turn(0, "playing", seat=0, turn=1, name="Bob") for url in servers}
    start = replace(start, waiting=games)
    ui = Ui("Ann", screens=(Start(Preferences(evening=EveningPlan("Friday"))),))
    found = Found(tuple(FoundServer("attic", url, Listed(listed[:4], 3)) for url in servers))
    search = Search(found, seats=(KeptSeat(servers[1], "AB01", "Ann"),))
    past, rivals = (PAGES[name]()[0].page for name in ("history", "rivals"))
    for page in (SETTINGS, HOSTING, NEW_TABLE):
        many = len(page.lines(At(ui, TableModel())))
        forms = [ui.opened(Form(page, at)) for at in range(many)]
        yield page.heading, [(form, TableModel()) for form in forms]
    for name, screen in (("start", start), ("search", search), ("history", past), ("rivals", rivals)):
        ui, model = Ui("Ann", screens=(screen,)), TableModel()
        choices = screen.choices(ui, model)
        assert choices is not None
        states = [updated(ui, ChooseLine(at), model)[0] for at in range(len(choices.lines))]
        states[choices.chosen], _request = updated(
            states[choices.chosen - 1], ChooseLine(choices.chosen), model
        )
        yield name, [(state, model) for state in states]


@pytest.mark.parametrize("size", rest_slow((20, 8), (80, 24), (120, 40), (79, 23), (40, 12)))
@pytest.mark.parametrize("language", rest_slow(*LANGUAGES))
def test_every_line_of_a_list_is_visible_or_marked(
    language: str, size: tuple[int, int], in_language: Callable[[str], None]
) -> None:
    """How many lines are left out above and below stands at the list's ends; a click leads to the nearest."""
    in_language(language)
    for name, screens in _lists():
        for chosen, (ui, model) in enumerate(screens):
            frame = drawn(ui, model, UNICODE, *size)
            actions = seen.actions_of(frame)
            shown = {each.number for each in actions if type(each) is ChooseLine}
            unseen = {each for each in actions if isinstance(each, ChooseUnseen)}
            counts = re.findall("[\u2191\u2193]\\D*?(\\d+)", seen.text_of(frame).partition("\n")[2])
            assert chosen in shown, (name, chosen)
            assert sorted(map(int, counts)) == sorted(each.count for each in unseen), (name, chosen)
            assert len(shown) + sum(each.count for each in unseen) == len(screens), (name, chosen)
            for each in unseen:
                assert each.number not in shown
                # Where its line is visible, as that of every screen here is.
                assert updated(ui, each, model) == (screens[each.number][0], None), (name, chosen)


def test_every_list_is_tested() -> None:
    """Every screen with lines to choose from, or whose lines can be clicked, is among those above."""
    clicked = {
        type(ui.overlay or ui.page).__name__
        for page in PAGES.values()
        for ui, model in [page()]
        if any(isinstance(each, ChooseLine) for each in seen.actions_of(drawn(ui, model, UNICODE, 80, 24)))
    }
    chosen = {each.__name__ for each in seen.kinds_of(Screen) if each.choices is not Screen.choices}
    tested = {type(ui.overlay or ui.page).__name__ for _name, screens in _lists() for ui, _model in screens}
    assert clicked | chosen == tested


def test_a_line_that_is_cut_can_be_clicked_at_its_dots() -> None:
    ui, model = PAGES["history"]()
    frame = drawn(ui, model, UNICODE, 30, 9)
    rows = [row for row, content in enumerate(frame.lines) if plain(content).endswith("...")]
    assert [frame.action_at(29, row) for row in rows] == [frame.action_at(5, row) for row in rows]
    assert any(isinstance(frame.action_at(29, row), ChooseLine) for row in rows)


def test_the_help_of_a_small_window_sets_keys_and_words_apart() -> None:
    """Even many keys, which fill their column in a larger one."""
    ui, model = PAGES["scoring-piece"]()
    shown = seen.screen_of(ui.opened(Reading(Act.HELP)), model, 60, 20)
    assert "wheel down: the next step" in shown


@pytest.mark.parametrize(("width", "height"), [(19, 10), (20, 7), (9, 3), (1, 1), (0, 0)])
def test_too_small_a_window_says_so(width: int, height: int) -> None:
    ui, model = placing()
    frame = drawn(ui, model, UNICODE, width, height)
    assert [get_cwidth(plain(line)) for line in frame.lines] == [width] * height
    if width >= 19:
        assert "20x8 or" in seen.text_of(frame)


@pytest.mark.parametrize("size", rest_slow((20, 8), (79, 24), (80, 10)))
@pytest.mark.parametrize("topic", rest_slow(*reversed(TOPICS)))
def test_pages_to_read_are_scrolled_in_a_small_window(topic: Act, size: tuple[int, int]) -> None:
    """Every word of every page is shown on the way to the end; back at the start, the first is again."""
    ui, model = placing()
    pages = [each.lines[1:-1] for each in seen.reading_pages(ui, model, topic)]
    whole = "\n".join(plain(content) for page in pages for content in page)
    ui, first = shown_in(ui.opened(Reading(topic)), model, size)
    read, text, screens = first, first, 1
    while Act.PAGE_DOWN in {key.action for key in keys_offered(ui, model, ui.last_top)}:
        ui, text = shown_in(seen.after(ui, model, "pagedown"), model, size)
        read, screens = read + text, screens + 1
    words = {word for word in re.findall(r"\w+", whole) if len(word) < size[0] - 2}
    assert words <= set(re.findall(r"\w+", read))
    for _screen in range(screens):
        ui, text = shown_in(seen.after(ui, model, "pageup"), model, size)
    assert "page 1 of" in text or topic in {Act.COUNTS, Act.WHOLE}
    assert drawn(ui.opened(Quitting()), model, UNICODE, *size).seen


def test_what_happened_last_is_read_first_in_a_small_window() -> None:
    """It is what ended in dots; a whole game's log is many pages there."""
    ui, model = placing()
    ui = replace(ui, log=(*(f"{number} came before." for number in range(99)), "This came last."))
    _, text = shown_in(ui.opened(Reading(Act.WHOLE)), model, (40, 12))
    assert text.index("This came last.") < text.index("98 came before.")


def shown_in(ui: Ui, model: TableModel, size: tuple[int, int]) -> tuple[Ui, str]:
    """Return what a window shows, and the state after it has told how far it can be scrolled."""
    frame = drawn(ui, model, UNICODE, *size)
    assert frame.seen
    return replace(ui, last_top=frame.last_top), seen.text_of(frame)


ANY_SIZE = st.sampled_from(
    [(80, 24), (96, 31), (100, 50), (120, 40), (200, 60), (79, 24), (20, 10), (1, 1)]
) | st.tuples(st.integers(0, 130), st.integers(0, 45))
ANY_KEY = seen.KEY_NAMES + list("mC4*é小")


@given(
    games(), ANY_SIZE, st.sampled_from(LANGUAGES), st.lists(st.sampled_from(ANY_KEY), max_size=30), st.data()
)
def test_any_screen_of_any_game_fits(
    game: Game, size: tuple[int, int], language: str, keys: list[str], data: st.DataObject
) -> None:
    """After any keys, for any eyes, at any moment, in any language: a frame as large as the window."""
    seat = data.draw(st.none() | st.integers(0, game.view.seats - 1))
    ui, model = seen.client_of(game, seat)
    for key in keys:
        ui, _ = after_key(ui, key, model)
    announced = data.draw(st.lists(st.text("ab é小", min_size=1, max_size=ANNOUNCEMENT_LENGTH), max_size=3))
    if announced:
        ui = ui.opened(Announcements(tuple(announced)))
    ui = replace(ui, stops_at=data.draw(st.none() | st.integers(0, 86_400)))
    with speaking(language):
        frames = [drawn(ui, model, glyphs, *size) for glyphs in (UNICODE, ASCII)]
    for frame in frames:
        assert [get_cwidth(plain(line)) for line in frame.lines] == [size[0]] * size[1]
    assert seen.text_of(frames[1]).isascii()


PALETTES = {
    "dark": Colouring(Theme.DARK, Colours.TRUE),
    "light": Colouring(Theme.LIGHT, Colours.TRUE),
    "16 colours": Colouring(Theme.AUTO, Colours.SIXTEEN),
    "NO_COLOR": Colouring(Theme.AUTO, Colours.NONE),
}
SCREENS: dict[str, Callable[[], tuple[Ui, TableModel]]] = {
    "placing": placing,
    "scoring": lambda: over(9),
    "result": lambda: over(-1),
}


@pytest.mark.parametrize("name", SCREENS)
def test_colours(name: str) -> None:
    """All palettes are in one file, since they differ only in how a style looks."""
    ui, model = SCREENS[name]()
    frame = drawn(ui, model, UNICODE, 80, 24)
    rows = ("".join(f"[{_short(style)}]{text}" for style, text, _ in row).rstrip() for row in frame.lines)
    palettes = {palette: style_for(colouring) for palette, colouring in PALETTES.items()}
    styles = sorted({style for row in frame.lines for style, *_ in row if style})
    looks = [[_short(style), *(_appearance(each, style) for each in palettes.values())] for style in styles]
    table = (" | ".join(columns) for columns in (["style", *palettes], *looks))
    seen.assert_screen(f"{name}-colours", "\n".join((*rows, "", *table, "")))


def _short(style: str) -> str:
    return style.replace("class:", "")


def _appearance(palette: Style, style: str) -> str:
    """Return how a style looks in words: `white on b81422, bold`."""
    attrs = palette.get_attrs_for_style_str(style)
    ink = (attrs.color or "").removeprefix("ansi")
    ground = (attrs.bgcolor or "").removeprefix("ansi")
    colours = f"{ink} on {ground}" if ground else ink
    marks = [mark for mark in ("bold", "italic", "underline", "reverse") if getattr(attrs, mark)]
    return ", ".join(filter(None, (colours.strip(), *marks))) or "-"


SCALES = {"small": SMALL, "medium": MEDIUM, "large": LARGE}
ALL_LAID = frozenset(range(7))


@pytest.mark.parametrize("name", SCALES)
def test_board_as_text(name: str) -> None:
    view = snapshot(played(GameOptions(5, random_layout=True), 2, 24).view, SPECTATOR)
    texts = [board_text(view, ascii_only=ascii_only, scale=SCALES[name]) for ascii_only in (False, True)]
    assert texts[1].isascii()
    seen.assert_screen(f"board-{name}", "\n\n".join(texts) + "\n")


@given(games(), st.sampled_from([*SCALES.values()]), st.sampled_from([UNICODE, ASCII]))
def test_board_fills_its_scale(game: Game, scale: Scale, glyphs: GlyphSet) -> None:
    lines = [plain(line) for line in drawn_board(game.view, UNMARKED, glyphs, scale)]
    assert [get_cwidth(line) for line in lines] == [scale.width] * scale.height
    text = "\n".join(lines)
    assert all(field in text for field in game.view.layout.hexes if field not in game.view.board)


@pytest.mark.parametrize("scale", SCALES.values())
def test_hexes_and_borders_do_not_overlap_and_neighbours_are_adjacent(scale: Scale) -> None:
    """Hexes that share a side are next to each other on the screen (R2.5)."""
    taken: set[tuple[int, int]] = set()
    drawn = borders(scale, ALL_LAID, ascii_only=False)
    for cell in HEX_POSITIONS:
        x, y = scale.body_of(cell)
        body = {(x + dx, y + dy) for dx in range(scale.across - 1) for dy in range(scale.body)}
        assert not body & (taken | drawn.keys())
        edges = {(x + dx, y + dy) for dx in (-1, scale.across - 1) for dy in range(scale.body)}
        assert edges <= drawn.keys()
        taken |= body
        for beside in neighbours(cell):
            if beside in HEX_POSITIONS:
                other_x, other_y = scale.body_of(beside)
                steps = (abs(other_x - x), abs(other_y - y))
                assert steps in {(scale.across, 0), (scale.across // 2, scale.pitch)}


def test_tiles_have_stronger_borders_than_their_fields() -> None:
    drawn = borders(SMALL, ALL_LAID, ascii_only=False)
    for cell, position in HEX_POSITIONS.items():
        x, y = SMALL.body_of(cell)
        east = HEX_POSITIONS.get((cell[0] + 1, cell[1]))
        assert drawn[x + SMALL.across - 1, y] == (("┊", False) if east == position else ("┃", True))


def test_a_soldiers_captives_and_uncertain_changes_are_plain_words() -> None:
    """Whose pieces they are, and how many; zero has no sign."""
    found = Forecast(
        piece=Piece("Es"),
        field=Field("A1"),
        gives=None,
        acts=frozenset({SoldierAct.MERCHANTS}),
        captives={Seat(1): Bounds(1, 1), Seat(2): Bounds(0, 2)},
        hill=HillInfluence({}, ()),
        changes=(Change(Tile("B"), Seat(1), Bounds(-4, 0)),),
        soldiers=(),
    )
    assert describe_forecast(found, ["Anna", "plebeian-2", "Carla"]) == [
        "Es here would capture 1 piece from plebeian-2 and 0 to 2 pieces from Carla.",
        "Influence changes: plebeian-2 -4 to 0 on B.",
    ]
