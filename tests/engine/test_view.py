"""The state that events fold into."""

import pytest
from hypothesis import given

from engine.events import Captured, SoldierFled
from engine.game import Game
from engine.pieces import NOTATIONS, Piece
from engine.scoring import removed
from engine.view import SPECTATOR, View, seat_of
from tests.games import finished_games, games


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


@given(finished_games())
def test_the_board_keeps_what_no_soldier_has_taken(game: Game) -> None:
    """R5.2, R5.3: who flees or is captured is off the board, and still among what was placed."""
    acts = [event for event in game.view.scoring if isinstance(event, SoldierFled | Captured)]
    gone = {field for act in acts for field in removed(act)}
    assert game.view.board.keys() == game.view.placed.keys() - gone
