"""The lobby on the screen: who is online, what is said there, and what is typed to take part."""

from dataclasses import replace

import pytest
from prompt_toolkit.utils import get_cwidth

from client.tables.table import Heard, HeardInLobby, Lost, OnlineChanged, TableModel
from client.ui import requests
from client.ui.frame import plain
from client.ui.screens.dispatch import ways_on
from client.ui.screens.lobby import Lobby
from client.ui.screens.news import gone_on, heard
from client.ui.screens.overlays import TalkPage
from client.ui.screens.screen import drawn
from client.ui.state import Capabilities, OnlineList, Ui
from client.ui.texts.glyphs import UNICODE
from engine.pieces import Seat
from protocol.limits import TITLE_LENGTH
from protocol.messages import (
    NEW,
    LobbyRemark,
    PersonOnline,
    Say,
    SayInLobby,
    SeatSummary,
    TableState,
    TableSummary,
)
from tests.client.ui.draw.sample_pages import TABLES
from tests.client.ui.seen import ADDRESS, after, assert_screen, request_after, text_of, typed

NOWHERE = TableModel()
PEOPLE = (
    PersonOnline("Ann"),
    PersonOnline("Bob"),
    PersonOnline("Dario", "playing"),
    PersonOnline("Eleonora di Toledo", "playing", "ABCD"),
    PersonOnline("Cosima", "watching", "ABCD"),
)
REMARKS = (
    LobbyRemark(
        7, "Bob", "Who plays? I have a table with two free seats, and the tea is getting cold meanwhile."
    ),
    LobbyRemark(8, "Ann", "In a minute."),
    LobbyRemark(9, "Bob", "Lovely."),
)


def in_lobby(*remarks: LobbyRemark, more: int = 0) -> Ui:
    """Return the lobby with people, and what they say."""
    ui = Ui("Ann", ADDRESS, Capabilities(lobby=True), page=Lobby(TABLES, chosen=1))
    ui = heard(ui, OnlineChanged(PEOPLE, more), NOWHERE)
    return heard(ui, HeardInLobby(remarks), NOWHERE) if remarks else ui


def shown(ui: Ui, width: int = 80, height: int = 24) -> str:
    return text_of(drawn(ui, NOWHERE, UNICODE, width, height))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_the_page(size: tuple[int, int]) -> None:
    """Below the tables, or beside them where there is room; read on a page of its own as well."""
    width, height = size
    ui = in_lobby(*REMARKS, more=12)
    assert_screen(f"lobby-talk-{width}x{height}", shown(ui, *size))
    assert_screen(f"lobby-read-{width}x{height}", shown(after(ui, NOWHERE, "T"), *size))


@pytest.mark.parametrize(
    "size", [(79, 24), (60, 20), (40, 12), (20, 8), (80, 24), (109, 24), (110, 24), (200, 60)]
)
@pytest.mark.parametrize("people", [1, 50])
def test_any_window(size: tuple[int, int], people: int) -> None:
    """Every line is as wide as the window; the tables and the unread remarks are seen in all of them."""
    width, height = size
    crowd = tuple(PersonOnline(f"Visitor {number}", "playing", "ABCD") for number in range(people))
    ui = heard(in_lobby(*REMARKS), OnlineChanged(crowd, 900), NOWHERE)
    frame = drawn(ui, NOWHERE, UNICODE, width, height)
    assert [get_cwidth(plain(line)) for line in frame.lines] == [width] * height
    assert "ABCD" in text_of(frame)
    assert "T read (2)" in text_of(frame)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_all_is_said_about_the_chosen_table(size: tuple[int, int]) -> None:
    """However much it is: with a long title, hints and no spectators."""
    table = TableSummary(
        "KXQT", "Bob", 5, 4, "gathering", title="T" * TITLE_LENGTH, hints=True, no_spectators=True
    )
    ui = replace(in_lobby(), page=Lobby((table, *TABLES)))
    page = shown(ui, *size)
    for ending in ("TTT: the", "the table is closed to", "suggested", "who is away", "decides who starts"):
        assert ending in page


def test_remarks_are_unread_until_they_are_read_and_known_by_their_numbers() -> None:
    """What one says oneself is read; what is told again is not shown again."""
    ui = in_lobby(*REMARKS)
    assert ui.talk.unread == 2
    assert "T read (2)" in shown(ui)
    assert heard(ui, HeardInLobby(REMARKS), NOWHERE) == ui
    read = after(ui, NOWHERE, "T")
    assert isinstance(read.overlay, TalkPage)
    assert heard(read, HeardInLobby((LobbyRemark(10, "Bob", "Well?"),)), NOWHERE).talk.unread == 0
    assert after(read, NOWHERE, "escape").talk.unread == 0


def test_the_lobbys_talk_waits_while_the_player_is_at_a_table() -> None:
    """Neither is lost, nor mixed with the other; whom the player has muted stays muted."""
    muted = after(in_lobby(*REMARKS[:2]), NOWHERE, *typed("mute Bob"))
    state = TableState("KXQT", "gathering", [SeatSummary("Ann", here=True), SeatSummary("Cy", here=True)], 0)
    table = TableModel(table="KXQT", seat=Seat(0), state=state)
    there = heard(muted, Heard(Seat(1), "at the table"), table)
    there = heard(there, HeardInLobby((REMARKS[2], LobbyRemark(10, "Cosima", "Anybody?"))), table)
    assert [each.text for each in there.talk.remarks] == ["at the table"]
    back = heard(there, OnlineChanged(PEOPLE, 0), NOWHERE)
    assert [each.number for each in back.talk.remarks] == [7, 8, 10]
    assert (back.talk.table, back.talk.unread) == (None, 2)
    assert not back.talk.hears("bob")
    again = gone_on(there, TableModel(table="QRST"))
    assert (again.lobby_talk, again.company) == (there.lobby_talk, there.company)
    assert gone_on(there, NOWHERE).talk == gone_on(back, NOWHERE).talk == back.talk
    elsewhere = gone_on(back, TableModel(table="QRST"))
    assert (elsewhere.talk.remarks, elsewhere.lobby_talk) == ((), back.talk)


def test_keys_and_typed_lines_say_things_in_the_lobby() -> None:
    """A line begun at a table never gets to the lobby, whatever happens in the meantime."""
    ui = in_lobby()
    assert request_after(ui, NOWHERE, "t", *"hello", "enter") == SayInLobby(NEW, "hello")
    assert request_after(ui, NOWHERE, *typed("say hello")) == SayInLobby(NEW, "hello")
    assert "say in the lobby:" in shown(after(ui, NOWHERE, "t"))
    state = TableState("KXQT", "gathering", [SeatSummary("Ann", here=True)], 0)
    table = TableModel(table="KXQT", seat=Seat(0), state=state)
    typing = after(ui, table, "t", *"between us")
    assert request_after(typing, NOWHERE, "enter") == Say(NEW, "between us")


def test_people_online_are_muted_by_name() -> None:
    """Completion knows the names; what the muted say is not kept, until they are heard again."""
    ui = after(in_lobby(), NOWHERE, ":", *"mute B")
    assert ui.entry is not None
    assert ways_on(ui, ui.entry, NOWHERE) == ("mute Bob",)
    ui = heard(after(ui, NOWHERE, "tab", "enter"), HeardInLobby(REMARKS), NOWHERE)
    assert [each.speaker for each in ui.talk.remarks] == ["Ann"]
    ui = heard(after(ui, NOWHERE, *typed("unmute bob")), HeardInLobby(REMARKS[:1]), NOWHERE)
    assert [each.speaker for each in ui.talk.remarks] == ["Ann", "Bob"]
    assert after(ui, NOWHERE, *typed("mute")).notice is not None


def test_a_name_that_is_taken_can_be_changed_on_the_spot() -> None:
    """The page says so, and the key to talk asks for another name."""
    ui = replace(in_lobby(), company=OnlineList(fault="Someone on this server already has that name."))
    assert "already has that name" in shown(ui)
    assert "already has that name" in " ".join(row[76:119].strip() for row in shown(ui, 120, 40).splitlines())
    asked = after(ui, NOWHERE, "t", *["backspace"] * 3, *"Livia")
    assert request_after(asked, NOWHERE, "enter") == requests.Rename("Livia")


def test_without_a_lobby_there_is_nothing_to_say_or_read() -> None:
    """At a server without one, the keys are not offered, and say so."""
    ui = Ui("Ann", ADDRESS, page=Lobby(TABLES))
    assert " say" not in shown(ui)
    for key in ("t", "T"):
        told = after(ui, NOWHERE, key)
        assert told.notice is not None
        assert told.entry is None
        assert told.overlay is None


def test_nobody_is_online_while_there_is_no_connection() -> None:
    ui = heard(in_lobby(*REMARKS), Lost("The connection was lost.", 1.0), NOWHERE)
    assert "Cosima" not in shown(ui)
    assert "Lovely." in shown(heard(ui, OnlineChanged(PEOPLE, 0), NOWHERE))
