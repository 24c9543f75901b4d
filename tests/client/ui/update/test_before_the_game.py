"""What keys, clicks and typed lines do in the lobby and before a game."""

from dataclasses import replace

import pytest

from client.tables.table import TableModel
from client.ui import requests
from client.ui.keys import Act, ChooseLine
from client.ui.requests import Misread, Request
from client.ui.screens.dispatch import pressed, updated
from client.ui.screens.lobby import Lobby
from client.ui.screens.news import followed
from client.ui.screens.screen import drawn, offered
from client.ui.screens.typed_commands import meaning
from client.ui.state import Capabilities, Notice, Outage, Ui
from client.ui.texts.glyphs import UNICODE
from engine.pieces import Seat
from protocol.absence import WAIT, ByBot, ByVote, GameClock, MoveClock
from protocol.messages import (
    NEW,
    Leave,
    ListTables,
    Remove,
    SeatBot,
    SeatSummary,
    StartGame,
    TableState,
    TableSummary,
)
from tests.client.ui.seen import (
    after,
    lobby_of,
    request_after,
    text_of,
    typed,
)
from tests.client.ui.update.positions import LOBBY, laying, over, placing

TABLES = (TableSummary("KXQT", "Bob", 3, 1, "gathering"), TableSummary("ABCD", "Cosima", 5, 5, "playing"))


def test_the_lobby_joins_and_watches_the_chosen_table() -> None:
    ui = Ui("Ann", page=Lobby(TABLES))
    assert request_after(ui, LOBBY, "enter") == requests.Join("KXQT")
    assert request_after(ui, LOBBY, "down", "enter") == requests.Watch("ABCD")
    held = replace(ui, page=Lobby(TABLES, frozenset({"ABCD"})))
    assert request_after(held, LOBBY, "down", "enter") == requests.Join("ABCD")
    assert request_after(ui, LOBBY, "j", "k", "w") == requests.Watch("KXQT")
    assert after(ui, LOBBY, "down", "down", "down", "w").notice is not None


def test_the_lobby_opens_a_table_with_the_chosen_options() -> None:
    ui = Ui("Ann", page=Lobby(TABLES))
    assert request_after(ui, LOBBY, "down", "down", "enter") == requests.Open(3)
    assert request_after(ui, LOBBY, "5", "x", "enter") == requests.Open(5, random_layout=True)
    assert request_after(ui, LOBBY, "2", "o") == requests.Open(2)
    assert request_after(ui, LOBBY, "r") == ListTables(NEW)


def test_the_lobby_chooses_who_starts() -> None:
    """R3.1: a key goes through the seats and back to random; a seat beyond the players is dropped."""
    ui = Ui("Ann")
    opened = [request_after(ui, LOBBY, *"s" * presses, "o") for presses in range(5)]
    assert opened == [requests.Open(3, starting=seat) for seat in (None, Seat(0), Seat(1), Seat(2), None)]
    assert request_after(ui, LOBBY, *"ss2", "o") == requests.Open(2, starting=Seat(1))
    assert request_after(ui, LOBBY, *"sss2", "o") == requests.Open(2)


def test_clicks_in_the_lobby() -> None:
    """The first click chooses a line, and the second confirms it."""
    ui, request = updated(Ui("Ann", page=Lobby(TABLES)), ChooseLine(1), LOBBY)
    assert (lobby_of(ui).chosen, request) == (1, None)
    assert updated(ui, ChooseLine(1), LOBBY)[1] == requests.Watch("ABCD")


def test_the_lobby_chooses_the_absence_policy() -> None:
    """A key goes through the policies and back to waiting, and two others change the time."""
    ui = Ui("Ann")
    opened = [request_after(ui, LOBBY, *"a" * presses, "o") for presses in range(6)]
    assert opened == [
        requests.Open(3, absence=policy)
        for policy in (WAIT, MoveClock(60), GameClock(900), ByVote(60), ByBot(60), WAIT)
    ]
    assert request_after(ui, LOBBY, *"aaaa+", "o") == requests.Open(3, absence=ByBot(120))
    assert request_after(ui, LOBBY, *"aaaa--", "o") == requests.Open(3, absence=ByBot(0))
    assert after(ui, LOBBY, *"aaaa---") == after(ui, LOBBY, *"aaaa--")
    assert after(ui, LOBBY, *"aa++++++") == after(ui, LOBBY, *"aa+++")
    assert request_after(ui, LOBBY, "+", "o") == requests.Open(3)


def test_escape_leaves_the_lobby() -> None:
    """For the start screen, if there is one; it does not end the program without a question."""
    assert request_after(Ui("Ann"), LOBBY, "escape") is None
    assert "Quit Palatinus?" in text_of(drawn(after(Ui("Ann"), LOBBY, "escape"), LOBBY, UNICODE, 80, 24))
    assert request_after(Ui("Ann"), LOBBY, "escape", "y") == requests.Quit()
    assert after(Ui("Ann"), LOBBY, "escape", "escape") == Ui("Ann", page=Lobby())
    assert (
        request_after(Ui("Ann", capabilities=Capabilities(home=True)), LOBBY, "escape") == requests.GoHome()
    )


def test_typed_lines_open_tables_and_mistakes_are_refused() -> None:
    ui = Ui("Ann")
    opened = requests.Open(4, random_layout=True, absence=MoveClock(30))
    assert request_after(ui, LOBBY, *typed("open 4 random move-clock:30")) == opened
    for wrong in (
        "open 6",
        "open 3 clock",
        "open 3 starts:4",
        "open 3 starts:",
        "say",
        "vote",
        "vote maybe Bob",
    ):
        notice = after(ui, LOBBY, *typed(wrong)).notice
        assert notice is not None
        assert notice.refusal


def test_without_a_connection_one_request_waits() -> None:
    """A second one and a refresh are refused; if the connection is closed for good, so are all."""
    lost = Ui("Ann", page=Lobby(TABLES), lost=Outage("The server stopped.", 5.0))
    ui, request = pressed(lost, "enter", LOBBY)
    assert (request, ui.busy) == (requests.Join("KXQT"), True)
    assert ui.notice is not None
    assert "will be sent" in ui.notice.text
    again = after(ui, LOBBY, "enter")
    assert again.notice is not None
    assert again.notice != ui.notice
    assert after(lost, LOBBY, "r").notice is not None
    gone = replace(lost, lost=Outage("Your seat was taken over.", None))
    assert after(gone, LOBBY, "enter").notice == Notice("Your seat was taken over.")
    assert request_after(gone, LOBBY, "q") == requests.Quit()


@pytest.mark.parametrize(("home", "way_out"), [(True, requests.GoHome()), (False, requests.Quit())])
def test_a_table_that_is_closed_for_good_can_be_left(*, home: bool, way_out: Request) -> None:
    """Without a question, as nothing is left to lose; the bottom line offers no key that needs the server."""
    closed = Ui("Ann", capabilities=Capabilities(home=home), lost=Outage("Your seat was taken over.", None))
    seats = [SeatSummary("Ann", here=True), SeatSummary()]
    gathering_model = TableModel("KXQT", Seat(0), state=TableState("KXQT", "gathering", seats, 0))
    ui = followed(closed, gathering_model)
    assert request_after(ui, gathering_model, "escape") == way_out
    assert {key.action for key in offered(ui, gathering_model)} == {Act.LEAVE, Act.HELP, Act.RULES, Act.QUIT}
    _ui, model = placing()
    shown = {key.action for key in offered(followed(closed, model), model)}
    assert shown == {Act.COUNTS, Act.HELP, Act.RULES, Act.QUIT}
    _ui, model = over()
    shown = {key.action for key in offered(followed(closed, model), model)}
    assert {Act.NEXT, Act.NEXT_HILL, Act.QUIT} <= shown
    assert shown.isdisjoint({Act.CHAT, Act.COMMAND, Act.MENU})


def test_the_host_seats_bots() -> None:
    """The only level immediately; of several, one is chosen already. Otherwise a notice says why not."""
    free = [SeatSummary("Ann", here=True), SeatSummary("Bob", here=True), SeatSummary()]
    model = TableModel("KXQT", Seat(0), state=TableState("KXQT", "gathering", free, 0))
    one, two = (
        Ui("Ann", capabilities=Capabilities(levels=levels)) for levels in (("greedy",), ("random", "greedy"))
    )
    assert request_after(one, model, "b") == SeatBot(NEW, "greedy")
    assert request_after(two, model, "b", "enter") == SeatBot(NEW, "greedy")
    assert request_after(two, model, "b", "up", "enter") == SeatBot(NEW, "random")
    levels = Ui("Ann", capabilities=Capabilities(levels=("slave", "plebeian", "citizen")))
    assert request_after(levels, model, "b", "enter") == SeatBot(NEW, "plebeian")
    assert request_after(levels, model, "b", "down", "enter") == SeatBot(NEW, "citizen")
    full = TableModel("KXQT", Seat(0), state=TableState("KXQT", "gathering", free[:2], 0))
    guest = TableModel("KXQT", Seat(1), state=model.state)
    notices = {after(ui, at, "b").notice for ui, at in ((Ui("Ann"), model), (two, full), (two, guest))}
    assert len(notices) == 3
    assert None not in notices


@pytest.mark.parametrize(
    ("line", "request_made"),
    [
        ("bot", SeatBot(NEW, "")),
        ("bot greedy", SeatBot(NEW, "greedy")),
        ("bot Greedy", SeatBot(NEW, "greedy")),
        ("bot remove greedy-1", Remove(NEW, 1)),
    ],
)
def test_bots_are_seated_and_removed_by_typed_commands(line: str, request_made: Request) -> None:
    seats = [SeatSummary("Ann", here=True), SeatSummary("greedy-1", here=True, level="greedy"), SeatSummary()]
    model = TableModel("KXQT", Seat(0), state=TableState("KXQT", "gathering", seats, 0))
    assert meaning(line, model) == request_made
    assert isinstance(meaning("bot a b", model), Misread)
    assert isinstance(meaning("bot remove", model), Misread)


def test_keys_while_gathering() -> None:
    model = TableModel("KXQT")
    assert request_after(Ui("Ann"), model, "enter") == StartGame(NEW)
    assert request_after(Ui("Ann"), model, "escape") == Leave(NEW)


def test_a_player_is_asked_before_the_seat_is_given_up() -> None:
    """A spectator has none, and no question outlives the page that it was asked on."""
    state = TableState("KXQT", "gathering", [SeatSummary("Ann", here=True), SeatSummary()], 0)
    ui, model = (
        followed(Ui("Ann"), TableModel("KXQT", Seat(0), state=state)),
        TableModel("KXQT", Seat(0), state=state),
    )
    for answer, request in (("y", Leave(NEW)), ("n", None), ("escape", None)):
        assert request_after(ui, model, "escape") is None
        assert request_after(ui, model, "escape", answer) == request
    assert request_after(ui, TableModel("KXQT", state=state), "escape") == Leave(NEW)
    _ui, playing = laying()
    asked = after(ui, model, "escape")
    assert asked.overlay is not None
    assert followed(asked, playing).overlay is None
