"""The evening in the client: signing up, the call, the way to the table, and what is told of it."""

import asyncio
import contextlib
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from client.bots.hints import suggest_move
from client.player.seats import Seats, kept_seats
from client.tables.table import SentFromEvening, TableModel, news_of_server
from client.ui.frame import plain
from client.ui.game import run
from client.ui.keys import Act
from client.ui.screens.actions import MENU
from client.ui.screens.dispatch import letters, updated
from client.ui.screens.evening import EveningPage
from client.ui.screens.gathering import Gathering
from client.ui.screens.lobby import LobbyPage
from client.ui.screens.menu import Menu
from client.ui.screens.news import after_update, called_to
from client.ui.screens.scoring import Result
from client.ui.screens.screen import drawn
from client.ui.seat_keeper import Keeping
from client.ui.state import Ui, Ways
from client.ui.texts.evenings import describe_part
from client.ui.texts.glyphs import ASCII
from client.ui.visit import Destination, Player, Stay
from engine.pieces import Seat
from pages.drawing.evening_parts import call
from pages.drawing.seat_parts import SeatPage
from pages.shared import MoveChoice, PlayerHand
from protocol.admin import EveningPlan
from protocol.codes import REFUSAL_TEXTS, Code
from protocol.messages import NEW, Evening, EveningPerson, EveningTable, Refused, TakePart
from server.app import running
from server.config import Config
from tests.client.ui.keyboard import Keyboard
from tests.client.ui.seen import after, over, placing, request_after, screen_of, typed
from tests.server.manual_clock import FastClock
from tests.server.peer import connected
from tests.server.tables.evenings import Guest

ANN = EveningPerson(
    *(1, "Ann"),
    here=True,
    place=1,
    score=15000,
    average=7500,
    games=2,
    wins=1,
    points=31,
    against=[(2, 1, 1, 0)],
)
BOB = EveningPerson(2, "Bob", "pause", place=2, games=1, points=9, against=[(1, 1, 0, 1)])
CID = EveningPerson(3, "Cid", here=True, place=3)
FRIDAY = Evening("Friday", 1, 3, 60, people=[ANN, BOB, CID])
CALLED = Evening("Friday", 2, 3, 60, people=[ANN, BOB], tables=[EveningTable("KXQT", 2, "gathering", [2, 1])])


@pytest.mark.usefixtures("listed_often")
async def test_from_signing_up_to_the_table(keys: Keyboard, tmp_path: Path) -> None:
    """`E` and `s` sign up; whoever is called is at the table after one key.

    They are known again the next time, and after a line was lost.
    """
    guests = [Guest(name) for name in ("Bob", "Cid", "Dan")]
    async with (
        running(Config(evening=EveningPlan("Friday"), timers=FastClock)) as server,
        contextlib.AsyncExitStack() as stack,
    ):
        url = f"ws://127.0.0.1:{server.port}"
        there, stay = Destination(url), Stay(keeping=Keeping(Seats(tmp_path, url)))
        visiting = asyncio.create_task(run(Player("Ann", suggest_move), there, stay))
        await keys.until(lambda ui, _: ui.evening is not None)
        keys.press("E")
        await keys.until(lambda ui, _: isinstance(ui.overlay, EveningPage))
        keys.press("s")
        await keys.until(lambda ui, _: ui.person == 1)
        keys.press("\x1b")
        await keys.until(lambda ui, _: ui.overlay is None)
        for guest in guests:
            await guest.sign_up(await stack.enter_async_context(connected(server.port)))
        await keys.until(lambda ui, model: bool(called_to(ui, model)) and ui.overlay is not None)
        keys.press("\r")
        await keys.until(lambda ui, _: isinstance(ui.page, Gathering) and ui.overlay is None)
        assert len(kept_seats(tmp_path)) == 1  # without the token of the evening itself
        keys.press("\x03y")
        assert await visiting == 0
        del keys.client
        again = asyncio.create_task(run(Player("Ann", suggest_move), there, stay))
        await keys.until(lambda ui, _: ui.person == 1)
        keys.client._connection._websocket.transport.abort()  # type: ignore[union-attr]
        before = keys.client.ui.evening
        await keys.until(lambda ui, _: ui.evening is not before and any(_is_here(ui.evening, "Ann")))
        keys.press("\x03")
        assert await again == 0


def _is_here(evening: Evening | None, name: str) -> list[bool]:
    return [] if evening is None else [each.here for each in evening.people if each.name == name]


def test_what_is_told_of_the_evening() -> None:
    model = TableModel()
    ui = after_update(Ui("Ann", screens=(LobbyPage(),), person=1), FRIDAY, model)
    told = EveningPage().words(ui, model)
    part = "You are in the next round, and will be notified. p: pause, x: leave the evening"
    assert told[:3] == ("Friday", "Round 1 of 3.", part)
    assert [row.split() for row in told[4:7]] == [
        ["1", "Ann", "150.0", "75.0", "2", "1", "31"],
        ["2", "Bob", "0.0", "0.0", "1", "0", "9", "paused"],
        ["Cid", "0", "0", "0"],
    ]
    shown = screen_of(ui.opened(EveningPage()), model)
    assert all(text.strip() in shown for text in told[3:6])
    assert "paused" in screen_of(ui.opened(EveningPage(top=4)), model, 40, 12)
    assert told[-1] == "Bob: 1 game; 1 ahead; 0 behind"
    free = after_update(ui, structs.replace(FRIDAY, rounds=0), model)
    assert EveningPage().words(free, model)[2].startswith("You will be notified when a table is ready")
    assert ui.overlay is None
    ui = after_update(ui, CALLED, model)
    assert isinstance(ui.overlay, EveningPage)
    assert ui.log[-1] == called_to(ui, model) == "Your table KXQT is ready. Enter: go there"
    assert after_update(ui, CALLED, model).log == ui.log


def test_whoever_hosts_the_evening_is_told_how_it_is_led() -> None:
    """The code for phones, the television, and how a round is drawn, if there are rounds."""
    ways, model = Ways(pages="http://192.0.2.7:7733/"), TableModel()
    ui = after_update(Ui("Ann", screens=(LobbyPage(),), ways=ways), FRIDAY, model)
    shown = screen_of(ui.opened(EveningPage()), model, 80, 50)
    for words in ("http://192.0.2.7:7733/tv", "admin evening draw", "admin evening host", " ▄▄▄▄▄ "):
        assert words in shown
    assert "█" not in "".join(EveningPage().words(ui, model))
    free = after_update(ui, structs.replace(FRIDAY, rounds=0), model)
    assert "admin evening draw" not in screen_of(free.opened(EveningPage()), model, 80, 50)
    assert "on a television: http://192.0.2.7:7733/tv" in screen_of(ui, model)
    guest = replace(ui, ways=Ways())
    assert "admin evening" not in screen_of(guest.opened(EveningPage()), model, 80, 50)


@pytest.mark.parametrize("code", [Code.EVENING_FULL, Code.REMOVED_FROM_EVENING])
def test_whoever_is_no_longer_in_the_evening_is_told(code: Code) -> None:
    """At a table, too, where nothing else changes; the answer to a request with this code is no such news."""
    _, model = placing()
    ui = after_update(Ui("Ann", screens=(LobbyPage(),), person=1), FRIDAY, model)
    news = news_of_server(Refused(code, "text"))
    assert news == SentFromEvening(Refused(code, "text"))
    told = after_update(ui, news, model)
    assert told.person is None
    assert told.log[-1] == REFUSAL_TEXTS[code]
    assert REFUSAL_TEXTS[code][:30] in screen_of(told, model)
    assert news_of_server(Refused(code, "text", 7)) is None
    left = after_update(ui, SentFromEvening(Refused(Code.NOT_SIGNED_UP, "text")), model)
    assert (left.person, left.log) == (None, ui.log)  # they knew


def test_an_evening_that_ends_says_so() -> None:
    """In its last round, or once it is closed: nobody is told to wait for another table."""
    model = TableModel()
    last, closed = structs.replace(FRIDAY, closed=True), structs.replace(FRIDAY, rounds=0, closed=True)
    for evening, told in (
        (last, "Round 1 is the last one: the evening ends with its games."),
        (closed, "No more tables are drawn: the evening ends with these games."),
    ):
        ui = after_update(Ui("Ann", screens=(LobbyPage(), EveningPage()), person=1), evening, model)
        assert EveningPage().words(ui, model)[1:3] == (told, "Thank you for playing.")
        assert letters(ui, model).keys().isdisjoint("spx")
        assert told in call(evening, 1, None)


def test_whoever_plays_sees_that_they_pause_afterwards() -> None:
    """On a phone, too, which is called to the table and offers to play again."""
    _, model = placing()
    evening = structs.replace(FRIDAY, tables=[EveningTable("KXQT", 1, "playing", [2, 1])])
    plays = "You are playing at table KXQT."
    assert describe_part(evening, 1, "KXQT") == plays
    paused = "You have paused. s: play again, x: leave the evening"
    assert describe_part(evening, 2, "KXQT") == f"{plays} {paused}"
    on_phone = call(evening, 2, None)
    assert "data-go" in on_phone
    assert "Play again" in on_phone
    assert model.state is not None
    hand = PlayerHand(Seat(0), None, MoveChoice(), (), of_evening=True)
    assert 'href="EVENING"' in SeatPage(model.state, model.view, hand).parts()["menu"]


def test_the_evening_is_one_key_away_from_a_game() -> None:
    ui, model = over()
    assert isinstance(after(after_update(ui, FRIDAY, model), model, "E").overlay, EveningPage)
    ui, model = placing()
    told = "the evening: sign up, pause, standings"
    assert told not in screen_of(after(ui, model, "?"), model, glyphs=ASCII)
    ui = after_update(ui, FRIDAY, model)
    assert told in screen_of(after(ui, model, "?"), model, glyphs=ASCII)
    assert isinstance(after(ui, model, "E").overlay, EveningPage)


def test_how_to_take_part_can_be_typed_and_pressed() -> None:
    model = TableModel()
    ui = after_update(Ui("Ann", screens=(LobbyPage(),), person=1), FRIDAY, model)
    assert request_after(ui, model, *typed("evening pause")) == TakePart(NEW, "pause")
    opened, _ = updated(ui, letters(ui, model)["E"].action, model)
    assert isinstance(opened.overlay, EveningPage)
    assert letters(opened, model).keys() >= {"p", "x"}
    assert "s" not in letters(opened, model)
    assert updated(opened, letters(opened, model)["p"].action, model)[1] == TakePart(NEW, "pause")


def test_the_lobby_says_that_there_is_an_evening() -> None:
    model = TableModel()
    ui = after_update(Ui("Ann", screens=(LobbyPage(),)), FRIDAY, model)
    *above, keys = (plain(each) for each in drawn(ui, model, ASCII, 80, 24).lines)
    told = "Evening: Friday. E: sign up, pause, standings"
    assert f"  {told}" in (each.rstrip() for each in above)
    assert "E evening" in keys
    assert told in ui.page.words(ui, model)


def test_the_result_of_a_game_leads_to_the_evening_and_to_no_rematch() -> None:
    ui, model = over()
    ui = after_update(ui, FRIDAY, model).with_page(Result())
    assert "g play again" in plain(drawn(ui, model, ASCII, 80, 24).lines[-1])
    of_evening = structs.replace(FRIDAY, tables=[EveningTable("KXQT", 1, "over", [1, 2])])
    for size in ((80, 24), (40, 12)):
        keys = plain(drawn(after_update(ui, of_evening, model), model, ASCII, *size).lines[-1])
        assert "play again" not in keys
        assert "E evening" in keys


def test_the_help_over_the_evening_is_about_its_keys_and_leads_back_as_over_a_menu() -> None:
    ui, model = replace(Ui("Ann", screens=(LobbyPage(), EveningPage())), evening=FRIDAY), TableModel()
    assert "sign up, or play again after a pause" in screen_of(after(ui, model, "?"), model)
    for opened in EveningPage(), Menu(MENU):
        helped, _ = updated(ui.opened(opened), Act.HELP, model)
        ruled, _ = updated(helped, Act.RULES, model)
        assert updated(ruled, Act.CANCEL, model)[0].overlay == opened
