"""The menu of a table and the commands that do the same, and everything that counts down at a table."""

import contextlib
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from client.language import LANGUAGES, _, speaking
from client.tables.table import Happened, HeardRemark, TableChanged, TableModel
from client.typed_text import BadText
from client.ui import requests
from client.ui.at_table import next_vote
from client.ui.draw.page import asked_question, describe_outage, seat_note, vote_question
from client.ui.frame import plain
from client.ui.keys import Act
from client.ui.requests import FOR_WHOEVER_COMES
from client.ui.screens import actions, typed_commands
from client.ui.screens.action import Action, May
from client.ui.screens.actions import ACTIONS, MENU, PAUSE_UNTIL
from client.ui.screens.dispatch import after_key
from client.ui.screens.lobby import LobbyPage
from client.ui.screens.menu import At, Menu, Page
from client.ui.screens.news import (
    after_update,
    at_other_table,
    at_table_page,
    occasions,
    with_name_refusal,
    with_refusal,
)
from client.ui.screens.playing import Ended
from client.ui.screens.screen import drawn, keys_offered
from client.ui.state import Mute, Offers, Outage, TalkLog, TypedLine, Ui
from client.ui.texts.glyphs import UNICODE
from client.ui.texts.tables import ROWS, Row, describe_absence
from client.ui.texts.times import WEEKDAYS, moment_named
from engine.board import Field
from engine.events import LayTile, Place, Placed, TakenBack, TileLaid
from engine.game import GameOptions
from engine.pieces import People, Piece, Seat
from engine.redaction import snapshot
from engine.view import eyes_of
from protocol import messages
from protocol.absence import ByBot, LongClock, MoveClock
from protocol.codes import Code
from protocol.events import snapshot_message
from protocol.limits import MOST_PLANS
from protocol.messages import NEW, ChangeSetting, Condition, PlannedMove
from protocol.settings import (
    USUAL,
    AbsenceSetting,
    Hints,
    Holidays,
    Private,
    Quiet,
    Spectators,
    Starting,
    Switches,
    Title,
)
from tests.cases import cases
from tests.client.ui import seen
from tests.client.ui.seen import typed
from tests.games import played

WATCHING = [messages.SpectatorSummary(1, "Zoe"), messages.SpectatorSummary(7)]


def gathering(seat: int | None = 0) -> tuple[Ui, TableModel]:
    seats = [
        messages.SeatSummary("Ann", here=True),
        messages.SeatSummary("Bob", here=True),
        messages.SeatSummary(),
    ]
    state = messages.TableState("KXQT", "gathering", seats, 0, spectators=2, watching=WATCHING)
    return Ui("Ann"), TableModel("KXQT", None if seat is None else Seat(seat), state=state)


def table(model: TableModel) -> messages.TableState:
    assert model.state is not None
    return model.state


def running(seat: int = 0) -> tuple[Ui, TableModel]:
    """Return a game of three whose third player is away."""
    return seen.client_of(
        seen.played_until_turn_of(played(GameOptions(3, random_layout=True), 1, 6), seat), seat, away=2
    )


BARE = Ui("Ann", offers=Offers(levels=("random", "greedy")))


def effects(page: Page, model: TableModel) -> list[object]:
    return [choice.effect for choice in page.lines(At(BARE, model))]


def effect_chosen(ui: Ui, model: TableModel) -> object:
    """Return the effect of the line that the player is on in the menu."""
    assert isinstance(ui.overlay, Menu)
    return [choice.effect for choice in ui.overlay.page.lines(At(ui, model))][ui.overlay.chosen]


def test_a_bot_is_no_player_in_the_menu() -> None:
    seats = [
        messages.SeatSummary("Ann", here=True),
        messages.SeatSummary("greedy-1", here=True, level="greedy"),
    ]
    cases: tuple[tuple[messages.Stage, list[object]], ...] = (
        ("gathering", [messages.Remove(NEW, 1)]),
        ("playing", []),
    )
    for stage, removed in cases:
        state = messages.TableState("KXQT", stage, seats, 0)
        model = TableModel("KXQT", Seat(0), state=state)
        assert effects(actions.REMOVE, model) == removed
        assert effects(actions.HAND_OVER, model) == effects(actions.SUBSTITUTE, model) == []
        assert effects(actions.BOT, model) == [
            messages.SeatBot(NEW, "random"),
            messages.SeatBot(NEW, "greedy"),
        ]
        assert actions.BOT not in effects(MENU, model)


def test_the_host_finds_everything_in_the_menu() -> None:
    _, model = gathering()
    assert {*seen.MENU_PAGES} - {MENU, actions.SUBSTITUTE, actions.END} <= set(effects(MENU, model))
    _, model = running()
    assert {actions.SUBSTITUTE, actions.REMOVE, actions.HAND_OVER, actions.ABSENCE, actions.END} <= set(
        effects(MENU, model)
    )
    assert effects(actions.SUBSTITUTE, model) == [messages.SubstituteNow(NEW, 2)]
    assert effects(actions.REMOVE, model) == [messages.Remove(NEW, 2)]
    assert effects(actions.HAND_OVER, model) == [messages.HandOver(NEW, 1)]
    assert messages.EndGame(NEW) in effects(actions.END, model)


@pytest.mark.parametrize("seat", [1, None])
def test_others_only_see_how_the_table_is_set_up(seat: int | None) -> None:
    """A player can be ready, sit elsewhere and choose a people besides; spectators open another table."""
    _, model = gathering(seat)
    own = [] if seat is None else [messages.SayReady(NEW, on=True), actions.SEAT, actions.PEOPLE]
    opens = [FOR_WHOEVER_COMES] if seat is None else []
    lines, hosts = ([*MENU.lines(At(BARE, each))] for each in (model, gathering()[1]))
    assert [line.effect for line in lines if line.effect is not None] == [
        *own,
        actions.SIGN,
        actions.MUTE,
        *opens,
    ]
    set_up = [line.text for line in hosts if isinstance(line.effect, ChangeSetting)]
    assert {*set_up} <= {line.text for line in lines if line.effect is None}


def test_what_only_the_host_may_is_said_below_the_lines() -> None:
    """Indented as they are."""
    ui, model = running(1)
    rows = seen.screen_of(seen.after(ui, model, "o"), model).splitlines()
    assert any(row.startswith("  Only the host, Ann, can") for row in rows)


@pytest.mark.parametrize("place", ["gathering", "running", "over", "lobby"])
def test_the_help_has_all_that_can_be_typed(place: str) -> None:
    known = {"gathering": gathering, "running": running, "over": seen.over}
    at = At(BARE, known[place]()[1] if place in known else seen.LOBBY)
    rows = (*typed_commands.help_on_commands(at), *typed_commands.help_on_hosting(at))
    shown = {word for typed, _words in rows for word in re.findall(r"[\w*-]+", typed)}
    typed_now = {line.split()[0] for line in typed_commands.completions("", at)}
    assert typed_now - {line for line in typed_now if re.fullmatch("[ESLMA]?[mfs][*]?", line)} <= shown


def test_only_the_host_of_other_people_reads_what_hosts_can_type() -> None:
    alone = replace(BARE, offers=Offers(private=True))
    assert typed_commands.help_on_hosting(At(BARE, gathering(0)[1]))
    for ui, seat in ((BARE, 1), (BARE, None), (alone, 0)):
        assert not typed_commands.help_on_hosting(At(ui, gathering(seat)[1]))


def test_nobody_else_can_be_made_host_in_a_game_against_bots_alone() -> None:
    """They hold their seats as players do, but the server would refuse them."""
    ui, model = running()
    for alone in (False, True):
        here = replace(ui, offers=Offers(private=alone))
        assert (actions.HAND_OVER in [line.effect for line in MENU.lines(At(here, model))]) != alone


def test_a_sign_is_in_menu_and_help_only_if_others_see_it() -> None:
    ui, model = running()
    for alone in (False, True):
        here = replace(ui, offers=Offers(private=alone))
        assert (actions.SIGN in [line.effect for line in MENU.lines(At(here, model))]) != alone
        keys = " ".join(map(seen.text_of, seen.reading_pages(here, model, Act.HELP)))
        assert ("give a sign to everybody" in keys) != alone


@pytest.mark.parametrize("seat", [0, 1, None])
@pytest.mark.parametrize("stage", ["gathering", "playing", "over"])
def test_what_is_not_possible_is_offered_nowhere(stage: messages.Stage, seat: int | None) -> None:
    """Not in the menu, except how the table is set up, not while typing, and not in the function bar."""
    game = {"playing": seen.placing, "over": seen.over}
    ui, model = game[stage]() if stage in game else gathering()
    model.seat = None if seat is None else Seat(seat)
    at = At(replace(ui, offers=BARE.offers), model)
    lines = {line for line in MENU.lines(at) if line.effect is not None}
    typed_now = typed_commands.completions("", at)
    offered = {key.action for key in keys_offered(at_table_page(*at), model)}
    for action in ACTIONS:
        if action.may(at) is May.YES:
            assert {*action.menu(at)} <= lines
            assert {*action.lines(at)} <= {*typed_now}
        else:
            assert lines.isdisjoint(action.menu(at))
            assert not [line for line in typed_now if line.split()[0] == action.verb != "lay"]
            assert {key.action for key in action.keys}.isdisjoint(offered)


@pytest.mark.parametrize(
    "action", [each for each in ACTIONS if "lobby" not in each.stages], ids=lambda action: action.verb
)
def test_every_example_of_a_command_can_be_typed(action: Action) -> None:
    """As the help shows it, and as a line that makes no sense is answered."""
    _, model = running() if "playing" in action.stages else gathering()
    seen.change(model, holidays=7, pause_asked=[1])
    for example in action.example.split(", "):
        typed_commands.meaning(example.replace("Bob", "2"), At(BARE, model))
    with pytest.raises(BadText):
        typed_commands.meaning(f"{action.verb} {'?' * 99}", At(BARE, model))


def test_ready_is_said_and_taken_back() -> None:
    ui, model = gathering(1)
    assert seen.request_after(ui, model, "r") == messages.SayReady(NEW, on=True)
    ann, bob, free = table(model).seats
    seen.change(model, seats=[ann, structs.replace(bob, ready=True), free])
    assert seen.request_after(ui, model, "r") == messages.SayReady(NEW, on=False)
    assert messages.SayReady(NEW, on=False) in effects(MENU, model)
    model.seat = None
    assert "watching" in seen.notice_of(seen.after(ui, model, "r"))


def test_a_people_is_chosen() -> None:
    """By a key, in the menu, and typed by letter or name; not one that another player has chosen."""
    ui, model = gathering(1)
    ann, bob, free = table(model).seats
    seats = structs.replace(ann, people="M", chosen=True), structs.replace(bob, people="S"), free
    seen.change(model, seats=[*seats])
    assert effect_chosen(seen.after(ui, model, "d"), model) == messages.ChoosePeople(NEW, People.SABINES)
    taken = seen.on_line(None, ui, model, actions.PEOPLE)
    assert seen.request_after(taken, model, "enter") is None
    assert effects(actions.PEOPLE, model) == [
        *(messages.ChoosePeople(NEW, People(letter)) if letter != "M" else None for letter in "ESLMA"),
        messages.ChoosePeople(NEW, None),
    ]
    assert seen.request_after(ui, model, *typed("people a")) == messages.ChoosePeople(NEW, People.ARCADIANS)
    assert {"people Sabines", "people any"} <= set(typed_commands.completions("people ", At(BARE, model)))
    assert "people Marsi" not in typed_commands.completions("people ", At(BARE, model))
    model.seat = None
    assert "watching" in seen.notice_of(seen.after(ui, model, "d"))


def test_a_pause_is_asked_for_agreed_to_and_ended() -> None:
    """By the same key, in the menu, and typed; everybody reads whose pause it is, and clocks are stopped."""
    ui, model = running()
    assert seen.request_after(ui, model, "p") == messages.AskPause(NEW, on=True)
    assert seen.request_after(ui, model, *typed("pause off")) == messages.AskPause(NEW, on=False)
    ui = seen.after_change(ui.with_notice("Too early."), model, pause_asked=[1])
    assert ui.notice is None  # which would hide the question
    assert seen.request_after(ui, model, "p") == messages.AskPause(NEW, on=True)
    assert "asks for a pause" in ui.log[-1]
    assert "y: yes, n: no" in asked_question(ui, model)
    seen.change(model, pause_asked=[1, 0])
    assert seen.request_after(ui, model, "p") == messages.AskPause(NEW, on=False)
    assert "n: no longer agree" in asked_question(ui, model)
    paused = messages.PauseSummary(1, 20, 580)
    ui = seen.after_change(ui.with_notice("Too early."), model, pause_asked=[], paused=paused)
    assert ui.notice is None
    assert "has paused the game" in ui.log[-1]
    assert "9:40" in asked_question(ui, model)
    for seat, later, can_end in (0, 0, True), (2, 0, False), (2, 100, True):  # the host, and somebody else
        model.seat = Seat(seat)
        assert ("p: play on" in asked_question(replace(ui, now=ui.now + later), model)) == can_end
    model.seat = Seat(0)
    assert messages.AskPause(NEW, on=False) in effects(MENU, model)
    model.clock = 60_000
    assert seat_note(replace(ui, now=ui.now + 30), model, Seat(0)) == "1:00"
    assert seen.after_change(ui, model, paused=None).log[-1] == "The game continues."
    model.seat = None
    assert "Only the players" in seen.notice_of(seen.after(ui, model, "p"))


@pytest.mark.parametrize("at_turn", [seen.placing, seen.laying])
def test_a_paused_game_says_so_until_the_pause_is_over(at_turn: Callable[[], tuple[Ui, TableModel]]) -> None:
    """In the title, which does not call the player; a move is refused with the reason, which then goes."""
    ui, model = at_turn()
    legal = model.legal
    assert "Your turn" in seen.screen_of(ui, model).splitlines()[0]
    ui = seen.after_change(ui, model, paused=messages.PauseSummary(1, 20, 580))
    model.legal = None
    assert seen.screen_of(ui, model).count("has paused the game") == 1  # the log says so, too
    for size in ((80, 24), (40, 12)):
        frame = drawn(ui, model, UNICODE, *size)
        title = plain(frame.lines[0])
        assert "the game is paused" in title
        assert "turn" not in title + frame.window
        assert Act.CONFIRM not in seen.actions_of(frame)
    assert not [each for each in occasions(model) if each.what.startswith("turn")]
    for refused in (seen.after(ui, model, "enter"), with_refusal(ui, _(Code.PAUSED.text), Code.PAUSED)):
        assert seen.is_refused(refused)
        assert "The game is paused." in seen.notice_of(refused)
        after = seen.after_change(refused, model, paused=None)
        assert after.notice is None
        seen.change(model, paused=messages.PauseSummary(1, 20, 580))
    seen.change(model, paused=None)
    model.legal = legal
    assert "Your turn" in seen.screen_of(ui, model).splitlines()[0]
    assert [each for each in occasions(model) if each.what.startswith("turn")]


def test_the_prompt_knows_the_words_for_keys_and_names_the_nearest() -> None:
    ui, model = seen.placing()
    seen.change(model, switches=Switches(hints=True))
    assert seen.request_after(ui, model, *typed("hint")) is requests.Errand.HINT
    assert isinstance(seen.after(ui, model, *typed("menu")).overlay, Menu)
    assert "IF COUNTED NOW" in seen.screen_of(seen.after(ui, model, *typed("count")), model)
    assert "No game" in seen.notice_of(seen.after(Ui("Ann"), TableModel(), *typed("count")))
    for wrong, meant in (("hitn", "hint"), ("palce m C4", "place"), ("leav", "leave")):
        told = seen.notice_of(seen.after(ui, model, *typed(wrong)))
        assert told == f"'{wrong}' is not a command. Do you mean {meant}?"


def test_a_pause_until_a_moment_is_asked_for_in_words_and_told_in_local_time() -> None:
    ui, model = running()
    moment = int(datetime(2026, 11, 27, 20, 0, tzinfo=UTC).timestamp())
    asked = seen.request_after(ui, model, *typed("pause until 2026-11-27 20:00"))
    assert asked == messages.AskPause(NEW, on=True, until=moment)
    assert "friday 20:00" in seen.notice_of(seen.after(ui, model, *typed("pause until easter")))
    assert PAUSE_UNTIL in effects(MENU, model)
    ui = seen.after_change(ui, model, pause_asked=[1], asked=messages.Asked("pause", [1], until=moment))
    told = "Bob asks for a pause until Friday 2026-11-27 20:00: everybody must agree."
    assert ui.log[-1] == told
    assert asked_question(ui, model) == f"{told} y: yes, n: no"
    assert seen.request_after(replace(ui, now=ui.now + 1), model, "y") == messages.AskPause(NEW, on=True)
    assert PAUSE_UNTIL not in effects(MENU, model)
    told = "The game is paused until Friday 2026-11-27 20:00: Bob has asked for it."
    paused = messages.PauseSummary(1, 20, 580, moment)
    assert seen.after_change(ui, model, pause_asked=[], asked=None, paused=paused).log[-1] == told
    assert asked_question(ui, model) == f"{told} p: play on"


def test_a_holiday_is_taken_announced_and_ended() -> None:
    """In the menu and typed; its clock is stopped, and the host says how many days there are."""
    ui, model = running()
    assert not any(isinstance(each, messages.TakeHoliday) for each in effects(MENU, model))
    notice = seen.after(ui, model, *typed("holiday")).notice
    assert notice is not None
    assert "no holidays in this game" in notice.text
    seats = [structs.replace(each, holidays=7) for each in table(model).seats]
    seen.change(model, absence=MoveClock(86_400), holidays=7, seats=seats)
    assert seen.request_after(ui, model, *typed("holiday")) == messages.TakeHoliday(NEW, on=True)
    assert seen.request_after(ui, model, *typed("holiday off")) == messages.TakeHoliday(NEW, on=False)
    assert seen.request_after(ui, model, *typed("holidays 10")) == messages.ChangeSetting(NEW, Holidays(10))
    assert seen.after(ui, model, *typed("holidays 99")).notice is not None
    texts = [choice.text for choice in MENU.lines(At(BARE, model))]
    assert "take a holiday (7 days): your clock stops until you move or end it" in texts
    assert "holiday of each player: 7 days" in texts
    until = int(datetime(2026, 11, 27, 20, tzinfo=UTC).timestamp())
    away = structs.replace(seats[0], holiday_until=until)
    told = "Ann is on holiday, until Friday 2026-11-27 20:00 at the latest."
    assert seen.after_change(ui, model, seats=[away, *seats[1:]]).log[-1] == told
    assert messages.TakeHoliday(NEW, on=False) in effects(MENU, model)
    seen.change(model, holidays=0)  # by the host, who has no say in when a holiday ends
    assert seen.request_after(ui, model, *typed("holiday off")) == messages.TakeHoliday(NEW, on=False)
    seen.change(model, holidays=7)
    model.clock = 60_000
    assert seat_note(replace(ui, now=ui.now + 30), model, Seat(0)) == "holiday 1:00"
    assert seen.after_change(ui, model, seats=seats).log[-1] == "Ann is no longer on holiday."
    told = "From now on: holiday of each player: 10 days."
    assert seen.after_change(ui, model, holidays=10).log[-1] == told
    assert describe_absence(table(model)) == "1 day per move, then a bot makes it; holiday: 10 days"


@pytest.mark.parametrize(("text", "moment"), cases(__file__, "moments"))
def test_a_moment_is_the_next_one_that_the_words_fit(text: str, moment: str) -> None:
    now = datetime(2026, 11, 25, 18, 30, 10, tzinfo=UTC)  # a Wednesday
    with speaking("it"), contextlib.nullcontext() if moment != "none" else pytest.raises(BadText):
        assert f"{datetime.fromtimestamp(moment_named(text, now), UTC):%m-%d %H:%M}" == moment


@pytest.mark.parametrize("language", LANGUAGES)
def test_two_letters_are_enough_to_name_a_day(language: str) -> None:
    """In the language in use, and in English: no two days of both begin alike."""
    now = datetime(2026, 11, 25, 18, 30, 10, tzinfo=UTC)
    with speaking(language):
        for number, name in enumerate(WEEKDAYS):
            for each in {name, _(name)}:
                moment = datetime.fromtimestamp(moment_named(f"{each[:2].lower()} 20:00", now), UTC)
                assert moment.weekday() == number, each


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 12)])
def test_a_request_says_who_agrees_and_who_is_still_asked(size: tuple[int, int]) -> None:
    """As a box wherever there is room, with the keys that answer; so does the log, of each who agrees."""
    ui, model = running()
    model.seat = Seat(1)
    ui = seen.after_change(ui, model, asked=messages.Asked("take-back", [0]), still_asked=[1, 2])
    ui = seen.after_change(ui, model, asked=messages.Asked("take-back", [0, 2]), still_asked=[1])
    assert ui.log[-1] == "Cosima says yes."
    shown = " ".join(plain(row) for row in drawn(ui, model, UNICODE, *size).lines)
    assert "Agreed so far: Cosima. Still asked: Bob." in asked_question(ui, model)
    words = ("Still", "asked:") if size == (40, 12) else ("Cosima: yes", "Bob ...", "y: yes, n: no")
    assert all(each in shown.replace("\xa0", " ") for each in (*words, "y yes", "n no"))


@pytest.mark.parametrize("key", ["y", "n"])
def test_a_key_that_moved_over_the_board_answers_only_what_can_have_been_read(key: str) -> None:
    ui, model = running()
    model.seat = Seat(1)
    moved = seen.after(ui, model, key)
    assert moved.page != ui.page
    ui = seen.after_change(ui, model, asked=messages.Asked("take-back", [0]), still_asked=[1, 2])
    assert seen.request_after(ui, model, key) is None
    assert "Press the key again" in seen.notice_of(seen.after(ui, model, key))
    answer = messages.Ask(NEW, "take-back", on=key == "y")
    assert seen.request_after(replace(ui, now=ui.now + 1), model, key) == answer


def test_a_move_is_taken_back_among_people() -> None:
    """Asked for, agreed to, refused and withdrawn by keys, in the menu, and typed; everybody reads of it."""
    ui, model = running()
    assert "no move" in seen.notice_of(seen.after(ui, model, "z"))
    seen.change(model, may_ask=["pause", "take-back", "more-time"])
    fields = seen.view_of(model).since(Seat(0))
    yes, no = messages.Ask(NEW, "take-back", on=True), messages.Ask(NEW, "take-back", on=False)
    more_time = messages.Ask(NEW, "more-time", on=True)
    assert seen.request_after(ui, model, "z") == seen.request_after(ui, model, *typed("undo")) == yes
    assert seen.request_after(ui, model, *typed("time")) == more_time
    assert {yes, more_time} <= set(effects(MENU, model))
    ui = seen.after_change(ui, model, asked=messages.Asked("take-back", [0]))
    assert "asks to take back" in ui.log[-1]
    ui = replace(ui, now=ui.now + 1)
    assert seen.request_after(ui, model, "n") == seen.request_after(ui, model, "z") == no
    assert "take back Ef on C4 and the 2 pieces since" in asked_question(ui, model)
    assert "n: withdraw the request" in asked_question(ui, model)
    model.seat = Seat(1)
    assert "y: yes, n: no" in asked_question(ui, model)
    for ways, wanted in (("y", typed("vote yes")), yes), (("n", typed("vote no")), no):
        assert {seen.request_after(ui, model, *keys) for keys in ways} == {wanted}
    assert {yes, no} <= set(effects(MENU, model))
    assert any(each.what == "take-back 0" for each in occasions(model))
    assert "Agreed" not in asked_question(ui, model)
    seen.change(model, asked=messages.Asked("take-back", [0, 1]))
    assert "Agreed so far: Bob." in asked_question(ui, model)
    seen.change(model, asked=messages.Asked("take-back", [0]))
    for answer, told in (
        (messages.Asked("take-back", [0], refused=1), "Bob says no."),
        (messages.Asked("take-back", [0], refused=0), "Ann has withdrawn the request."),
        (messages.Asked("more-time", [0, 1], granted=True), "Ann has more time."),
    ):
        assert seen.after_change(ui, model, asked=answer).log[-1] == told
        assert asked_question(ui, model) == ""
        seen.change(model, asked=messages.Asked("take-back", [0]))
    seen.change(model, asked=None)
    assert seen.request_after(ui, model, "n") is None  # which moves over the board again
    event = TakenBack(Seat(0), fields)
    seen.view_of(model).fold(event)
    assert after_update(ui, Happened((event,), 9), model).log[-1] == f"Ann takes back: {', '.join(fields)}."


def test_a_player_leaves_an_address_confirms_it_and_removes_it() -> None:
    ui, model = gathering(1)
    assert not any("called" in each.text for each in MENU.lines(At(BARE, model)))
    ui = replace(ui, offers=structs.replace(ui.offers, notices=("mail", "url")))
    at = len(effects(MENU, model))

    def chosen() -> Ui:
        return ui.opened(Menu(MENU, at))

    def told(state: Literal["unconfirmed", "unreachable", "confirmed"]) -> Ui:
        (update,) = model.take(messages.Notices(state, "url"))
        return after_update(ui, update, model)

    opened = seen.after(chosen(), model, "enter")
    assert seen.line_of(opened) == "notify "
    address = "https://ntfy.sh/Ann"
    assert seen.request_after(opened, model, *typed(address)[1:]) == messages.CallMe(NEW, address)
    ui = told("unconfirmed")
    assert "notify 123456" in ui.log[-1]
    opened = seen.after(chosen(), model, "enter")
    assert seen.request_after(opened, model, *typed("123456")[1:]) == messages.ConfirmCall(NEW, "123456")
    assert seen.request_after(ui, model, *typed("notify 123456")) == messages.ConfirmCall(NEW, "123456")
    ui = told("unreachable")
    assert "could not be delivered" in ui.log[-1]
    ui = told("confirmed")
    assert "Your URL gets a notification" in ui.log[-1]
    assert seen.request_after(chosen(), model, "enter") == messages.CallMe(NEW)
    assert seen.request_after(ui, model, *typed("notify off")) == messages.CallMe(NEW)
    assert model.take(messages.Notices("confirmed", "url")) == ()


def test_a_player_moves_to_a_free_seat() -> None:
    _, model = gathering(1)
    assert effects(actions.SEAT, model) == [messages.ChangeSeat(NEW, 2)]
    seen.change(model, seats=table(model).seats[:2])
    assert actions.SEAT not in effects(MENU, model)


def test_the_menu_is_walked_and_closed() -> None:
    """Every line does what it says, wherever it stands."""
    ui, model = gathering()
    for page in (MENU, actions.STARTING, actions.PEOPLE):
        for effect in effects(page, model):
            if not isinstance(effect, Page | TypedLine | None):
                assert seen.request_after(seen.on_line(effect, ui, model, page), model, "enter") == effect
    on_page = seen.after(seen.on_line(actions.STARTING, ui, model), model, "enter")
    assert on_page.overlay == Menu(actions.STARTING)
    assert effect_chosen(seen.after(on_page, model, "escape"), model) is actions.STARTING
    assert seen.after(on_page, model, "escape", "escape").overlay is None
    assert seen.after(ui, model, "o", "o").overlay is None
    titled = seen.after(ui, model, "o", "enter", *"Friday")
    assert seen.request_after(titled, model, "enter") == messages.ChangeSetting(NEW, Title("Friday"))
    assert seen.request_after(seen.after(ui, model, "o", "enter"), model, "enter") == messages.ChangeSetting(
        NEW, Title("")
    )
    far = ui.opened(Menu(actions.SPECTATORS, 1))
    seen.change(model, watching=[])  # a line that is gone asks for nothing
    assert seen.after(far, model, "enter").overlay == far.overlay


def with_a_bot() -> tuple[Ui, TableModel]:
    ui, model = gathering()
    bot = messages.SeatSummary("greedy-1", here=True, level="greedy")
    seen.change(model, seats=[table(model).seats[0], bot])
    return ui, model


def watching() -> tuple[Ui, TableModel]:
    ui, model = seen.placing()
    return ui, replace(model, seat=None)


PLACES: dict[str, Callable[[], tuple[Ui, TableModel]]] = {
    "lobby": lambda: (Ui("Ann"), seen.LOBBY),
    "host": gathering,
    "bot": with_a_bot,
    "placing": seen.placing,
    "two peoples": lambda: seen.placing(2),
    "running": running,
    "watching": watching,
}


def if_d6_is_taken(*, seat: int | None = None, unless: bool = False) -> messages.Plan:
    return messages.Plan(NEW, plans=(PlannedMove("Em*", "C4", Condition("D6", seat, unless)),))


def test_plans_are_tried_in_order_and_never_replaced_unasked() -> None:
    """One on a condition comes before those without; in whose place one goes is asked."""
    ui, model = seen.placing()
    always, other = PlannedMove("Em", "C4"), PlannedMove("Ef", "D1")
    taken = PlannedMove("Es", "B1", Condition("D6"))
    model.plans = (always,)
    assert seen.request_after(ui, model, *typed("plan s b1 if somebody takes d6")) == messages.Plan(
        NEW, plans=(taken, always)
    )
    model.plans = (taken, always)
    asks = seen.after(ui, model, *typed("plan f d1"))
    assert "in place of plan 2: otherwise Em on C4" in seen.screen_of(asks, model)
    for keys, plans in (
        (["enter"], (taken, always, other)),
        (["down", "down", "enter"], (PlannedMove("Ef", "D1", taken.condition), always)),
        (["down", "down", "down", "enter"], (taken, other)),
    ):
        assert seen.request_after(asks, model, *keys) == messages.Plan(NEW, plans=plans)
    assert seen.request_after(asks, model, "escape") is None
    assert seen.request_after(ui, model, *typed("plan remove 1")) == messages.Plan(NEW, "Em", "C4")
    shown = seen.after(ui, model, *typed("plans"))
    assert "if somebody takes D6, Es on B1" in seen.screen_of(shown, model)
    first = messages.Plan(NEW, plans=(always, taken))
    assert seen.request_after(shown, model, "down", "enter", "enter") == first
    assert seen.is_refused(seen.after(ui, model, *typed("plan remove 3")))
    model.plans = (taken,) * MOST_PLANS
    assert seen.is_refused(seen.after(ui, model, *typed("plan f d1")))


ASKED_BY_LINES: dict[str, dict[str, object]] = {
    "two peoples": {
        "m* C4": Place(Seat(0), Piece("Em*"), Field("C4")),
        "place F a1": Place(Seat(0), Piece("Ef"), Field("A1")),
        "Lm* C4": Place(Seat(0), Piece("Lm*"), Field("C4")),
        "es g6": Place(Seat(0), Piece("Es"), Field("G6")),
        "lay 3 2": LayTile(Seat(0), 3, 2),
        "lay 3": LayTile(Seat(0), 3, 0),
        "say  m* C4 ": messages.Say(NEW, "m* C4"),
        "plan m* c4": messages.Plan(NEW, "Em*", "C4"),
        "plan off": messages.Plan(NEW),
        "plan m* c4 if bob takes d6": if_d6_is_taken(seat=1),
        "plan m* c4 if somebody takes D6": if_d6_is_taken(),
        "plan m* c4 If nobody takes D6": if_d6_is_taken(unless=True),
        "plan m* c4 unless 2 takes D6": if_d6_is_taken(seat=1, unless=True),
        "leave": messages.Leave(NEW),
        "start": messages.StartGame(NEW),
        "join kxqt": requests.Join("KXQT"),
        "watch KXQT": requests.WatchTable("KXQT"),
        "open 4": requests.Open(4),
        "open 2 random": requests.Open(2, random_layout=True),
        "open starts:4 4": requests.Open(4, starting=Seat(3)),
        "open 2 starts:Me random": requests.Open(2, random_layout=True, starting=Seat(0)),
        "open starts:random": requests.Open(2, grows=True),
    },
    "host": {
        "ready": messages.SayReady(NEW, on=True),
        "ready off": messages.SayReady(NEW, on=False),
        "pause": messages.AskPause(NEW, on=True),
        "seat 3": messages.ChangeSeat(NEW, 2),
        "people Sabines": messages.ChoosePeople(NEW, People.SABINES),
        "people any": messages.ChoosePeople(NEW, None),
        "title The Friday game": messages.ChangeSetting(NEW, Title("The Friday game")),
        "title": messages.ChangeSetting(NEW, Title("")),
        "private on": messages.ChangeSetting(NEW, Private(on=True)),
        "quiet on": messages.ChangeSetting(NEW, Quiet(on=True)),
        "spectators off": messages.ChangeSetting(NEW, Spectators(on=False)),
        "hints on": messages.ChangeSetting(NEW, Hints(on=True)),
        "hints off": messages.ChangeSetting(NEW, Hints(on=False)),
        "starts Bob": messages.ChangeSetting(NEW, Starting(1)),
        "starts random": messages.ChangeSetting(NEW, Starting(None)),
        "absence bot:60s": messages.ChangeSetting(NEW, AbsenceSetting(ByBot(60))),
        "swap 1 3": messages.Arrange(NEW, (2, 1, 0)),
        "swap ann bob": messages.Arrange(NEW, (1, 0, 2)),
        "shuffle": messages.Arrange(NEW),
        "remove bob": messages.Remove(NEW, 1),
        "remove zoe": messages.Dismiss(NEW, 1),
        "remove spectator 7": messages.Dismiss(NEW, 7),
        "host 2": messages.HandOver(NEW, 1),
        "stand-in Bob": messages.SubstituteNow(NEW, 1),
    },
    "bot": {
        "bot": messages.SeatBot(NEW, ""),
        "bot greedy": messages.SeatBot(NEW, "greedy"),
        "bot Greedy": messages.SeatBot(NEW, "greedy"),
        "bot remove greedy-1": messages.Remove(NEW, 1),
    },
    "lobby": {
        "open 4 random move-clock:30": requests.Open(4, random_layout=True, absence=MoveClock(30)),
        "open 2 starts:me": requests.Open(2, starting=Seat(0)),
        "open 2 starts:2": requests.Open(2, starting=Seat(1)),
    },
}


@pytest.mark.parametrize(
    ("place", "line"), [(place, line) for place, asked in ASKED_BY_LINES.items() for line in asked]
)
def test_what_typed_lines_ask_for(place: str, line: str) -> None:
    assert seen.request_after(*PLACES[place](), *typed(line)) == ASKED_BY_LINES[place][line]


@pytest.mark.parametrize(("place", "line", "told"), cases(__file__, "mistyped"))
def test_what_is_said_of_lines_that_make_no_sense(place: str, line: str, told: str) -> None:
    """They stay, to be corrected; those that make none in this place are gone."""
    ui, model = PLACES[place]()
    ui = seen.after(ui, model, *typed(line))
    assert seen.is_refused(ui)
    kept = "(gone) " if ui.entry is None else "" if ui.entry.text == line else "another line: "
    assert f"{kept}{seen.notice_of(ui)}" == told


def named_like_commands() -> tuple[Ui, TableModel]:
    """Return a table of five at which names are what commands mean something else by."""
    names = ("Ann", "3", "Random", "spectator 7", None)
    seats = [messages.SeatSummary(name, here=True, votes_needed=1 if name else 0) for name in names]
    watching = [
        messages.SpectatorSummary(1, "1"),
        messages.SpectatorSummary(2, "Spectators"),
        messages.SpectatorSummary(7),
    ]
    state = messages.TableState("KXQT", "gathering", seats, 0, spectators=3, watching=watching)
    return Ui("Ann"), TableModel("KXQT", Seat(0), state=state)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("host 3", messages.HandOver(NEW, 2)),
        ("host 2", messages.HandOver(NEW, 1)),
        ("stand-in 3", messages.SubstituteNow(NEW, 2)),
        ("remove 3", messages.Remove(NEW, 2)),
        ("remove 1", messages.Remove(NEW, 0)),
        ("bot remove 3", messages.Remove(NEW, 2)),
        ("remove spectator 7", messages.Dismiss(NEW, 7)),
        ("remove spectator 1", messages.Dismiss(NEW, 1)),
        ("remove spectators", messages.Dismiss(NEW, 2)),
        ("swap 1 3", messages.Arrange(NEW, (2, 1, 0, 3, 4))),
        ("starts random", messages.ChangeSetting(NEW, Starting(None))),
        ("starts Random", messages.ChangeSetting(NEW, Starting(None))),
        ("starts 3", messages.ChangeSetting(NEW, Starting(2))),
        ("vote yes 3", messages.Vote(NEW, 2, agree=True)),
        ("mute 3", Mute("Random", on=True)),
        ("mute Spectators", Mute(None, on=True)),
        ("mute spectator 2", Mute("Spectators", on=True)),
        ("mute spectator 7", Mute("spectator 7", on=True)),
    ],
)
def test_nobody_takes_over_a_command_by_name(line: str, wanted: object) -> None:
    """A number is a seat, and a command's own word is what it means, whatever people are called."""
    _, model = named_like_commands()
    assert typed_commands.meaning(line, At(BARE, model)) == wanted


@pytest.mark.parametrize("line", ["host spectator 7", "host 6", "stand-in spectator 7"])
def test_what_means_no_player_is_refused(line: str) -> None:
    _, model = named_like_commands()
    with pytest.raises(BadText):
        typed_commands.meaning(line, At(BARE, model))


COMPLETED = {
    "host": ["2", "Random", "4"],
    "remove": ["2", "Random", "4", "spectator 1", "Spectators", "spectator 7"],
    "starts": ["random", "Ann", "2", "3", "4"],
    "mute": ["spectators", "2", "Random", "4", "spectator 1", "spectator 2", "spectator 7"],
    "vote yes": ["Ann", "2", "Random", "4"],
}


@pytest.mark.parametrize("verb", COMPLETED)
def test_whoever_has_such_a_name_is_completed_to_in_another_way(verb: str) -> None:
    """By seat, or as a numbered spectator, and what is completed can be typed."""
    _, model = named_like_commands()
    if verb == "vote yes":
        seen.change(model, stage="playing")
    lines = typed_commands.completions(f"{verb} ", At(BARE, model))
    assert lines == tuple(f"{verb} {who}" for who in COMPLETED[verb])
    for line in lines:
        typed_commands.meaning(line, At(BARE, model))


def test_a_number_that_no_seat_has_may_be_a_name() -> None:
    _, model = gathering()
    ann, _, free = table(model).seats
    seen.change(model, seats=[ann, messages.SeatSummary("2024", here=True), free])
    assert typed_commands.meaning("host 2024", At(BARE, model)) == messages.HandOver(NEW, 1)
    assert "host 2024" in typed_commands.completions("host ", At(BARE, model))


def test_the_host_who_types_that_a_game_ends_is_asked() -> None:
    """As in the menu; others are told by the server that only the host may."""
    ui, model = running()
    asked = seen.after(ui, model, *typed("end game"))
    assert asked.overlay == Menu(actions.END)
    assert seen.request_after(ui, model, *typed("end game"), "enter") is None
    ends = seen.on_line(messages.EndGame(NEW), ui, model, actions.END)
    assert seen.request_after(ends, model, "enter") == messages.EndGame(NEW)
    for ui, model in (running(1), gathering()):
        assert seen.request_after(ui, model, *typed("end game")) == messages.EndGame(NEW)


def test_a_taken_name_is_changed_on_the_spot() -> None:
    ui = Ui("Ann", screens=(LobbyPage((messages.TableSummary("KXQT", "Bob", 3, 1, "gathering"),)),))
    model = TableModel()
    refused = with_name_refusal(ui, "Someone at this table already has that name.", requests.Join("KXQT"))
    assert refused.entry is not None
    named, request = after_key(seen.after(refused, model, " ", "2"), "enter", model)
    assert request == requests.Rename("Ann 2", requests.Join("KXQT"))
    assert named.name == "Ann 2"
    given_up = seen.after(refused, model, "escape")
    assert seen.request_after(given_up, model, "n", "!", "enter") == requests.Rename("Ann!")


def test_a_game_that_was_ended_has_a_page_of_its_own() -> None:
    """The board as it was left; the players can play again or leave."""
    ui, model = running()
    ui = seen.after_change(ui, model, stage="over", ended=True)
    assert isinstance(at_table_page(ui, model).page, Ended)
    assert "nobody wins" in ui.log[-1]
    assert seen.screen_of(ui, model).count("nobody wins") == 1
    assert seen.request_after(ui, model, "g") == messages.Rematch(NEW)
    assert seen.request_after(ui, model, "escape") == messages.Leave(NEW)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_setting_is_seen_and_changed_everywhere(row: Row) -> None:
    """In the menu, typed, in the help, at the table before its game, in the list of tables, in the log."""
    ui, model = gathering()
    usual = row.is_on(USUAL)
    changes = ChangeSetting(NEW, row.kind(on=not usual))
    assert seen.request_after(seen.on_line(changes, ui, model), model, "enter") == changes
    typed_line = f"{row.name} {'off' if usual else 'on'}"
    assert seen.request_after(ui, model, *typed(typed_line)) == changes
    assert f"{row.name} on, off" in "".join(map(seen.text_of, seen.reading_pages(ui, model, Act.HELP)))
    told = row.describe(on=not usual)
    assert told not in seen.screen_of(ui, model, 200)
    turned = structs.replace(USUAL, **{row.name: not usual})
    ui = seen.after_change(ui, model, switches=turned)
    assert ui.log[-1] == f"From now on: {told}."
    assert told in seen.screen_of(replace(ui, log=()), model, 200)
    listed = messages.TableSummary("KXQT", "Bob", 3, 1, "gathering", switches=turned)
    assert told in seen.screen_of(Ui("Ann", screens=(LobbyPage((listed,)),)), seen.LOBBY, 200)


def test_the_log_tells_what_the_host_did() -> None:
    ui, model = gathering(1)
    before = table(model)
    swapped = structs.replace(before, seats=[before.seats[1], before.seats[0], before.seats[2]], host=1)
    assert after_update(ui, TableChanged(swapped, before), model).log == (
        "The seats have changed: 1 Bob and 2 Ann.",
    )
    for changes, sentence in (
        ({"host": 1}, "Bob is the host now."),
        ({"title": "Friday"}, "The table is called Friday now."),
        (
            {"switches": Switches(private=True)},
            "From now on: the table is private: it can be found only by its code.",
        ),
        ({"switches": Switches(hints=True)}, "From now on: players may have moves suggested."),
        ({"starting": 1}, "From now on: Bob starts."),
        (
            {"absence": MoveClock(86_400), "long_clock": LongClock(129_600, 172_800)},
            "From now on: 1 day 12 h per move and 2 days in reserve, then a bot makes it.",
        ),
        ({"absence": ByBot(60)}, "From now on: after 1 min away, a bot plays for that player."),
    ):
        state = structs.replace(before, **changes)
        assert after_update(ui, TableChanged(state, before), model).log == (sentence,)
    playing = structs.replace(before, stage="playing")
    timed = structs.replace(playing, absence=MoveClock(60))
    for was, now, start in ((playing, timed, "From the next round on: "), (before, timed, "From now on: ")):
        (sentence,) = after_update(ui, TableChanged(structs.replace(now, stage=was.stage), was), model).log
        assert sentence.startswith(start)
    limited = after_update(ui, TableChanged(structs.replace(timed, turn_limit=120), playing), model).log
    assert limited[1:] == ("Until then, a turn takes 2:00 at most.",)
    seats = [before.seats[0], structs.replace(before.seats[1], vacant=True, here=False), before.seats[2]]
    vacant = structs.replace(before, seats=seats)
    assert "somebody else may take the seat" in after_update(ui, TableChanged(vacant, before), model).log[0]
    taken = structs.replace(vacant, seats=[seats[0], messages.SeatSummary("Zoe", here=True), seats[2]])
    assert after_update(ui, TableChanged(taken, vacant), model).log == ("Zoe takes over the seat of Bob.",)
    back = structs.replace(vacant, seats=[seats[0], messages.SeatSummary("Bob", here=True), seats[2]])
    assert after_update(ui, TableChanged(back, vacant), model).log == ("Bob is back.",)


def test_what_muted_people_say_is_not_kept() -> None:
    ui, model = gathering()
    said = (HeardRemark(Seat(1), "hi"), HeardRemark(None, "oh", "Zoe", 1), HeardRemark(None, "hm", None, 7))

    def kept(ui: Ui) -> list[str]:
        for each in said:
            ui = after_update(ui, each, model)
        return [remark.text for remark in ui.talk.remarks]

    def told(ui: Ui, *lines: str) -> Ui:
        for each in lines:
            ui, request = after_key(seen.after(ui, model, *typed(each)[:-1]), "enter", model)
            assert request is None
        return ui

    assert kept(ui) == ["hi", "oh", "hm"]
    assert kept(told(ui, "mute bob")) == kept(told(ui, "mute 2")) == ["oh", "hm"]
    assert kept(told(ui, "mute spectators")) == ["hi"]
    assert kept(told(ui, "mute ZOE")) == ["hi", "hm"]
    assert kept(told(ui, "mute spectator 7")) == ["hi", "oh"]
    assert kept(told(ui, "mute Bob", "mute Zoe", "unmute Bob")) == ["hi", "hm"]
    assert kept(told(ui, "mute spectators", "unmute spectators")) == ["hi", "oh", "hm"]
    muted = told(ui, "mute Bob")
    assert seen.notice_of(muted) == "You no longer hear Bob."
    effects_now = [choice.effect for choice in actions.MUTE.lines(At(muted, model))]
    assert effects_now == [Mute(None), Mute("Bob", on=False), Mute("Zoe"), Mute("spectator 7")]
    again = seen.on_line(Mute("Bob", on=False), muted, model, actions.MUTE)
    assert kept(seen.after(again, model, "enter")) == ["hi", "oh", "hm"]
    rematch = TableModel("ABCD", Seat(0), state=model.state)
    assert not at_table_page(at_other_table(muted, rematch), rematch).talk.hears("Bob")
    assert at_table_page(muted, rematch).talk.hears("Bob")  # at another table
    left = replace(muted, talk=TalkLog(muted=frozenset({"eve"})))
    assert Mute("eve", on=False) in [each.effect for each in actions.MUTE.lines(At(left, model))]
    for line in ("mute", "mute Ann", "mute nobody", "unmute"):
        assert seen.is_refused(told(ui, line))


def playing(*seats: messages.SeatSummary, seat: int = 0) -> tuple[Ui, TableModel]:
    """Return a game with these seats, as `seat` sees it at time 100, when the news arrives."""
    game = seen.played_until_turn_of(played(GameOptions(len(seats), random_layout=True), 3, 12), 0)
    model = seen.model_of(game, seat)
    model.state = messages.TableState("KXQT", "playing", list(seats), 0)
    return replace(seen.ui_of(game, model), now=100.0, told_at=100.0, clock_at=100.0), model


ANN, BOB, COSIMA = (messages.SeatSummary(name, here=True) for name in ("Ann", "Bob", "Cosima"))


def test_an_outage_fits_the_narrowest_screen_in_words() -> None:
    """The reason is shown if there is room, and the countdown is never cut off."""
    outage = Outage("The server stopped.", 12.4)
    assert describe_outage(outage, 10.0, 78) == "The server stopped. Trying again in 3 s."
    assert describe_outage(outage, 12.4, 78) == "The server stopped. Trying again now."
    assert describe_outage(Outage("Your seat was taken over.", None), 10.0, 78) == "Your seat was taken over."
    wordy = Outage("Nothing answers at ws://a-long-name.example.org:7733. Is the server running?", 12.4)
    assert describe_outage(wordy, 10.0, 78) == "No connection. Trying again in 3 s."


def test_absences_and_bots_are_shown_beside_the_names() -> None:
    others = (
        messages.SeatSummary("Bob", seconds_left=75),
        messages.SeatSummary("Cosima", bot=True),
        messages.SeatSummary("Dario"),
    )
    ui, model = playing(ANN, *others)
    notes = [seat_note(replace(ui, now=110.5), model, Seat(seat)) for seat in range(4)]
    assert notes == ["", "away 1:05", "bot", "away"]
    assert seat_note(replace(ui, now=500.0), model, Seat(1)) == "away 0:00"
    seen.assert_screen("absences-80x24", seen.screen_of(replace(ui, now=110.5), model))


def test_only_the_clock_of_the_player_on_turn_runs() -> None:
    clocks = (("Ann", 65_000), ("Bob", 3_700_000))
    ui, model = playing(*(messages.SeatSummary(name, here=True, clock=clock) for name, clock in clocks))
    model.clock = 65_000
    later = replace(ui, now=105.0)
    assert [seat_note(later, model, Seat(seat)) for seat in range(2)] == ["1:00", "1:01:40"]


def test_the_screen_ticks_only_if_something_counts_down() -> None:
    ui, model = playing(ANN, BOB)
    assert not seen.moves(ui, model)
    assert seen.moves(replace(ui, lost=Outage("Broken.", 101.0)), model)
    assert not seen.moves(replace(ui, lost=Outage("Broken.", None)), model)
    model.clock = 3
    assert seen.moves(ui, model)
    ui, model = playing(ANN, messages.SeatSummary("Bob", seconds_left=3))
    assert seen.moves(ui, model)
    assert not seen.moves(*playing(ANN, messages.SeatSummary("Bob", seconds_left=0)))
    assert not seen.moves(Ui("Ann"), TableModel())


def test_keys_vote_and_withdraw_the_vote() -> None:
    """One votes for the first absent player without this vote; once all have it, the other withdraws one."""
    away = messages.SeatSummary("Bob", seconds_left=0, votes_needed=2, votes=[2])
    ui, model = playing(ANN, away, COSIMA)
    question = "Bob is away. Let a bot play until they are back? y: yes (1 of 2 agree)"
    assert vote_question(model) == question
    assert question in seen.screen_of(ui, model)
    assert after_key(ui, "y", model)[1] == messages.Vote(NEW, 1, agree=True)
    agreed = messages.SeatSummary("Bob", seconds_left=0, votes_needed=2, votes=[0])
    ui, model = playing(ANN, agreed, COSIMA)
    assert after_key(ui, "n", model)[1] == messages.Vote(NEW, 1, agree=False)
    ui, model = playing(ANN, BOB, COSIMA)
    assert (next_vote(model), vote_question(model)) == (None, "")
    assert after_key(ui, "v", model)[1] is requests.Errand.SEE_MOVES
    ui, model = gathering(0)
    assert after_key(ui, "v", model)[1] is None


def test_votes_are_typed_by_name_or_seat() -> None:
    away = messages.SeatSummary("Bob", seconds_left=0, votes_needed=1)
    ui, model = playing(ANN, away, COSIMA)
    for text, vote in (
        ("vote yes bob", messages.Vote(NEW, 1, agree=True)),
        ("vote no 2", messages.Vote(NEW, 1, agree=False)),
        ("vote yes", messages.Vote(NEW, 1, agree=True)),
    ):
        assert seen.request_after(ui, model, *typed(text)) == vote
    assert seen.is_refused(seen.after(ui, model, *typed("vote yes zoe")))


def test_a_move_is_taken_back_only_by_who_has_made_one() -> None:
    """Alone against bots, where it takes nobody's consent."""
    for commands, moved in ((0, False), (1, True), (3, True)):
        game = seen.played_until_turn_of(played(GameOptions(3, random_layout=True), 1, 3 * commands), 0)
        ui, model = seen.client_of(game, 0)
        seen.change(model, random_layout=True)
        offered = keys_offered(replace(ui, offers=Offers(private=True, takes_back=True)), model, 0)
        assert any("z" in key.names for key in offered) == (0 in seen.view_of(model).owners.values()) == moved
        alone = replace(ui, offers=Offers(private=True, takes_back=True))
        told = {line.text: line.effect for line in MENU.lines(At(alone, model))}
        assert told.get("take back your last move") == (requests.TakeBack(Seat(0)) if moved else None)
        assert "ask to take your last move back" not in told


@given(seats=st.integers(2, 4), seed=st.integers(0, 9), moves=st.integers(0, 8), back=st.booleans())
def test_a_laid_tile_is_taken_back_only_by_who_has_laid_one(
    seats: int, seed: int, moves: int, back: bool
) -> None:
    """Even if the client comes `back` to the game and does not know its events."""
    game, seat = played(GameOptions(seats), seed, moves), Seat(0)
    ui, model = seen.client_of(game, seat)
    if back:
        model.take(snapshot_message(snapshot(game.view, eyes_of(seat)), len(game.events), None))
    moved = any(isinstance(each, TileLaid | Placed) and each.seat == seat for each in game.events)
    offered = keys_offered(replace(ui, offers=Offers(private=True, takes_back=True)), model, 0)
    assert any("z" in key.names for key in offered) == moved


def test_a_game_against_bots_begins_without_a_lobby() -> None:
    """Until its table is open, and unless that fails."""
    opening = Ui("Ann", offers=Offers(private=True), busy=True)
    assert "the lobby" not in seen.screen_of(opening, TableModel())
    assert "Taking a seat" in seen.screen_of(opening, TableModel())
    assert isinstance(at_table_page(replace(opening, busy=False), TableModel()).page, LobbyPage)
