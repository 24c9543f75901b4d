"""The wolves turn up one player after the other, and what is said of them was public before."""

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from client.ui.screens.scoring import scene, steps
from client.ui.texts.bluffs import unmasked
from engine.events import WolvesRevealed
from engine.game import GameOptions
from engine.pieces import Kind, Piece, Seat, Wolf
from engine.redaction import snapshot
from engine.view import SPECTATOR, eyes_of
from tests.client.ui import seen
from tests.games import played

players_and_seeds = given(st.integers(2, 5), st.integers(0, 10_000))


@players_and_seeds
def test_guesses_use_what_everybody_knew(players: int, seed: int) -> None:
    """They say as many farmers as there are, and do not change if two wolves of a people are exchanged."""
    view = played(GameOptions(players, random_layout=True), seed).view
    (revealed,) = (event for event in view.scoring if isinstance(event, WolvesRevealed))
    found = unmasked(view)
    assert {field: each.piece for field, each in found.items()} == revealed.pieces
    farmers = Counter[str]()
    for each in found.values():
        assert 1 / 2 <= each.chance <= 1
        farmers[each.piece.people] += each.piece.kind is Kind.FARMER
    for people, number in farmers.items():
        chances = [
            each.chance if each.guess is Kind.FARMER else 1 - each.chance
            for each in found.values()
            if each.piece.people == people
        ]
        assert abs(sum(chances) - number) < 1e-9
    people, fields = max(
        (
            (people, [f for f, piece in revealed.pieces.items() if piece.people == people])
            for people in farmers
        ),
        key=lambda each: len(each[1]),
    )
    turned_round = dict(zip(fields, [revealed.pieces[field] for field in fields[::-1]], strict=True))
    other = replace(revealed, pieces={**revealed.pieces, **turned_round})
    swapped = replace(view, placed={**view.placed, **turned_round}, scoring=(other, *view.scoring[1:]))
    assert people in farmers
    for field, each in unmasked(swapped).items():
        assert (each.guess, round(each.chance, 9)) == (found[field].guess, round(found[field].chance, 9))


@players_and_seeds
def test_wolves_lie_face_down_until_their_turn(players: int, seed: int) -> None:
    """One's own lie open from the beginning, and after the last player's all do."""
    game = played(GameOptions(players, random_layout=True), seed)
    for eyes in (SPECTATOR, eyes_of(Seat(0))):
        view = snapshot(game.view, eyes)
        for number, step in enumerate(steps(view)):
            up = {*eyes, *(step.turned or range(players))}
            for field, piece in scene(view, number, seen.NAMES).board.placed.items():
                truth = game.view.placed[field]
                hidden = isinstance(truth, Piece) and truth.wolf and view.owners[field] not in up
                assert piece == (Wolf.of(truth.people) if hidden else truth)
