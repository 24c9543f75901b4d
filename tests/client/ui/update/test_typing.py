"""Typed lines: what they ask for, mistakes in them, editing and completion."""

from dataclasses import replace

import pytest

from client.tables.table import TableModel
from client.ui import requests
from client.ui.at_table import Selection, hand, next_piece, next_position
from client.ui.keys import Way
from client.ui.screens.dispatch import pressed
from client.ui.screens.news import followed, refused
from client.ui.state import Entry, Ui
from engine.errors import Fault
from engine.events import LayTile, Place
from engine.legal import LegalLays
from engine.pieces import Piece, Seat
from protocol.codes import Code
from protocol.messages import NEW, Leave, Say, StartGame
from tests.client.ui.seen import (
    after,
    request_after,
    state_of,
    typed,
)
from tests.client.ui.update.positions import laying, placing


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("m* C4", Place(Seat(0), Piece("Em*"), "C4")),  # type: ignore[arg-type]
        ("place F a1", Place(Seat(0), Piece("Ef"), "A1")),  # type: ignore[arg-type]
        ("Lm* C4", Place(Seat(0), Piece("Lm*"), "C4")),  # type: ignore[arg-type]
        ("es g6", Place(Seat(0), Piece("Es"), "G6")),  # type: ignore[arg-type]
        ("lay 3 2", LayTile(Seat(0), 3, 2)),
        ("lay 3", LayTile(Seat(0), 3, 0)),
        ("say  m* C4 ", Say(NEW, "m* C4")),
        ("leave", Leave(NEW)),
        ("start", StartGame(NEW)),
        ("join kxqt", requests.Join("KXQT")),
        ("watch KXQT", requests.Watch("KXQT")),
        ("open 4", requests.Open(4)),
        ("open 2 random", requests.Open(2, random_layout=True)),
        ("open starts:4 4", requests.Open(4, starting=Seat(3))),
        ("open 2 starts:Me random", requests.Open(2, random_layout=True, starting=Seat(0))),
        ("open starts:random", requests.Open(3)),
    ],
)
def test_typed_commands(text: str, request_: requests.Request) -> None:
    ui, model = placing(2)
    assert request_after(ui, model, *typed(text)) == request_


@pytest.mark.parametrize(
    "text", ["s* C4", "m H9", "x", "lay 7 0", "lay 1 6", "lay", "lay 1 2 3", "open 9", "say"]
)
def test_a_line_that_is_not_understood_can_be_corrected(text: str) -> None:
    ui, model = placing()
    ui = after(ui, model, *typed(text))
    assert ui.notice is not None
    assert ui.entry is not None
    assert ui.entry.text == text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Em* B9", "There is no field B9. "),
        ("place Em c7", "There is no field C7. "),
        ("Xm B9", "'Xm B9' is not a command. "),
        ("place Foo Bar", "'place Foo Bar' is not a command. "),
    ],
)
def test_a_mistyped_placement_is_quoted_as_typed(text: str, sentence: str) -> None:
    """The notice names the field if the field is wrong, and otherwise the whole line."""
    ui, model = placing()
    notice = after(ui, model, *typed(text)).notice
    assert notice is not None
    assert notice.text.startswith(sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("open 9", "Palatinus is for 2 to 5 players, not 9."),
        ("open never", "'never' is not an absence policy. "),
        ("join abc", "'abc' is not a table code: "),
        ("watch 1234", "'1234' is not a table code: "),
        ("m*", "'m*' is not a command. Type a piece and a field, "),
        ("foo", "'foo' is not a command. Press ? "),
    ],
)
def test_a_notice_says_what_is_wrong_with_a_line(text: str, sentence: str) -> None:
    ui, model = placing()
    notice = after(ui, model, *typed(text)).notice
    assert notice is not None
    assert notice.text.startswith(sentence)


@pytest.mark.parametrize("text", ["stool 5", "Xm B9", "place Foo Bar"])
def test_before_the_game_no_line_is_taken_for_a_move(text: str) -> None:
    """Whoever mistypes a command in the waiting room is sent to the commands, not to pieces and fields."""
    model = TableModel("KXQT", Seat(0), state=state_of(2))
    notice = after(followed(Ui("Ann"), model), model, *typed(text)).notice
    assert notice is not None
    assert notice.text == f"'{text}' is not a command. Press ? for the list."


def test_a_line_is_edited() -> None:
    ui, model = placing()
    keys = (
        ":",
        *"mx C",
        "left",
        "left",
        "backspace",
        "right",
        "right",
        "4",
        "home",
        "delete",
        "f",
        "end",
        "left",
    )
    entry = after(ui, model, *keys).entry
    assert entry is not None
    assert (entry.text, entry.at) == ("f C4", 3)
    assert after(ui, model, *keys, "c-u", "backspace").entry is None
    assert after(ui, model, *keys, "escape").entry is None
    assert after(ui, model, ":", "enter").entry is None


def test_completion_stops_where_lines_differ() -> None:
    ui, model = placing()
    entry = after(ui, model, ":", "r", "tab").entry
    assert entry is not None
    assert entry.text == "rules"
    entry = after(ui, model, ":", "m", "*", " ", "tab").entry
    assert entry is not None
    assert entry.text.startswith("m* ")
    ui, model = laying()
    entry = after(ui, model, ":", "l", "a", "tab").entry
    assert entry is not None
    assert entry.text.startswith("lay ")


def test_earlier_lines_can_be_recalled() -> None:
    ui, model = placing()
    ui = after(ui, model, *typed("help"), "escape", *typed("rules"), "escape")
    entries = [
        after(ui, model, ":", *keys).entry for keys in (["up"], ["up", "up"], ["up", "up", "down", "down"])
    ]
    assert [entry.text for entry in entries if entry] == ["rules", "help", ""]


def test_a_refused_line_can_be_corrected() -> None:
    """It is back when the server refuses what it says, and a line typed in the meantime stays.

    Otherwise, as when it is not the player's turn, the next key would be typed into it.
    """
    ui, model = placing()
    waiting, request = pressed(after(ui, model, *typed("m A1")[:-1]), "enter", model)
    assert request is not None
    assert waiting.entry is None
    assert refused(waiting, "It is not your turn.", Fault.NOT_YOUR_TURN).entry is None
    corrected = refused(waiting, "A1 is taken.", Fault.FIELD_TAKEN)
    assert corrected.entry is not None
    assert corrected.entry.text == "m A1"
    assert refused(replace(waiting, sent=None), "A1 is taken.", Fault.FIELD_TAKEN).entry is None
    said = replace(waiting, sent=Entry(chat=True).filled("hello"))
    assert refused(said, "Too many messages.", Code.TOO_MUCH_CHAT).entry == said.sent
    late = after(ui, model, *typed("bot senator"), "enter")
    assert late.entry is None
    assert late.notice is not None
    again = after(waiting, model, *typed("m A2"))
    assert again.entry is not None
    assert again.entry.text == "m A2"


def test_pieces_and_positions_are_chosen_forwards_and_back() -> None:
    _, model = placing()
    pieces = [each.piece for each in hand(model) if each.count]
    chosen = Selection(piece=pieces[1])
    assert [next_piece(chosen, model, by) for by in (1, -1)] == [pieces[2], pieces[0]]
    _, model = laying()
    assert isinstance(model.legal, LegalLays)
    open_ones = model.legal.positions
    chosen = Selection(position=open_ones[0])
    assert next_position(chosen, model.legal, Way.EAST) == open_ones[1]
    assert next_position(chosen, model.legal, Way.WEST) == open_ones[-1]
