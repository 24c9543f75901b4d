"""The scoring walk-through tells the scoring as it was."""

from hypothesis import given

from client.ui.draw.scene import scene
from client.ui.update.table.scoring_steps import last_step, steps
from engine.events import Captured, HillScored, SoldierFled
from engine.game import Game
from tests.client.ui.seen import NAMES
from tests.games import finished_games


@given(finished_games())
def test_points_add_up_to_the_result(game: Game) -> None:
    """R7.1: at the end everybody has the points of the result."""
    assert game.view.result is not None
    last = scene(game.view, last_step(game.view), NAMES)
    assert last.points == tuple(tally.points for tally in game.view.result.tallies)
    assert scene(game.view, 0, NAMES).points == (0,) * game.view.seats


@given(finished_games())
def test_the_board_stands_as_it_stood_at_each_step(game: Game) -> None:
    """R5.4: the soldiers of a hill see the board before they act, the influence that after all of them."""
    view = game.view
    for number, step in enumerate(steps(view)):
        event = view.scoring[step.event]
        shown = scene(view, number, NAMES)
        board = shown.board.board
        if isinstance(event, SoldierFled | Captured):
            assert {event.field, *event.merchants, *event.farmers} <= board.keys()
        if isinstance(event, HillScored):
            assert {piece.field for piece in event.pieces} <= board.keys()
            for act in shown.acts:
                assert act.field in board or isinstance(act, SoldierFled)
                assert not isinstance(act, Captured) or not {*act.taken} & board.keys()
    assert shown.board.board == view.board


@given(finished_games())
def test_every_influence_is_told_as_arithmetic_on_the_board(game: Game) -> None:
    """R6: the notes on the board add up to the piece's influence, the pieces to the hill's totals."""
    view = game.view
    for number, step in enumerate(steps(view)):
        shown = scene(view, number, NAMES)
        if shown.counting is not None:
            assert sum(map(int, shown.marks.notes.values())) == shown.counting.amount
            assert str(shown.counting.amount) in shown.sentence or not shown.counting.amount
        event = view.scoring[step.event]
        if isinstance(event, HillScored) and step.part is None:
            for seat in range(view.seats):
                told = sum(piece.amount for piece in shown.counted if piece.seat == seat)
                assert told == event.influence[seat]
