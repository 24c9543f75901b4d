"""The page on the screen: it follows the server's table, and keeps the player's choices."""

from dataclasses import replace

from client.tables.table import TableModel
from client.ui.screens.gathering import Gathering
from client.ui.screens.lobby import Lobby
from client.ui.screens.news import followed
from client.ui.screens.playing import Playing
from client.ui.screens.scoring import Result, Scoring
from client.ui.screens.screen import drawn
from client.ui.screens.start import Start
from client.ui.state import Talk, Ui
from client.ui.texts.glyphs import UNICODE
from engine.game import GameOptions
from engine.pieces import Piece
from protocol.messages import TableSummary
from tests.client.ui.seen import model_of, text_of
from tests.games import played

LOBBY = Lobby((TableSummary("KXQT", "Bob", 3, 1, "gathering"),), chosen=1)
TABLE = TableModel("KXQT")
RUNNING = model_of(played(GameOptions(3, random_layout=True), 1, 6), 0)
OVER = model_of(played(GameOptions(3, random_layout=True), 1), 0)


def test_the_page_follows_the_table() -> None:
    """From the lobby to the result and back; choices on other pages are dropped."""
    ui = Ui("Ann", page=LOBBY)
    for model, page in (
        (TABLE, Gathering()),
        (RUNNING, Playing()),
        (OVER, Scoring()),
        (TABLE, Gathering()),
        (TableModel(), Lobby()),
    ):
        ui = followed(ui, model)
        assert ui == Ui("Ann", page=page, talk=Talk(model.table))


def test_choices_stay_on_the_same_page() -> None:
    for page, model in (
        (LOBBY, TableModel()),
        (Playing(piece=Piece("Em")), RUNNING),
        (Scoring(5), OVER),
        (Result(), OVER),
    ):
        assert followed(Ui("Ann", page=page), model) == Ui("Ann", page=page, talk=Talk(model.table))


def test_a_page_without_a_server_stays() -> None:
    start = Start(("plebeian",))
    assert followed(Ui("Ann", page=start), RUNNING).page == start


def test_the_screen_shows_the_current_table() -> None:
    """The table is updated before the UI state, and a screen drawn in between fits the table."""
    ui = Ui("Ann", page=Scoring(5))
    assert "PLAYERS" in text_of(drawn(ui, RUNNING, UNICODE, 80, 24))
    assert "the lobby" in text_of(drawn(replace(ui, page=Playing()), TableModel(), UNICODE, 80, 24))
