"""The state that events fold into."""

import pytest
from hypothesis import given

from engine.game import Game
from engine.pieces import NOTATIONS, Piece
from engine.view import SPECTATOR, View, seat_of
from tests.games import games


def test_a_game_that_has_not_started_has_no_start() -> None:
    """Whoever asks too early finds out immediately."""
    with pytest.raises(LookupError):
        _ = View(SPECTATOR).start


@given(games())
def test_every_people_in_play_has_one_seat(game: Game) -> None:
    """R9.6: a piece's people tells its owner, at two players too."""
    for field, piece in game.view.placed.items():
        assert seat_of(game.view.start, piece.people) == game.view.owners[field]
    played_by = [people for peoples in game.view.start.peoples for people in peoples]
    for people in {Piece(notation).people for notation in NOTATIONS} - set(played_by):
        with pytest.raises(LookupError):
            seat_of(game.view.start, people)
