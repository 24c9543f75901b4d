"""How long bots take."""

import random

from hypothesis import given

from engine.board import FIELDS
from engine.game import Game, GameOptions
from engine.pieces import Piece
from engine.redaction import snapshot
from engine.view import SPECTATOR
from protocol.bot_pace import LEAST_SECONDS, MOST_SECONDS, seconds_to_move
from tests.games import games, played, seeds


@given(games(), seeds)
def test_a_move_takes_as_long_whatever_is_hidden(game: Game, seed: int) -> None:
    for_all, public = (
        seconds_to_move(view, random.Random(seed)) for view in (game.view, snapshot(game.view, SPECTATOR))
    )
    assert for_all == public
    assert LEAST_SECONDS <= public <= MOST_SECONDS


class _Slowest(random.Random):
    def random(self) -> float:
        return 1.0


def _slowest(placed: int, latest: str = "Em") -> float:
    """Return the most seconds for a move on a board with so many pieces, `latest` the last of them."""
    view = played(GameOptions(3, random_layout=True), 1, 0).view
    fields = FIELDS[:placed]
    view.placed = {field: Piece("Em") for field in fields}
    if fields:
        view.placed[fields[-1]] = Piece(latest)
    return seconds_to_move(view, _Slowest())


def test_a_bot_is_quick_where_little_is_left_to_decide() -> None:
    """It needs longer for the first piece, and to answer a soldier or a wolf."""
    laying = seconds_to_move(played(GameOptions(3), 1, 0).view, _Slowest())
    assert laying < _slowest(30) < _slowest(5) < _slowest(5, "Es") == _slowest(5, "Em*") < _slowest(0)
