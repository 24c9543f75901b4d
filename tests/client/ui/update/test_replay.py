"""A record on the screen: keys, typed commands, what each seat's eyes are shown, chances, and autoplay."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from client.player.terminal import Colouring, Colours, Theme
from client.records import Recording
from client.tables.table import TableModel
from client.ui import requests
from client.ui.frame import people_style, plain, width_of
from client.ui.keys import Act, PointAt
from client.ui.requests import Request
from client.ui.screens import replay
from client.ui.screens.dispatch import after_key, after_tick, updated
from client.ui.screens.playing import Playing
from client.ui.screens.reading import Reading
from client.ui.screens.replay import Replay, open_record, seen_in
from client.ui.screens.scoring import Result, last_step, scene, steps
from client.ui.screens.screen import drawn, keys_offered
from client.ui.state import Ui
from client.ui.terminal.painter import style_for
from client.ui.texts.glyphs import ASCII, UNICODE, GlyphSet
from client.ui.texts.tables import names_at
from engine.board import HILLS
from engine.events import Captured, HillScored, SoldierFled
from engine.game import Game, GameOptions
from engine.pieces import People, Seat
from engine.record import names_in
from engine.redaction import snapshot
from engine.view import SPECTATOR, eyes_of
from tests.cases import cases
from tests.client.ui import seen
from tests.client.ui.analysed import analysis_of
from tests.client.ui.analysed import recording_of as record_of
from tests.games import all_eyes, finished_games, games, played

RECORDED = record_of(3, dict(enumerate(seen.NAMES)))


def recording_of(game: Game) -> Recording:
    return Recording.of(game.events, dict(enumerate(seen.NAMES[: game.view.seats])))


def start(recording: Recording | None = None) -> Ui:
    recording = recording or RECORDED
    return replay.open_record(recording, 0, recording.all_eyes)


def after(ui: Ui, *keys: str) -> Ui:
    """Return the UI state after these keys; a record never leads to a request."""
    for key in keys:
        ui, request = after_key(ui, key, replay.seen_in(ui))
        assert request is None
    return ui


def shown_stop(ui: Ui) -> int:
    return replay_of(ui).stop


def replay_of(ui: Ui) -> replay.Replay:
    assert isinstance(ui.page, replay.Replay)
    return ui.page


def scoring_step(ui: Ui) -> int:
    return seen.shown_step(ui, replay.seen_in(ui))


def screen(ui: Ui, width: int = 80, height: int = 24, *, glyphs: GlyphSet = UNICODE) -> str:
    return seen.screen_of(ui, replay.seen_in(ui), width, height, glyphs=glyphs)


@given(games())
def test_every_stop_is_the_game_as_it_was(game: Game) -> None:
    recording = recording_of(game)
    for eyes in all_eyes(game):
        assert recording.view(recording.end, eyes) == snapshot(game.view, eyes)
    placed = [recording.view(at, SPECTATOR) for at in range(recording.moves + 1)]
    laid = [sum(tile is not None for tile in view.tiles) + len(view.placed) for view in placed]
    assert laid == list(range(laid[0], laid[0] + recording.moves + 1))
    assert recording.end == recording.moves + game.over


@pytest.mark.parametrize(("comment", "name"), cases(__file__, "names"))
def test_names_are_read_from_comments_if_they_are_safe(comment: str, name: str) -> None:
    game = played(GameOptions(2), 1, 3)
    comment = re.sub(r"\\(u....|r)", lambda found: found[0].encode().decode("unicode_escape"), comment)
    assert Recording.of(game.events, names_in(f"palatinus record 1\n{comment}\n")).names[0] == name


def test_keys_go_forward_and_back() -> None:
    ui = start()
    assert isinstance(ui.page, replay.Replay)
    assert shown_stop(after(ui, "left", "up", "home")) == 0
    assert shown_stop(after(ui, "right", " ", "enter", "left")) == 2
    assert shown_stop(after(ui, "down", "pagedown", "up")) == 3
    assert shown_stop(after(ui, *["down"] * 14)) == 42
    assert replay.seen_in(after(ui, *["down"] * 14)).view == RECORDED.view(42, RECORDED.all_eyes)


def test_the_scoring_of_a_record_is_walked_through() -> None:
    ui = after(start(), *seen.typed("42"))
    assert "all pieces placed" in screen(ui)
    ui = after(ui, "right")
    assert (shown_stop(ui), scoring_step(ui)) == (43, 0)
    assert "step 1 of" in screen(ui)
    assert scoring_step(after(ui, "right", "right", "left")) == 1
    hill = after(ui, "down", "down")
    assert "scoring hill B" in screen(hill)
    assert "scoring hill A" in screen(after(hill, "up"))
    assert "scoring hill B" in screen(after(hill, "right", "up"))
    ended = after(ui, "end")
    view = replay.seen_in(ended).view
    assert view is not None
    assert scoring_step(ended) == last_step(view)
    assert "POINTS" in screen(ended)
    assert after(ended, "right", "down", "end") == ended
    assert shown_stop(after(ui, "left")) == shown_stop(after(ui, "up")) == 42


def test_a_running_game_ends_with_its_last_move() -> None:
    recording = recording_of(played(GameOptions(4, random_layout=True), 3, 9))
    ui = after(start(recording), "end")
    assert (shown_stop(ui), type(ui.page.game)) == (9, Playing)
    assert after(ui, "right") == ui
    assert "not been scored" in screen(after(ui, *seen.typed("go scoring")))


def test_keys_change_the_eyes() -> None:
    ui = after(start(), *seen.typed("30"))
    recording = RECORDED
    every = [recording.all_eyes, *(eyes_of(Seat(seat)) for seat in range(3)), SPECTATOR]
    for eyes in [*every[1:], every[0]]:
        ui = after(ui, "tab")
        assert replay_of(ui).eyes == eyes
    assert after(ui, "s-tab", "s-tab").page == after(ui, "3").page
    assert after(ui, "-").page == after(ui, "s-tab").page
    assert after(ui, "2", "0") == ui
    assert after(ui, "4").notice is not None
    assert "seen by Bob" in screen(after(ui, "2"))
    ui = after(start(), *seen.typed("7"))
    assert "HAND OF Bob" in screen(ui)  # whose turn it is
    assert "HAND OF Cosima" in screen(after(ui, "3"))
    assert "HAND OF" not in screen(after(ui, "-"))


def test_a_running_game_has_one_view() -> None:
    game = played(GameOptions(3, random_layout=True), 1, 6)
    seat = eyes_of(Seat(1))
    ui = replay.open_record(Recording.of(game.events, dict(enumerate(seen.NAMES)), seat), 3, seat)
    assert replay.next_eyes not in [key.action for key in keys_offered(ui, replay.seen_in(ui))]
    for key in ("tab", "s-tab", "-", "1"):
        looked = after(ui, key)
        assert looked.page == ui.page
        assert "only from your own seat" in seen.notice_of(looked)


def test_a_past_game_is_played_on_in_the_seat_looking_or_on_turn() -> None:
    """As long as it is not over there, and only where it was chosen from the past games."""
    recording = RECORDED
    there = after(start(recording), *["right"] * 9)
    assert "start screen" in seen.notice_of(after(there, "p"))
    there = there.with_page(replace(replay_of(there), can_play_on=True))
    turn = recording.view(9, recording.all_eyes).turn
    assert turn is not None
    assert after_key(there, "p", replay.seen_in(there))[1] == requests.PlayOn(recording, 9, turn)
    first = after(there, "1")
    assert after_key(first, "p", replay.seen_in(first))[1] == requests.PlayOn(recording, 9, Seat(0))
    for keys in (("end",), ("end", "1")):
        assert "over at this point" in seen.notice_of(after(there, *keys, "p"))


def test_typed_commands() -> None:
    ui = start()
    assert shown_stop(after(ui, "G", "1", "2", "enter")) == 12
    assert shown_stop(after(ui, *seen.typed("go 42"))) == 42
    assert scoring_step(after(ui, *seen.typed("go end"))) == scoring_step(after(ui, "end")) > 0
    assert shown_stop(after(ui, *seen.typed("go scoring"))) == 43
    assert shown_stop(after(ui, *seen.typed("9"), *seen.typed("go start"))) == 0
    assert after(ui, *seen.typed("eyes none")).page == after(ui, "-").page
    assert after(ui, *seen.typed("eyes cosima")).page == after(ui, *seen.typed("eyes 3")).page
    assert after(ui, *seen.typed("eyes 1"), *seen.typed("eyes all")).page == ui.page
    for line in ("go 43", "go", "go x", "eyes", "eyes 7", "say hello", "m* C4", "1000000000000"):
        misread = after(ui, *seen.typed(line))
        assert seen.is_refused(misread)
        assert misread.page == ui.page
    completed = after(ui, ":", "e", "tab")
    assert seen.line_of(completed) == "eyes "
    assert "eyes Cosima" in screen(after(completed, "C"))


def test_help_and_quitting() -> None:
    ui = start()
    assert after(ui, "?").overlay == Reading(Act.HELP)
    told = "".join(map(seen.text_of, seen.reading_pages(ui, replay.seen_in(ui), Act.HELP)))
    assert "to the move whose number" in told
    assert "eyes 1" in told
    assert after(ui, "?", "escape") == ui
    assert after_key(ui, "q", replay.seen_in(ui))[1] == requests.Errand.QUIT
    for word in ("quit", "leave"):
        closing = replace(after(ui, ":", *word), notice=None)
        assert after_key(closing, "enter", replay.seen_in(ui))[1] == requests.Errand.QUIT
    judging = after(replay.begin_analysis(ui), ":", *"leave")
    assert after_key(judging, "enter", replay.seen_in(ui))[1] == requests.Errand.STOP_ANALYSIS
    assert "study" not in screen(after(ui, ":", "s"))  # nobody else is there


def test_a_click_explains_a_field_and_goes_on_in_the_scoring() -> None:
    ui = start()
    pointed, _ = updated(ui, PointAt(HILLS[0]), replay.seen_in(ui))
    assert (seen.playing_of(pointed).cursor, shown_stop(pointed)) == (HILLS[0], 0)
    scoring = after(ui, *seen.typed("go scoring"))
    assert scoring_step(updated(scoring, PointAt(HILLS[0]), replay.seen_in(scoring))[0]) == 1


PAGES = {
    "laying": ("3",),
    "placing": ("24", "tab", "tab"),
    "scoring": ("go scoring", "down", "right", "right"),
    "result": ("go end",),
}


def page(name: str) -> Ui:
    line, *keys = PAGES[name]
    return after(start(), *seen.typed(line), *keys)


@pytest.mark.parametrize("name", PAGES)
def test_page(name: str) -> None:
    seen.assert_screen(f"replay-{name}-80x24", screen(page(name)))


def test_the_longest_names_leave_room_for_the_move() -> None:
    game = played(GameOptions(3), 1)
    recording = Recording.of(game.events, dict.fromkeys(range(3), "W" * 20))
    title = screen(after(start(recording), "right", "1")).split("\n")[0]
    assert "move 1 of 42  " in title  # and nothing that would be cut
    assert "seen by WWW" in title


def begun(*, can_analyse: bool = True) -> Ui:
    recording = record_of(3)
    return replay.open_record(recording, 0, recording.all_eyes, can_analyse=can_analyse)


def pressed_at(ui: Ui, key: str) -> tuple[Ui, Request | None]:
    return after_key(ui, key, replay.seen_in(ui))


def is_offered(ui: Ui, act: Act) -> bool:
    return any(key.action is act for key in keys_offered(ui, replay.seen_in(ui)))


def test_the_key_begins_the_analysis_once() -> None:
    ui = begun()
    recording = replay_of(ui).recording
    assert is_offered(ui, Act.ANALYSE)
    assert pressed_at(ui, "y")[1] == requests.Errand.ANALYSE
    at_board, request = pressed_at(pressed_at(ui, "end")[0], "y")
    assert request == requests.Errand.ANALYSE
    assert isinstance(replay_of(at_board).table, Playing)  # the scoring shows no chances
    judging = replay.with_analysis(ui, analysis_of(recording, 5))
    assert pressed_at(judging, "y")[1] is None
    assert not is_offered(judging, Act.ANALYSE)
    assert pressed_at(replay.after_analysis(judging), "y")[1] == requests.Errand.ANALYSE
    assert pressed_at(replay.after_analysis(replay.with_analysis(ui, analysis_of(recording))), "y")[1] is None


def test_what_cannot_be_analysed() -> None:
    """An unfinished game, which is said; guests are offered nothing, as the host's computer would search."""
    ui = begun(can_analyse=False)
    assert not is_offered(ui, Act.ANALYSE)
    assert pressed_at(ui, "y")[1] is None
    recording = Recording.of(played(GameOptions(3, random_layout=True), seed=1, commands=20).events, {})
    told, request = pressed_at(replay.open_record(recording, 0, recording.all_eyes, can_analyse=True), "y")
    assert request is None
    assert "Only a finished game" in seen.notice_of(told)


def test_escape_stops_the_analysis_first() -> None:
    ui = replay.with_analysis(begun(), analysis_of(record_of(3), 5))
    assert pressed_at(ui, "escape")[1] == requests.Errand.STOP_ANALYSIS
    assert pressed_at(ui, "q")[1] == requests.Errand.QUIT
    assert pressed_at(replay.begin_analysis(begun()), "escape")[1] == requests.Errand.STOP_ANALYSIS
    assert not replay_of(replay.after_analysis(replay.begin_analysis(begun()))).judging
    ended = replay.after_analysis(ui)
    assert seen.notice_of(ended) == "Stopped: 5 of 36 moves analysed."
    assert pressed_at(ended, "escape")[1] == requests.Errand.QUIT


def test_who_waits_for_what_decided_the_game_reads_when_it_is_told() -> None:
    record, waits = record_of(3), "is told when all its moves"
    for analysis, expected in (analysis_of(record, 5), True), (analysis_of(record), False):
        page = replay_of(replay.with_analysis(begun(), analysis))
        told = replay.told_of_move(replace(page, stop=analysis.first), analysis)
        assert any(waits in each for each in told) == expected


def test_what_is_told_of_a_move_can_be_read_in_full() -> None:
    """In a window of the least size there is little room for it beside the board."""
    ui = replay.with_analysis(begun(), analysis_of(record_of(3)))
    page = replay_of(ui)
    assert page.analysis is not None
    at = ui.with_page(replace(page, stop=page.analysis.deciding[0].number))
    frame = drawn(pressed_at(at, "m")[0], replay.seen_in(at), UNICODE, 80, 24)
    read = " ".join(" ".join(map(plain, frame.lines)).split())
    told = " ".join(replay.told_of_move(replay_of(at), page.analysis))
    assert " ".join(told.split()) in read


def test_a_key_goes_from_one_decisive_move_to_the_next() -> None:
    ui = replay.after_analysis(replay.with_analysis(begun(), analysis_of(record_of(3))))
    analysis = replay_of(ui).analysis
    assert analysis is not None
    assert all(replay_of(pressed_at(ui, key)[0]).analysis == analysis for key in ("right", "end", "tab", "-"))
    numbers = sorted(move.number for move in analysis.deciding)
    assert seen.notice_of(ui).endswith("Moves {}, {} and {} decided most.".format(*numbers))
    ui, _ = pressed_at(ui, "home")
    for number in [*numbers, numbers[0]]:
        ui, _ = pressed_at(ui, "d")
        assert replay_of(ui).stop == number
    ui, _ = pressed_at(replace(begun()), "d")
    assert replay_of(ui).stop == 0
    assert seen.notice_of(ui) == "No record is being analysed here."
    undecided = replace(analysis_of(record_of(3)), moves=(), wanted=0)
    ui, _ = pressed_at(replay.after_analysis(replay.with_analysis(begun(), undecided)), "d")
    assert seen.notice_of(ui) == "No single move decided the game."
    going_on = replay.with_analysis(begun(), replace(undecided, wanted=36))
    for state, told in (
        (replay.begin_analysis(begun()), None),
        (going_on, "0 of 36 moves analysed"),
        (replay.after_analysis(going_on), "Stopped: 0 of 36 moves analysed."),
    ):
        notice = pressed_at(replace(state, notice=None), "d")[0].notice
        assert (notice and notice.text) == told


def test_an_analysed_game_opens_where_it_turned() -> None:
    """Who has gone to a move stays there, and so do those who follow; a part of an analysis leads nowhere."""
    recording = record_of(3)
    analysis = analysis_of(recording)
    for stop in (0, 5, recording.moves):
        page = replay_of(replay.open_record(recording, stop, recording.all_eyes, can_analyse=True))
        led = replace(page, company=replay.Companions("Bruno", stop, follows=True))
        for at in (page, led):
            ui = replay.after_analysis(replay.with_analysis(begun().with_page(at), analysis))
            turns = at is page and stop != 5
            assert replay_of(ui).stop == (analysis.deciding[0].number if turns else stop)
            assert seen.notice_of(ui).startswith(f"The game turned at move {analysis.deciding[0].number}, ")
    part = replay.after_analysis(replay.with_analysis(begun(), analysis_of(recording, 20)))
    assert replay_of(part).stop == 0


def test_bots_are_called_by_their_names_in_an_analysis() -> None:
    """Levels would leave no room for the chances at 80 columns."""
    recording = replace(record_of(3), names=("Ann", "Tiberius (plebeian)", "Cato (plebeian)"))
    ui = replay.with_analysis(replay.open_record(recording, 20, recording.all_eyes), analysis_of(recording))
    chances = screen(ui).partition("CHANCES")[2]
    assert "Tiberius " in chances
    assert "pleb" not in chances


_LEVELS = " ▁▂▃▄▅▆▇█"


def shown(players: int, stop: int, judged: int | None = None) -> Ui:
    """Return a record with its analysis; it goes on if only so many moves are judged."""
    recording = record_of(players)
    stop = min(stop, recording.end)
    ui = replay.with_analysis(
        replay.open_record(recording, stop, recording.all_eyes), analysis_of(recording, judged)
    )
    return ui if judged is not None else replace(replay.after_analysis(ui), notice=None)


@pytest.mark.parametrize(("players", "size"), [(2, "80x24"), (5, "80x24"), (5, "120x40")])
def test_a_record_with_chances(players: int, size: str) -> None:
    """As everybody can see in tests/client/ui/screens; in ASCII, digits stand for tens of per cent."""
    width, height = map(int, size.split("x"))
    ui = shown(players, 22 if players == 2 else 30)
    seen.assert_screen(f"chances-{players}-{size}", screen(ui, width, height))
    ui = shown(3, 18, judged=20)
    seen.assert_screen("chances-ascii", screen(ui, glyphs=ASCII))


RECORDS_SHOWN = st.sampled_from([*PAGES]).map(page) | st.builds(
    shown, st.sampled_from([2, 5]), st.sampled_from([0, 12, 30, 999]), st.sampled_from([0, 3, None])
)


@given(RECORDS_SHOWN, st.integers(0, 160), st.integers(0, 50), st.sampled_from([UNICODE, ASCII]))
def test_the_screen_fills_every_size_exactly(ui: Ui, width: int, height: int, glyphs: GlyphSet) -> None:
    """With chances and without, judged or not, before the first piece and after the last."""
    frame = drawn(ui, replay.seen_in(ui), glyphs, width, height)
    assert [get_cwidth(plain(line)) for line in frame.lines] == [width] * height
    assert not glyphs.ascii or seen.text_of(frame).isascii()


def test_a_small_window_has_them_in_one_line() -> None:
    """In place of the hand; how far the analysis is stands beside them as long as it runs."""
    ui = shown(3, 22)
    text = screen(ui, 60, 18)
    assert " E  42%  S  26%  L  32% " in text
    assert "CHANCES" not in text
    assert "/36" not in text
    assert "20/36 |" in screen(shown(3, 22, judged=20), 40, 12)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40), st.integers(1, 4))
def test_a_higher_chance_is_drawn_higher(chances: list[float], height: int) -> None:
    """In cells of eight parts, and as a digit in ASCII; nobody vanishes."""
    people = People.ETRUSCANS
    rows = [plain(row) for row in replay.curve_lines(chances, 0, people, UNICODE, height)]
    assert [len(row) for row in rows] == [len(chances)] * height
    levels = [sum(_LEVELS.index(row[at]) for row in rows) for at in range(len(chances))]
    assert all(levels)
    (digits,) = (plain(row) for row in replay.curve_lines(chances, None, people, ASCII, height))
    for low, high in zip(sorted(range(len(chances)), key=chances.__getitem__), sorted(levels), strict=True):
        assert levels[low] == high
    assert sorted(digits) == [digits[at] for at in sorted(range(len(chances)), key=chances.__getitem__)]


@pytest.mark.parametrize("colours", [Colours.SIXTEEN, Colours.MANY, Colours.TRUE])
@pytest.mark.parametrize("people", People)
def test_a_chance_is_drawn_in_the_colour_of_the_people(people: People, colours: Colours) -> None:
    """What a people does not have stays empty, except where a cell marks the moment shown."""
    style = style_for(Colouring(Theme.DARK, colours))
    chip = style.get_attrs_for_style_str(people_style(people))
    for row in replay.curve_lines([0.0, 0.5, 1.0, 0.9], 3, people, UNICODE, 3):
        (curve, _text, _click), (here, *_rest), *_after = row
        bar, marked = map(style.get_attrs_for_style_str, (curve, here))
        assert (bar.color, bar.bgcolor, bar.reverse) == (chip.bgcolor, "", False)
        assert (marked.color, marked.bgcolor, marked.reverse) == (chip.color, chip.bgcolor, True)


@given(st.integers(1, 60), st.integers(8, 60), st.sets(st.integers(0, 59), max_size=4))
def test_all_of_the_game_fits_with_what_matters(count: int, width: int, keep: set[int]) -> None:
    """The first and the last moment, unless what matters needs the cell, and every moment that matters."""
    kept = {moment for moment in keep if moment < count}
    cells = replay.moments_shown(count, width, kept)
    assert len(cells) == min(count, width)
    assert cells == sorted(cells)
    assert kept <= set(cells)


def test_marks_stand_below_their_moments() -> None:
    """What decided, and where one is; that gives way."""
    assert plain(replay.marks_line(6, 4, [1, 5])) == " ^  |^"
    assert plain(replay.marks_line(3, 1, [1])) == " ^ "
    assert width_of(replay.marks_line(3, None, [])) == 3


def scoring() -> tuple[Ui, TableModel]:
    return seen.client_of(played(GameOptions(3, random_layout=True), 11), 0)


def test_autoplay_shows_every_step_long_enough_to_read() -> None:
    ui, model = scoring()
    ui = seen.after(ui, model, ">")
    reached, ticks = [0], {0: 0}
    while ui.ticks_left is not None:
        ticks[seen.shown_step(ui, model)] += 1
        ui = after_tick(ui, model)
        if (step := seen.shown_step(ui, model)) != reached[-1]:
            reached.append(step)
            ticks[step] = 0
    view = seen.view_of(model)
    left_out = {*range(last_step(view) + 1)}.difference(reached)
    assert left_out
    assert reached == sorted(reached)
    for number in left_out:  # but of a hill about which there is no doubt, the pieces are
        step = steps(view)[number]
        assert step.counting is not None
        assert isinstance(step.event, HillScored)
        best, second, *_others = sorted(step.event.influence, reverse=True)
        assert best >= 2 * second
    for step in reached[:-1]:
        sentence = scene(view, step, names_at(model)).sentence
        assert ticks[step] >= max(2, len(sentence) / 20)
    assert after_tick(ui, model) == ui


def test_any_key_stops_autoplay_and_acts_if_it_has_another_meaning() -> None:
    ui, model = scoring()
    autoplaying = seen.at_scoring_step(seen.after(ui, model, ">"), model, 4)
    stopped = replace(autoplaying, ticks_left=None)
    for key in ("enter", " ", "Z", "f12"):
        assert after_key(autoplaying, key, model) == (stopped, None)
    assert seen.after(autoplaying, model, "left") == seen.at_scoring_step(stopped, model, 3)
    assert seen.after(autoplaying, model, "?").ticks_left is None


def test_the_same_key_makes_autoplay_faster() -> None:
    """Three speeds, and then the first again; every step is shown for a second at least."""
    ui, model = scoring()
    waits = []
    running = seen.at_scoring_step(seen.after(ui, model, ">"), model, 9)
    for speed in (2, 3, 1):
        running = seen.after(running, model, ">")
        assert f"speed {speed} of 3" in seen.screen_of(running, model)
        waits.append(running.ticks_left)
    fast, fastest, first = (ticks or 0 for ticks in waits)
    assert 1 <= fastest < fast < first
    stopped = seen.after(seen.after(running, model, ">"), model, "Z")
    assert seen.after(stopped, model, ">").speed == 1  # it goes on as fast as before


def test_a_narrow_window_says_how_to_stop_autoplay() -> None:
    ui, model = scoring()
    bar = seen.screen_of(seen.after(ui, model, ">"), model, 40, 12).splitlines()[-1]
    assert bar.strip(" |") == ">: next speed; any other key stops it."


def test_a_title_that_a_narrow_window_cuts_ends_in_dots() -> None:
    title = screen(after(start(), "right"), 36, 12).splitlines()[0]
    assert title.rstrip(" |").endswith("...")


def test_a_narrow_window_says_whom_the_player_follows() -> None:
    together = replay.in_company(after(start(), "right"), replay.Companions("Ann", follows=True))
    assert "you follow Ann" in screen(together, 40, 12).splitlines()[0]


def test_a_narrow_window_says_whose_view_it_is_and_which_hill_is_scored() -> None:
    assert "seen by Ann" in screen(after(start(), "right", "1"), 40, 12).splitlines()[0]
    scored = screen(after(start(), "end", "left"), 40, 12).splitlines()[0]
    assert scored.startswith(" scoring hill G")


def test_a_click_anywhere_stops_autoplay() -> None:
    ui, model = scoring()
    autoplaying = seen.after(ui, model, ">")
    frame = drawn(autoplaying, model, UNICODE, 80, 24)
    assert "any other key stops it" in seen.text_of(frame)
    for column, line in ((0, 0), (79, 23), (40, 12)):
        action = frame.action_at(column, line)
        assert action is not None
        assert updated(autoplaying, action, model) == (replace(autoplaying, ticks_left=None), None)
    assert frame.lines[:-1] == drawn(ui, model, UNICODE, 80, 24).lines[:-1]  # the rest is not written again


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
    assert after_key(ui, ">", seen_in(ui)) == (ui, None)


@given(finished_games())
def test_each_step_shows_the_board_of_its_moment(game: Game) -> None:
    """R5.4: soldiers act on the board before them, and influence counts on the board after them.

    R7.1: at the end, everybody's points are those of the result.
    """
    view = game.view
    assert view.result is not None
    last = scene(view, last_step(view), seen.NAMES)
    assert last.points == tuple(tally.points for tally in view.result.tallies)
    assert scene(view, 0, seen.NAMES).points == (0,) * view.seats
    for number, step in enumerate(steps(view)):
        event, shown = step.event, scene(view, number, seen.NAMES)
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
        shown = scene(view, number, seen.NAMES)
        event = step.event
        if step.counting is not None:
            assert sum(map(int, shown.marks.notes.values())) == step.counting.amount
            assert str(step.counting.amount) in shown.sentence or not step.counting.amount
        elif isinstance(event, HillScored):
            for seat in range(view.seats):
                total = sum(piece.amount for piece in step.counted if piece.seat == seat)
                assert total == event.influence[seat]
