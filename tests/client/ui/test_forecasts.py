"""What a piece would do, in words."""

from client.ui.texts.games import describe_forecast
from engine.board import Field, Tile
from engine.forecast import Change, Forecast, Outcome
from engine.knowledge import Bounds, HillInfluence
from engine.pieces import Piece, Seat


def test_a_soldiers_captives_and_uncertain_changes_are_plain_words() -> None:
    """Whose pieces they are, and how many; zero has no sign."""
    found = Forecast(
        piece=Piece("Es"),
        field=Field("A1"),
        gives=None,
        acts=frozenset({Outcome.MERCHANTS}),
        captives={Seat(1): Bounds(1, 1), Seat(2): Bounds(0, 2)},
        hill=HillInfluence({}, ()),
        changes=(Change(Tile("B"), Seat(1), Bounds(-4, 0)),),
        soldiers=(),
    )
    assert describe_forecast(found, ["Anna", "plebeian-2", "Carla"]) == [
        "Es here would capture 1 piece from plebeian-2 and 0-2 pieces from Carla.",
        "Other pieces: plebeian-2 -4 to 0 on B.",
    ]
