"""Moves that are suggested to people."""

from hypothesis import given

from client.bots.hints import suggested
from engine.events import LayTile, Place
from engine.game import Game
from engine.pieces import Kind
from engine.redaction import redacted_legal, snapshot
from engine.view import eyes_of
from tests.games import games


@given(games())
def test_a_hint_is_a_legal_move_with_a_reason_where_its_effect_is_none(game: Game) -> None:
    """It is made from what the seat on turn sees; laying a tile has a reason, and so has a merchant alone."""
    legal = game.legal()
    if legal is None:
        return
    eyes = eyes_of(legal.seat)
    assert redacted_legal(legal, eyes) == legal
    view = snapshot(game.view, eyes)
    found = suggested(view, legal)
    assert found.command in game.legal_commands()
    match found.command:
        case LayTile():
            assert found.reason.startswith("Springs lie ")
        case Place(piece=piece, field=field):
            alone = not any(beside in view.placed for beside in view.layout.adjacent(field))
            assert bool(found.reason) or piece.kind is not Kind.MERCHANT or not alone
