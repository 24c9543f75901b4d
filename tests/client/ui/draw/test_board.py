"""The board as text, its geometry on the screen, and what a piece would do there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from client.ui.at_table import HEX_POSITIONS
from client.ui.draw.board import LARGE, MEDIUM, SMALL, UNMARKED, Scale, board_text, borders, drawn_board
from client.ui.frame import plain
from client.ui.texts.games import describe_forecast
from client.ui.texts.glyphs import ASCII, UNICODE, GlyphSet
from engine.board import Field, Tile, neighbours
from engine.forecast import Change, Forecast, SoldierAct
from engine.game import Game, GameOptions
from engine.knowledge import Bounds, HillInfluence
from engine.pieces import Piece, Seat
from engine.redaction import snapshot
from engine.view import SPECTATOR
from tests.client.ui.seen import assert_screen
from tests.games import games, played

SCALES = {"small": SMALL, "medium": MEDIUM, "large": LARGE}
ALL_LAID = frozenset(range(7))


@pytest.mark.parametrize("name", SCALES)
def test_board_as_text(name: str) -> None:
    """The board at every scale, with and without Unicode."""
    view = snapshot(played(GameOptions(5, random_layout=True), 2, 24).view, SPECTATOR)
    texts = [board_text(view, ascii_only=ascii_only, scale=SCALES[name]) for ascii_only in (False, True)]
    assert texts[1].isascii()
    assert_screen(f"board-{name}", "\n\n".join(texts) + "\n")


@given(games(), st.sampled_from([*SCALES.values()]), st.sampled_from([UNICODE, ASCII]))
def test_board_fills_its_scale(game: Game, scale: Scale, glyphs: GlyphSet) -> None:
    """Whatever is on it, the board has the size of its scale and names every empty field."""
    lines = [plain(line) for line in drawn_board(game.view, UNMARKED, glyphs, scale)]
    assert [get_cwidth(line) for line in lines] == [scale.width] * scale.height
    text = "\n".join(lines)
    assert all(field in text for field in game.view.layout.hexes if field not in game.view.board)


@pytest.mark.parametrize("scale", SCALES.values())
def test_hexes_and_borders_do_not_overlap_and_neighbours_are_adjacent(scale: Scale) -> None:
    """Hexes that share a side are next to each other on the screen (R2.5)."""
    taken: set[tuple[int, int]] = set()
    drawn = borders(scale, ALL_LAID, ascii_only=False)
    for cell in HEX_POSITIONS:
        x, y = scale.body_of(cell)
        body = {(x + dx, y + dy) for dx in range(scale.across - 1) for dy in range(scale.body)}
        assert not body & (taken | drawn.keys())
        edges = {(x + dx, y + dy) for dx in (-1, scale.across - 1) for dy in range(scale.body)}
        assert edges <= drawn.keys()
        taken |= body
        for beside in neighbours(cell):
            if beside in HEX_POSITIONS:
                other_x, other_y = scale.body_of(beside)
                steps = (abs(other_x - x), abs(other_y - y))
                assert steps in {(scale.across, 0), (scale.across // 2, scale.pitch)}


def test_tiles_have_stronger_borders_than_their_fields() -> None:
    """Borders between tiles are strong, and those between fields of one tile are faint."""
    drawn = borders(SMALL, ALL_LAID, ascii_only=False)
    for cell, position in HEX_POSITIONS.items():
        x, y = SMALL.body_of(cell)
        east = HEX_POSITIONS.get((cell[0] + 1, cell[1]))
        assert drawn[x + SMALL.across - 1, y] == (("┊", False) if east == position else ("┃", True))


def test_a_soldiers_captives_and_uncertain_changes_are_plain_words() -> None:
    """Whose pieces they are, and how many; zero has no sign."""
    found = Forecast(
        piece=Piece("Es"),
        field=Field("A1"),
        gives=None,
        acts=frozenset({SoldierAct.MERCHANTS}),
        captives={Seat(1): Bounds(1, 1), Seat(2): Bounds(0, 2)},
        hill=HillInfluence({}, ()),
        changes=(Change(Tile("B"), Seat(1), Bounds(-4, 0)),),
        soldiers=(),
    )
    assert describe_forecast(found, ["Anna", "plebeian-2", "Carla"]) == [
        "Es here would capture 1 piece from plebeian-2 and 0-2 pieces from Carla.",
        "Influence changes: plebeian-2 -4 to 0 on B.",
    ]
