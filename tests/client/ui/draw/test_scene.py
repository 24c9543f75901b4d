"""The scoring walk-through shows the scoring that took place."""

from hypothesis import given

from client.ui.screens.scoring import last_step, scene, steps
from engine.events import Captured, HillScored, SoldierFled
from engine.game import Game
from tests.client.ui.seen import NAMES
from tests.games import finished_games


@given(finished_games())
def test_points_add_up_to_the_result(game: Game) -> None:
    """R7.1: at the end, everybody's points are those of the result."""
    assert game.view.result is not None
    last = scene(game.view, last_step(game.view), NAMES)
    assert last.points == tuple(tally.points for tally in game.view.result.tallies)
    assert scene(game.view, 0, NAMES).points == (0,) * game.view.seats


@given(finished_games())
def test_each_step_shows_the_board_of_its_moment(game: Game) -> None:
    """R5.4: soldiers act on the board before them, and influence counts on the board after them."""
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
def test_the_notes_on_the_board_add_up_to_the_influence(game: Game) -> None:
    """R6: notes add up to a piece's influence, and pieces to the hill's totals."""
    view = game.view
    for number, step in enumerate(steps(view)):
        shown = scene(view, number, NAMES)
        if shown.counting is not None:
            assert sum(map(int, shown.marks.notes.values())) == shown.counting.amount
            assert str(shown.counting.amount) in shown.sentence or not shown.counting.amount
        event = view.scoring[step.event]
        if isinstance(event, HillScored) and step.part is None:
            for seat in range(view.seats):
                total = sum(piece.amount for piece in shown.counted if piece.seat == seat)
                assert total == event.influence[seat]
