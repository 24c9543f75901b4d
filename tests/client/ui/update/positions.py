"""Positions of a game on the screen, for the tests of what keys do."""

from client.tables.table import TableModel
from client.ui.state import Ui
from engine.game import Game, GameOptions
from tests.client.ui.seen import (
    model_of,
    played_until_turn_of,
    ui_of,
)
from tests.games import played

LOBBY = TableModel()


def placing(players: int = 3, seat: int = 0) -> tuple[Ui, TableModel]:
    game = played_until_turn_of(played(GameOptions(players, random_layout=True), 1, 6), seat)
    model = model_of(game, seat)
    return ui_of(game, model), model


def laying() -> tuple[Ui, TableModel]:
    game = played_until_turn_of(played(GameOptions(3), 1, 1), 1)
    model = model_of(game, 1)
    return ui_of(game, model), model


def over() -> tuple[Ui, TableModel]:
    game: Game = played(GameOptions(3, random_layout=True), 1)
    model = model_of(game, 0)
    return ui_of(game, model), model
