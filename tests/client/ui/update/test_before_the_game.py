"""The lobby and the table before a game: what keys, clicks and typed lines do, and who is there and talks."""

from dataclasses import replace

import pytest
import segno
from msgspec import structs
from prompt_toolkit.utils import get_cwidth

from client.language import labelled
from client.tables.table import ConnectionLost, HeardRemark, TableModel
from client.ui import requests
from client.ui.frame import plain
from client.ui.keys import Act, ChooseLine
from client.ui.requests import Request
from client.ui.screens.dispatch import after_key, updated
from client.ui.screens.lobby import NEW_TABLE, LobbyPage
from client.ui.screens.menu import At, Form
from client.ui.screens.news import after_update, at_other_table, at_table_page, heard_from_lobby
from client.ui.screens.overlays import Consenting, TalkPage
from client.ui.screens.screen import drawn, keys_offered
from client.ui.state import LinePrompt, Notice, Offers, OnlineList, Outage, TypedLine, Ui, Ways
from client.ui.texts.glyphs import ASCII, UNICODE
from client.ui.texts.tables import ROWS, Row
from engine.pieces import Seat
from protocol.limits import TITLE_LENGTH
from protocol.messages import (
    NEW,
    Evening,
    EveningTable,
    Invite,
    Leave,
    LobbyRemark,
    Online,
    PersonOnline,
    SaidInLobby,
    Say,
    SayInLobby,
    SeatBot,
    SeatSummary,
    StartGame,
    TableState,
    TableSummary,
)
from protocol.settings import USUAL, ChosenSwitches, Switches
from tests.client.ui import seen
from tests.client.ui.draw.sample_pages import TABLES, waiting

ANN, BOB = (SeatSummary(name, here=True) for name in ("Ann", "Bob"))


def gathering(*seats: SeatSummary) -> TableModel:
    """Return a table before its game, as its host in the first seat knows it."""
    return TableModel("KXQT", Seat(0), state=TableState("KXQT", "gathering", list(seats), 0))


def test_the_lobby_joins_and_watches_the_chosen_table() -> None:
    ui = Ui("Ann", screens=(LobbyPage(TABLES),))
    held = ui.with_page(LobbyPage(TABLES, frozenset({"ABCD"})))
    assert seen.request_after(held, seen.LOBBY, "down", "enter") == requests.Join("ABCD")
    clicked, request = updated(ui, ChooseLine(1), seen.LOBBY)
    assert (seen.lobby_of(clicked).chosen, request) == (1, None)
    assert updated(clicked, ChooseLine(1), seen.LOBBY)[1] == requests.WatchTable("ABCD")
    assert seen.after(ui, seen.LOBBY, "down", "down", "down", "w").notice is not None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_table_is_opened_with_any_of_its_settings(row: Row) -> None:
    """Typed, on or off, the last word counts; and by a key if the setting has one."""
    ui, on = Ui("Ann", screens=(LobbyPage(),)), not row.is_on(USUAL)
    usual = requests.FOR_WHOEVER_COMES
    turned = structs.replace(usual, switches=ChosenSwitches(**{row.name: on}))
    words = (f"no-{row.name}", row.name) if on else (row.name, f"no-{row.name}")
    for line, asked in ((words[1], turned), (words[0], usual), (" ".join(words), turned)):
        assert seen.request_after(ui, seen.LOBBY, *seen.typed(f"open {line}")) == asked
    if row.key:
        keyed = seen.after(ui, seen.LOBBY, row.key)
        assert seen.request_after(keyed, seen.LOBBY, "o", "enter") == turned
        assert row.describe(on=on) in seen.screen_of(keyed, seen.LOBBY)
        assert seen.request_after(keyed, seen.LOBBY, row.key, "o", "enter") == usual


def test_a_seat_that_was_somebodys_is_not_taken_unasked() -> None:
    """In a game under way, or in a study; whoever has a seat there is not asked."""
    for study in (False, True):
        vacant = TableSummary("KXQT", "Bob", 3, 2, "playing", vacant=1, study=study)
        ui = Ui("Ann", screens=(LobbyPage((vacant,)),))
        asked = seen.after(ui, seen.LOBBY, "enter")
        for size in ((80, 24), (20, 8)):
            shown = " ".join(seen.screen_of(asked, seen.LOBBY, *size).replace("|", " ").split())
            assert ("is a study" in shown) is study
            assert "y: yes, n: no" in shown
        assert seen.request_after(asked, seen.LOBBY, "y") == requests.Join("KXQT")
        for key in ("n", "escape"):
            assert seen.after(asked, seen.LOBBY, key) == ui
        for key in ("enter", "?", "o", "w", ":"):
            assert seen.after(asked, seen.LOBBY, key) == asked
        kept = ui.with_page(LobbyPage((vacant,), frozenset({"KXQT"})))
        assert seen.request_after(kept, seen.LOBBY, "enter") == requests.Join("KXQT")


def test_the_lobby_chooses_who_starts() -> None:
    """R3.1: a key goes through the seats and back to random; a seat beyond the players is dropped."""
    ui = Ui("Ann")
    opened = [seen.request_after(ui, seen.LOBBY, "3", *"s" * presses, "o", "enter") for presses in range(5)]
    assert opened == [requests.Open(3, starting=seat) for seat in (None, Seat(0), Seat(1), Seat(2), None)]
    assert seen.request_after(ui, seen.LOBBY, *"ss2", "o", "enter") == requests.Open(2, starting=Seat(1))
    assert seen.request_after(ui, seen.LOBBY, *"3sss2", "o", "enter") == requests.Open(2)


def test_the_number_of_seats_can_be_chosen_and_left_open_again() -> None:
    for keys, asked in (
        ("3", requests.Open(3)),
        ("35", requests.Open(5)),
        ("33", requests.FOR_WHOEVER_COMES),
    ):
        assert seen.request_after(Ui("Ann"), seen.LOBBY, *keys, "o", "enter") == asked
    assert seen.request_after(Ui("Ann"), seen.LOBBY, *seen.typed("open 4")) == requests.Open(4)


def test_a_new_table_is_set_up_in_a_form() -> None:
    """Every setting of it, those without a key among them; each leads through its values, and back."""
    ui = Ui("Ann", screens=(LobbyPage(TABLES),))
    form = seen.after(ui, seen.LOBBY, "o")
    seen.assert_screen("new-table-80x24", seen.screen_of(seen.after(form, seen.LOBBY, "down"), seen.LOBBY))
    assert seen.request_after(form, seen.LOBBY, "enter") == requests.FOR_WHOEVER_COMES
    assert seen.after(form, seen.LOBBY, "o").overlay is None
    clocked = seen.after(ui, seen.LOBBY, "a", "o")
    for at in range(1, len(NEW_TABLE.lines(At(clocked, seen.LOBBY)))):
        there = clocked.changed(Form(NEW_TABLE, at))
        right = seen.after(there, seen.LOBBY, "right")
        assert right.new_table != there.new_table
        assert seen.after(right, seen.LOBBY, "left") == there
    fewer = seen.after(form, seen.LOBBY, "down", "left")
    assert seen.request_after(fewer, seen.LOBBY, "up", "enter") == requests.Open(5)
    unseen = seen.after(form, seen.LOBBY, *["down"] * 4, "enter")
    assert seen.request_after(unseen, seen.LOBBY, *["up"] * 4, "enter") == structs.replace(
        requests.FOR_WHOEVER_COMES, switches=ChosenSwitches(spectators=False)
    )


def test_the_time_of_an_absence_policy_has_bounds() -> None:
    ui = Ui("Ann")
    assert seen.after(ui, seen.LOBBY, *"aaaa---") == seen.after(ui, seen.LOBBY, *"aaaa--")
    assert seen.after(ui, seen.LOBBY, *"aa++++++") == seen.after(ui, seen.LOBBY, *"aa+++")


def test_escape_leaves_the_lobby() -> None:
    """For the start screen, if there is one; it does not end the program without a question."""
    assert seen.request_after(Ui("Ann"), seen.LOBBY, "escape") is None
    assert "Quit Palatinus?" in seen.screen_of(seen.after(Ui("Ann"), seen.LOBBY, "escape"), seen.LOBBY)
    assert seen.request_after(Ui("Ann"), seen.LOBBY, "escape", "y") == requests.Errand.QUIT
    assert seen.after(Ui("Ann"), seen.LOBBY, "escape", "escape") == Ui("Ann", screens=(LobbyPage(),))
    assert seen.request_after(seen.at_home(Ui("Ann")), seen.LOBBY, "escape") == requests.Errand.GO_HOME


def test_what_a_server_asks_on_the_way_is_answered_on_the_screen() -> None:
    """A password as it is typed, spaces included; with Escape the player stays away."""
    asked = replace(seen.at_home(Ui("Ann")), entry=TypedLine(LinePrompt.PASSWORD))
    assert seen.request_after(asked, NOWHERE, *" hush ", "enter") == requests.Password(" hush ")
    assert seen.request_after(asked, NOWHERE, *"hush", "escape") == requests.Password(None)
    assert seen.request_after(asked, NOWHERE, "enter") == requests.Password(None)
    asked = seen.at_home(Ui("Ann")).opened(Consenting("Go there then?"))
    assert "Go there then?" in seen.screen_of(asked, NOWHERE)
    assert seen.request_after(asked, NOWHERE, "y") == requests.Consent(given=True)
    assert seen.request_after(asked, NOWHERE, "escape") == requests.Consent(given=False)


def test_without_a_connection_one_request_waits() -> None:
    lost = Ui("Ann", screens=(LobbyPage(TABLES),), lost=Outage("The server stopped.", 5.0))
    ui, request = after_key(lost, "enter", seen.LOBBY)
    assert (request, ui.busy) == (requests.Join("KXQT"), True)
    assert "will be sent" in seen.notice_of(ui)
    assert seen.notice_of(seen.after(ui, seen.LOBBY, "enter")) != seen.notice_of(ui)
    assert seen.after(lost, seen.LOBBY, "f5").notice is not None
    gone = replace(lost, lost=Outage("Your seat was taken over.", None))
    assert seen.after(gone, seen.LOBBY, "enter").notice == Notice("Your seat was taken over.")
    assert seen.request_after(gone, seen.LOBBY, "q") == requests.Errand.QUIT


@pytest.mark.parametrize(
    ("home", "way_out"), [(True, requests.Errand.GO_HOME), (False, requests.Errand.QUIT)]
)
def test_a_table_that_is_closed_for_good_can_be_left(*, home: bool, way_out: Request) -> None:
    """Without a question, as nothing is left to lose; the bottom line offers no key that needs the server."""
    closed = Ui("Ann", lost=Outage("Your seat was taken over.", None))
    closed = seen.at_home(closed) if home else closed
    model = gathering(ANN, SeatSummary())
    ui = at_table_page(closed, model)
    assert seen.request_after(ui, model, "escape") == way_out
    assert {key.action for key in keys_offered(ui, model)} == {Act.LEAVE, Act.HELP, Act.RULES, Act.QUIT}
    _ui, model = seen.placing()
    shown = {key.action for key in keys_offered(at_table_page(closed, model), model)}
    assert shown == {Act.COUNTS, Act.HELP, Act.RULES, Act.QUIT}
    _ui, model = seen.over()
    shown = {key.action for key in keys_offered(at_table_page(closed, model), model)}
    assert {Act.NEXT, Act.NEXT_HILL, Act.QUIT} <= shown
    assert shown.isdisjoint({Act.CHAT, Act.COMMAND, Act.MENU})


def test_the_host_seats_bots() -> None:
    model = gathering(ANN, BOB, SeatSummary())
    one, two = (Ui("Ann", offers=Offers(levels=levels)) for levels in (("greedy",), ("random", "greedy")))
    assert seen.request_after(one, model, "b") == SeatBot(NEW, "greedy")
    assert seen.request_after(two, model, "b", "enter") == SeatBot(NEW, "greedy")
    assert seen.request_after(two, model, "b", "up", "enter") == SeatBot(NEW, "random")
    levels = Ui("Ann", offers=Offers(levels=("slave", "plebeian", "citizen")))
    assert seen.request_after(levels, model, "b", "enter") == SeatBot(NEW, "plebeian")
    assert seen.request_after(levels, model, "b", "down", "enter") == SeatBot(NEW, "citizen")
    full, guest = gathering(ANN, BOB), replace(model, seat=Seat(1))
    notices = {seen.after(ui, at, "b").notice for ui, at in ((Ui("Ann"), model), (two, full), (two, guest))}
    assert len(notices) == 3
    assert None not in notices


def test_a_player_is_asked_before_the_seat_is_given_up() -> None:
    """A spectator has none, and no question outlives the page that it was asked on."""
    model = gathering(ANN, SeatSummary())
    ui = at_table_page(Ui("Ann"), model)
    for answer, request in (("y", Leave(NEW)), ("n", None), ("escape", None)):
        assert seen.request_after(ui, model, "escape") is None
        assert seen.request_after(ui, model, "escape", answer) == request
    assert seen.request_after(ui, replace(model, seat=None), "escape") == Leave(NEW)
    assert seen.request_after(ui, model, "enter") == StartGame(NEW)
    _ui, playing = seen.laying()
    asked = seen.after(ui, model, "escape")
    assert asked.overlay is not None
    assert at_table_page(asked, playing).overlay is None


def test_a_table_that_phones_can_join_shows_a_code_where_nothing_else_is_cut() -> None:
    """The code leads to a seat; a narrow, low or plain terminal has the address alone."""
    pages = "http://192.168.100.200:7733/"
    ui, model = waiting()
    hosted = Ways(addresses=("ws://192.168.100.200:7733",), other_ways=(pages,), pages=pages)
    ui = replace(ui, ways=hosted)
    wide, usual = drawn(ui, model, UNICODE, 100, 30), drawn(ui, model, UNICODE, 80, 24)
    halves = {"█": (0, 0), "▀": (0, 1), "▄": (1, 0), " ": (1, 1)}
    shown = [text for each in wide.lines for style, text, _ in each if style == "class:code"]
    pairs = [list(zip(*(halves[each] for each in text), strict=True)) for text in shown]
    rows = [row for pair in pairs for row in pair]
    wanted = list(segno.make_qr(f"{pages}play/KXQT", error="l").matrix_iter(border=2))
    assert [list(row) for row in rows[: len(wanted)]] == [list(row) for row in wanted]
    plain = (
        drawn(ui, model, UNICODE, 60, 24),
        drawn(ui, model, UNICODE, 80, 20),
        drawn(ui, model, ASCII, 100, 30),
    )
    for frame in (wide, usual, *plain):
        words = " ".join(seen.text_of(frame).split())
        assert "palatinus join ws://192.168.100.200:7733" in words
        assert "KXQT" in words
        assert (frame in plain) != any(style == "class:code" for each in frame.lines for style, *_ in each)


NOWHERE = TableModel()
PEOPLE = (
    PersonOnline("Ann"),
    PersonOnline("Bob"),
    PersonOnline("Dario", "playing"),
    PersonOnline("Eleonora di Toledo", "playing", "ABCD"),
    PersonOnline("Cosima", "watching", "ABCD"),
)
INVITED = "Who plays? I have a table with two free seats, and the tea is getting cold meanwhile."
REMARKS = (
    LobbyRemark(7, "Bob", INVITED),
    LobbyRemark(8, "Ann", "In a minute."),
    LobbyRemark(9, "Bob", "Lovely."),
)


def in_lobby(*remarks: LobbyRemark, more: int = 0) -> Ui:
    """Return the lobby with people, and what they say."""
    ui = Ui("Ann", seen.ADDRESS, screens=(LobbyPage(TABLES, chosen=1),), offers=Offers(lobby=True))
    ui = after_update(ui, Online(list(PEOPLE), more), NOWHERE)
    return after_update(ui, SaidInLobby(list(remarks)), NOWHERE) if remarks else ui


def shown(ui: Ui, width: int = 80, height: int = 24) -> str:
    return seen.screen_of(ui, NOWHERE, width, height)


def test_the_page() -> None:
    """Below the tables, or beside them where there is room; read on a page of its own as well."""
    ui = in_lobby(*REMARKS, more=12)
    for width, height in ((80, 24), (120, 40)):
        seen.assert_screen(f"lobby-talk-{width}x{height}", shown(ui, width, height))
    seen.assert_screen("lobby-read-80x24", shown(seen.after(ui, NOWHERE, "T")))


@pytest.mark.parametrize(
    "size", [(79, 24), (60, 20), (40, 12), (20, 8), (80, 24), (109, 24), (110, 24), (200, 60)]
)
@pytest.mark.parametrize("people", [1, 50])
def test_any_window(size: tuple[int, int], people: int) -> None:
    width, height = size
    crowd = [PersonOnline(f"Visitor {number}", "playing", "ABCD") for number in range(people)]
    ui = after_update(in_lobby(*REMARKS), Online(crowd, 900), NOWHERE)
    frame = drawn(ui, NOWHERE, UNICODE, width, height)
    assert [get_cwidth(plain(line)) for line in frame.lines] == [width] * height
    assert "ABCD" in seen.text_of(frame)
    assert "T read (2)" in seen.text_of(frame)


def test_a_small_window_says_how_far_the_chosen_table_is() -> None:
    """And that a seat there is the player's: the row has no room for it."""
    ui = in_lobby().with_page(LobbyPage(TABLES, frozenset({"ABCD"}), chosen=1))
    told = " ".join(shown(ui, 40, 12).replace("|", "").split())
    assert "5 of 5 playing; your seat" in told
    assert shown(ui).count("your seat") == 1


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_all_is_said_about_the_chosen_table(size: tuple[int, int]) -> None:
    """However much it is: with a long title, hints and no spectators."""
    long = "T" * TITLE_LENGTH
    table = TableSummary(
        "KXQT", "Bob", 5, 4, "gathering", title=long, switches=Switches(hints=True, spectators=False)
    )
    ui = in_lobby().with_page(LobbyPage((table, *TABLES)))
    page = shown(ui, *size)
    for ending in ("TTT: the", "the table is closed to", "suggested", "who is away", "decides who starts"):
        assert ending in page


def test_remarks_are_unread_until_they_are_read_and_known_by_their_numbers() -> None:
    """What one says oneself is read; what is told again is not shown again."""
    ui = in_lobby(*REMARKS)
    assert ui.talk.unread == 2
    assert "T read (2)" in shown(ui)
    assert after_update(ui, SaidInLobby(list(REMARKS)), NOWHERE) == ui
    read = seen.after(ui, NOWHERE, "T")
    assert isinstance(read.overlay, TalkPage)
    assert after_update(read, SaidInLobby([LobbyRemark(10, "Bob", "Well?")]), NOWHERE).talk.unread == 0
    assert seen.after(read, NOWHERE, "escape").talk.unread == 0


def test_the_lobbys_talk_waits_while_the_player_is_at_a_table() -> None:
    """Neither is lost, nor mixed with the other; whom the player has muted stays muted."""
    muted = seen.after(in_lobby(*REMARKS[:2]), NOWHERE, *seen.typed("mute Bob"))
    table = gathering(ANN, SeatSummary("Cy", here=True))
    there = after_update(muted, HeardRemark(Seat(1), "at the table"), table)
    there = after_update(there, SaidInLobby([REMARKS[2], LobbyRemark(10, "Cosima", "Anybody?")]), table)
    assert spoken(there) == ["Cy: at the table", "Cosima (in the lobby): Anybody?"]
    assert there.talk.unread == 2
    back = after_update(there, Online(list(PEOPLE), 0), NOWHERE)
    assert [each.number for each in back.talk.remarks] == [7, 8, 10]
    assert (back.talk.table, back.talk.unread) == (None, 1), "what was heard at the table is not news"
    assert not back.talk.hears("bob")
    withheld = LobbyRemark(
        9, "Cy", "We wait.", said_at="KXQT"
    )  # from those at the table, to whom it is known
    missed = after_update(back, SaidInLobby([withheld, LobbyRemark(10, "Cosima", "Anybody?")]), NOWHERE)
    assert spoken(missed)[2:] == ["Cy (at KXQT): We wait.", "Cosima: Anybody?"]
    again = at_other_table(there, TableModel(table="QRST"))
    assert (again.lobby_talk, again.company) == (there.lobby_talk, there.company)
    assert at_other_table(there, NOWHERE).talk == at_other_table(back, NOWHERE).talk == back.talk
    elsewhere = at_other_table(back, TableModel(table="QRST"))
    assert (elsewhere.talk.remarks, elsewhere.lobby_talk) == ((), back.talk)


def spoken(ui: Ui) -> list[str]:
    return [labelled(each.speaker, each.text) for each in ui.talk.remarks]


def test_who_is_muted_at_the_table_or_in_the_lobby_is_not_overheard() -> None:
    table = gathering(ANN, SeatSummary("Cy", here=True))
    said = [LobbyRemark(10, "Cosima", "Anybody?"), LobbyRemark(11, "Bob", "👏")]
    there = seen.after(at_table(table), table, *seen.typed("mute bob"))
    there = replace(there, lobby_talk=replace(there.lobby_talk, muted=frozenset({"cosima"})))
    assert after_update(there, SaidInLobby(said), table).talk == there.talk
    heard = after_update(at_table(table), SaidInLobby(said), table)
    assert spoken(heard) == ["Cosima (in the lobby): Anybody?", "Bob (in the lobby): Well played!"]
    assert after_update(heard, SaidInLobby(said), table) == heard


def test_players_are_told_who_hears_what_they_say() -> None:
    table = gathering(ANN, SeatSummary("Cy", here=True))
    ui = at_table(table)

    def prompt(ui: Ui) -> str:
        return seen.screen_of(seen.after(ui, table, "t"), table).splitlines()[-1]

    assert "say, to the lobby too:" in prompt(ui)
    assert seen.request_after(ui, table, "t", *"hi", "enter") == Say(NEW, "hi")
    assert "say:" in prompt(replace(ui, company=OnlineList(fault="Somebody has this name.")))
    seen.change(table, switches=Switches(private=True))
    assert "say:" in prompt(ui)


def test_keys_and_typed_lines_say_things_in_the_lobby() -> None:
    """A line begun at a table never gets to the lobby, whatever happens in the meantime."""
    ui = in_lobby()
    assert seen.request_after(ui, NOWHERE, "t", *"hello", "enter") == SayInLobby(NEW, "hello")
    assert seen.request_after(ui, NOWHERE, *seen.typed("say hello")) == SayInLobby(NEW, "hello")
    assert "say in the lobby:" in shown(seen.after(ui, NOWHERE, "t"))
    table = gathering(ANN)
    typing = seen.after(ui, table, "t", *"between us")
    assert seen.request_after(typing, NOWHERE, "enter") == Say(NEW, "between us")


INVITATION = LobbyRemark(10, "Bob", "Come to table KXQT.", "KXQT")


def test_an_invitation_is_a_question_that_enter_answers_once_for_each_table() -> None:
    before = in_lobby(*REMARKS)
    ui = after_update(before, SaidInLobby([INVITATION]), NOWHERE)
    assert heard_from_lobby(before, ui) == "Bob invites you to table KXQT."
    seen.assert_screen("lobby-invited-80x24", shown(ui))
    assert seen.request_after(ui, NOWHERE, "enter") == requests.Join("KXQT")
    stays = seen.after(ui, NOWHERE, "n")
    assert (stays.overlay, stays.talk.remarks[-1].text) == (None, "Come to table KXQT.")
    for told in (INVITATION, structs.replace(INVITATION, number=11)):
        again = after_update(stays, SaidInLobby([told]), NOWHERE)
        assert (again.overlay, heard_from_lobby(stays, again)) == (None, None)
    other = after_update(ui, SaidInLobby([LobbyRemark(12, "Cosima", "", "ABCD")]), NOWHERE)
    assert seen.request_after(other, NOWHERE, "enter") == requests.Join("ABCD")
    assert seen.after(other, NOWHERE, "escape").overlay is None


def test_nobody_is_asked_by_the_muted_nor_by_themselves() -> None:
    muted = seen.after(in_lobby(), NOWHERE, *seen.typed("mute Bob"))
    for said in (INVITATION, structs.replace(INVITATION, name="Ann")):
        assert after_update(muted, SaidInLobby([said]), NOWHERE).overlay is None


def at_table(table: TableModel) -> Ui:
    """Return the table as it is seen by Ann, who was in the lobby."""
    offers = Offers(lobby=True, invitations=True)
    return at_table_page(replace(in_lobby(), offers=offers), table)


def test_a_table_hears_once_who_comes_to_the_lobby_and_invites_them() -> None:
    table = gathering(ANN, SeatSummary())
    ui = at_table(table)
    assert "in the lobby: Bob" in seen.screen_of(ui, table)
    emma = PersonOnline("emma", by="ssh")
    heard = after_update(ui, Online([emma, *PEOPLE]), table)
    assert heard.log[-1:] == ("emma (ssh) has come to the lobby. i: invite",)
    assert heard_from_lobby(ui, heard) == heard.log[-1]
    assert seen.request_after(heard, table, "i") == Invite(NEW)
    assert seen.request_after(heard, table, *seen.typed("invite")) == Invite(NEW)
    gone = after_update(heard, Online(list(PEOPLE)), table)
    back = after_update(gone, Online([emma, *PEOPLE]), table)
    assert (back.log, heard_from_lobby(gone, back)) == (heard.log, None)


def test_who_was_at_the_table_and_a_crowd_are_not_announced() -> None:
    table = gathering(ANN, SeatSummary())
    ui = after_update(at_table(table), Online([*PEOPLE, PersonOnline("Cy", "watching", "KXQT")]), table)
    assert after_update(ui, Online([*PEOPLE, PersonOnline("Cy")]), table).log == ui.log
    crowd = [PersonOnline(f"Visitor {number}") for number in range(20)]
    assert after_update(ui, Online([*PEOPLE, *crowd]), table).log == ui.log
    evening = Evening("Friday", tables=[EveningTable("KXQT", 1, "gathering", [1, 2])])
    drawn_there = replace(ui, evening=evening)
    assert after_update(drawn_there, Online([*PEOPLE, PersonOnline("emma")]), table).log == ui.log


@pytest.mark.parametrize(
    ("why", "told"),
    [
        ("private", "Private tables"),
        ("full", "No seat is free."),
        ("watching", "You are watching."),
        ("alone", "Nobody is in the lobby."),
        ("no lobby", "no chat in the lobby"),
    ],
)
def test_why_nobody_is_invited(why: str, told: str) -> None:
    table = gathering(ANN, *([BOB] if why == "full" else [SeatSummary()]))
    ui = at_table(table)
    if why == "private":
        seen.change(table, switches=Switches(private=True))
    elif why == "watching":
        table.seat = None
    elif why == "alone":
        ui = after_update(ui, Online([PersonOnline("Ann", "playing", "KXQT")]), table)
    elif why == "no lobby":
        ui = replace(ui, offers=Offers())
    pressed, request = after_key(ui, "i", table)
    assert (request, told in seen.notice_of(pressed)) == (None, True)


def test_who_hosts_others_is_asked_before_the_server_stops() -> None:
    ui = seen.at_home(replace(in_lobby(), ways=Ways(addresses=("ws://192.0.2.7:7733",))))
    assert ui.company is not None
    for key, errand in (("q", requests.Errand.QUIT), ("escape", requests.Errand.GO_HOME)):
        asked = seen.after(ui, NOWHERE, key)
        assert "have to wait" in shown(asked)
        assert seen.request_after(asked, NOWHERE, "y") == errand
    alone = replace(ui, company=replace(ui.company, people=ui.company.people[:1]))
    assert seen.request_after(alone, NOWHERE, "escape") == requests.Errand.GO_HOME
    assert "Quit Palatinus?" in shown(seen.after(alone, NOWHERE, "q"))


@pytest.mark.parametrize("others", [True, False])
def test_who_comes_back_to_a_game_that_they_host_is_asked_for_the_others(others: bool) -> None:
    """They have not been in the lobby: who is online is not known."""
    ui, model = seen.placing()
    ui = replace(ui, company=None, ways=Ways(addresses=("ws://192.0.2.7:7733",)))
    assert model.state is not None
    seats = enumerate(model.state.seats)
    here = [structs.replace(each, here=others or seat == model.seat) for seat, each in seats]
    seen.change(model, seats=here)
    assert ("have to wait" in seen.screen_of(seen.after(ui, model, "q"), model)) == others


def test_people_online_are_muted_by_name() -> None:
    ui = seen.after(in_lobby(), NOWHERE, ":", *"mute B", "tab")
    assert seen.line_of(ui) == "mute Bob"
    ui = after_update(seen.after(ui, NOWHERE, "enter"), SaidInLobby(list(REMARKS)), NOWHERE)
    assert [each.speaker for each in ui.talk.remarks] == ["Ann"]
    ui = after_update(
        seen.after(ui, NOWHERE, *seen.typed("unmute bob")), SaidInLobby(list(REMARKS[:1])), NOWHERE
    )
    assert [each.speaker for each in ui.talk.remarks] == ["Ann", "Bob"]
    assert seen.after(ui, NOWHERE, *seen.typed("mute")).notice is not None


def test_a_name_that_is_taken_can_be_changed_on_the_spot() -> None:
    ui = replace(in_lobby(), company=OnlineList(fault="Someone on this server already has that name."))
    assert "already has that name" in shown(ui)
    assert "already has that name" in " ".join(row[76:119].strip() for row in shown(ui, 120, 40).splitlines())
    asked = seen.after(ui, NOWHERE, "t", *["backspace"] * 3, *"Livia")
    assert seen.request_after(asked, NOWHERE, "enter") == requests.Rename("Livia")


def test_without_a_lobby_there_is_nothing_to_say_or_read() -> None:
    ui = Ui("Ann", seen.ADDRESS, screens=(LobbyPage(TABLES),))
    assert " say" not in shown(ui)
    for key in ("t", "T"):
        told = seen.after(ui, NOWHERE, key)
        assert (told.entry, told.overlay, bool(seen.notice_of(told))) == (None, None, True)


def test_nobody_is_online_while_there_is_no_connection() -> None:
    ui = after_update(in_lobby(*REMARKS), ConnectionLost("The connection was lost.", 1.0), NOWHERE)
    assert "Cosima" not in shown(ui)
    assert "Lovely." in shown(after_update(ui, Online(list(PEOPLE), 0), NOWHERE))
