"""The tables of a layout score every board as the game does."""

import random

from hypothesis import given
from hypothesis import strategies as st

from engine.board import FIELDS, TILES, LaidTile, layout_of
from engine.components import DEALS, PEOPLES, Laurel
from engine.events import GameEnded
from engine.game import GameOptions
from engine.pieces import Kind, Piece, Seat
from engine.redaction import snapshot
from engine.scoring import Board, scored
from engine.terrain import EMPTY, POINT, occupant, terrain_of
from engine.view import SPECTATOR
from tests.games import examples, layouts, played, seeds


@examples(2)
@given(layouts(), st.permutations(list(Laurel)), st.sampled_from(tuple(DEALS)), seeds)
def test_any_board_scores_as_it_does_in_the_game(
    tiles: tuple[LaidTile, ...], tokens: list[Laurel], players: int, seed: int
) -> None:
    """R5 to R7, on boards no game ends with: nearly empty, full, all soldiers, a seat without a piece."""
    chooser = random.Random(seed)
    laurels = dict(zip(TILES, tokens, strict=True))
    terrain = terrain_of(tiles, laurels)
    for _ in range(5):
        density, weights = chooser.random(), [chooser.random() for _ in Kind]
        owners = {field: Seat(chooser.randrange(players)) for field in FIELDS if chooser.random() < density}
        pieces = {
            field: Piece.of(PEOPLES[seat], chooser.choices(tuple(Kind), weights)[0])
            for field, seat in owners.items()
        }
        *_, result = scored(Board(layout_of(tiles), pieces, owners), laurels, players)
        assert isinstance(result, GameEnded)
        board = [
            occupant(owners[field], pieces[field].kind) if field in pieces else EMPTY for field in FIELDS
        ]
        packed = terrain.packed_scores(board, players)
        assert packed == [tally.points * POINT + tally.items for tally in result.tallies]
        best = max(packed)
        assert result.winners == tuple(Seat(at) for at, score in enumerate(packed) if score == best)  # R7.2


def test_the_positions_of_a_game_share_its_terrain() -> None:
    """Its tables take longer to build than many playouts."""
    view = played(GameOptions(4, random_layout=True), 1, 8).view
    seen = snapshot(view, SPECTATOR)
    assert terrain_of(view.tiles, view.laurels) is terrain_of(seen.tiles, seen.laurels)
