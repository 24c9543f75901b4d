"""What stands on the board is the same in the terminal, in pictures, with `--plain` and on pages."""

import html
import re

import pytest
from hypothesis import given

from client.language import speaking
from client.ui.draw.board import board_text
from client.ui.export.picture import board_parts
from client.ui.lines import answer
from client.ui.spots import FieldSpot, HillSpot, Marks, OpenSpot, describe_field, hills, spots
from client.ui.texts.pieces import piece_sign, piece_words
from engine.board import HILLS, TILES, LaidTile, has_spring
from engine.game import Game, GameOptions
from engine.redaction import snapshot
from engine.view import SPECTATOR
from pages.drawing.table_parts import table_parts
from protocol.messages import SeatSummary, TableState
from tests.client.ui.seen import client_of
from tests.games import examples, games, played


@examples(3)
@given(games())
def test_every_painter_shows_each_field_alike(game: Game) -> None:
    view = snapshot(game.view, SPECTATOR)
    if view.result is not None:
        return  # the scoring takes pieces away
    ui, model = client_of(game, None)
    seats = [SeatSummary(f"P{seat}", here=True) for seat in range(view.seats)]
    with speaking("en"):
        page, _last = table_parts(TableState("KRTV", "playing", seats, 0), view, [], None)
        drawn, told = board_text(view), " ".join(answer("board", ui, model) or ())
        by_hill = " ".join(" ".join(answer(f"hill {tile}", ui, model) or ()) for tile in TILES)
        fields = [each for each in spots(view).values() if isinstance(each, FieldSpot)]
        words = [describe_field(each) for each in fields]
    assert {each.name: each.piece for each in fields if each.piece is not None} == view.board
    assert {each.name for each in fields if each.spring} == set(filter(has_spring, view.layout.hexes))
    assert len(fields) == 6 * len(view.layout.hills)
    titles = re.findall("<title>(.*?)</title>", "".join(page.values()))
    assert sorted(each for each in titles if ": " in each and each[0] != "h") == sorted(words)
    assert all(each in html.unescape(page["words"]) for each in words)
    for each in fields:
        sign = each.name if each.piece is None else piece_sign(each.piece)
        assert sign in drawn
        shown = "empty" if each.piece is None else re.escape(piece_words(each.piece))
        assert re.search(rf"\b{each.name}{' with a spring' * each.spring} {shown}(;|$| )", by_hill)
        assert (f"{each.name} " in told) == (each.piece is not None)
        assert each.piece is None or f"{each.name} {piece_words(each.piece)}" in told
    empty = sum(map(int, re.findall(r"(\d+) empty fields?", told)))
    assert empty == sum(each.piece is None for each in fields)


@pytest.mark.parametrize("turns", [0, 2])
def test_a_tile_on_trial_stands_where_it_would_lie(turns: int) -> None:
    """As it would once it is laid, in every painter, and nothing else changes."""
    view = played(GameOptions(3), 1, 2).view
    position = next(at for at, laid in enumerate(view.tiles) if laid is None)
    assert view.drawn is not None
    marks = Marks(preview=(position, LaidTile(view.drawn, turns)), choices=(position,))
    before, after = spots(view), spots(view, marks)
    hill = after[HILLS[position]]
    assert isinstance(hill, HillSpot)
    assert (hill.tile, hill.on_trial) == (view.drawn, True)
    assert view.drawn in hills(view, marks)
    changed = {cell for cell, spot in after.items() if spot != before[cell]}
    assert len(changed) == 7
    assert all(isinstance(before[cell], OpenSpot) and after[cell].on_trial for cell in changed)  # type: ignore[union-attr]
    text = board_text(view, marks=marks)
    svg = "".join(board_parts(view, marks))
    _hill, fields = hills(view, marks)[view.drawn]
    assert all(each.name in text and each.name in svg for each in fields)
