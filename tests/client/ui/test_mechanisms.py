"""How a placement works, in the rules' words, as far as its player can see it."""

import re

import pytest
from hypothesis import given

from client.ui.texts.mechanisms import describe_mechanism
from engine.events import Place, Placed
from engine.forecast import forecast
from engine.game import Game
from engine.legal import LegalPlaces
from engine.pieces import Kind
from engine.redaction import snapshot
from engine.view import eyes_of
from tests.client.ui.analysed import recording_of
from tests.games import examples, games


@pytest.mark.parametrize(
    ("number", "sentences"),
    [
        (  # R5.3: what the soldier takes on C counts there no more
            28,
            (
                "IT captures 1 piece from Anna and 1 piece from Bruno, on F6 and C2. "
                "IT takes the lead on hill C, 6 to 7 against 3."
            ),
        ),
        (  # R6.2, R6.3
            33,
            ("IT costs Bruno the lead on hill E: 3 against 3. IT is beside E2 Sm and D5 Ef*."),
        ),
        (34, ""),
    ],
)
def test_a_placement_works_by_what_is_beside_it(number: int, sentences: str) -> None:
    recording = recording_of(2)
    placed = recording.events[recording.counts[number] - 1]
    assert isinstance(placed, Placed)
    view = recording.view(number - 1, eyes_of(placed.seat))
    move = Place(placed.seat, placed.piece, placed.field)
    told = " ".join(describe_mechanism(view, move, "IT", recording.names))
    assert told.replace("As the board stands, ", "") == sentences


@examples(3)
@given(games())
def test_captured_pieces_are_named_if_they_are_certain(game: Game) -> None:
    """R5: as many fields as pieces, beside the soldier; hidden wolves are named on none."""
    legal = game.legal()
    if not isinstance(legal, LegalPlaces):
        return
    view = snapshot(game.view, eyes_of(legal.seat))
    names = ["name"] * view.seats
    for move in legal.commands():
        if move.piece.kind is not Kind.SOLDIER:
            continue
        told = "".join(describe_mechanism(view, move, "IT", names)).partition(" lead on ")[0]
        if fields := re.findall(r"[A-G][1-6]", told):
            captives = forecast(view, move.seat, move.piece, move.field).captives.values()
            assert len(fields) == sum(each.least for each in captives) == sum(each.most for each in captives)
            assert set(fields) <= set(view.layout.adjacent(move.field))
