"""What several tests of the network begin with."""

import pytest

from engine.game import Game, GameOptions
from engine.pieces import Seat
from tests.games import played


@pytest.fixture
def game() -> Game:
    """Return a game about halfway through."""
    return played(GameOptions(2, Seat(0)), 1, 12)
