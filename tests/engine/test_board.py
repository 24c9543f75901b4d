"""Geometry: seven tiles interlock, and every field has the neighbours that the rules give it (R2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import board
from engine.board import DIRECTIONS, FIELDS, HILLS, TILES, Hex, LaidTile, Layout
from tests.games import layouts


def apart(one: Hex, other: Hex) -> int:
    """Return the distance between two hexes, by the textbook formula for axial coordinates."""
    q, r = one[0] - other[0], one[1] - other[1]
    return (abs(q) + abs(r) + abs(q + r)) // 2


@given(st.tuples(st.integers(-9, 9), st.integers(-9, 9)))
def test_six_turns_make_a_full_one(cell: Hex) -> None:
    """R2.1: a turn keeps the distance from the centre, three turns mirror, six change nothing."""
    turns = [board.rotated(cell, turn) for turn in range(7)]
    assert {apart(turned, (0, 0)) for turned in turns} == {apart(cell, (0, 0))}
    assert turns[3] == (-cell[0], -cell[1])
    assert turns[6] == cell


def test_directions_and_hills_follow_by_turns() -> None:
    """R2.1, R2.2: directions are listed clockwise, and hills are where the rules list them."""
    assert [board.rotated(direction, 1) for direction in DIRECTIONS] == [*DIRECTIONS[1:], DIRECTIONS[0]]
    assert HILLS[1:] == ((2, 1), (-1, 3), (-3, 2), (-2, -1), (1, -3), (3, -2))


@given(layouts())
def test_seven_tiles_interlock(tiles: tuple[LaidTile, ...]) -> None:
    """R2.2: 49 hexes without an overlap, and without a gap between them."""
    layout = Layout(tiles)
    hexes = {*layout.fields, *layout.hills.values()}
    assert len(layout.fields) == 42
    assert len(hexes) == 49
    holes = {cell for inside in hexes for cell in board.neighbours(inside)} - hexes
    assert all(sum(beside in hexes for beside in board.neighbours(hole)) < 6 for hole in holes)


@given(layouts())
def test_every_field_has_two_to_five_adjacent_ones(tiles: tuple[LaidTile, ...]) -> None:
    """R2.5: no field is adjacent to a hill, to itself, or one way only."""
    layout = Layout(tiles)
    for field in FIELDS:
        beside = layout.adjacent(field)
        assert len(beside) in range(2, 6)
        assert len(set(beside)) == len(beside)
        for other in beside:
            assert field in layout.adjacent(other)
            assert apart(layout.hexes[field], layout.hexes[other]) == 1
        assert len(beside) == sum(apart(layout.hexes[field], cell) == 1 for cell in layout.fields)


@given(layouts())
def test_each_field_borders_its_own_hill(tiles: tuple[LaidTile, ...]) -> None:
    """R2.3 to R2.5: wherever a tile is and however it is turned, its fields 1 to 6 are a ring, clockwise."""
    layout = Layout(tiles)
    for position, laid in enumerate(tiles):
        names = board.fields_of(laid.tile)
        ring = [layout.hexes[field] for field in names]
        assert set(ring) == set(board.neighbours(HILLS[position]))
        for number, cell in enumerate(ring):
            q, r = HILLS[position]
            outward = (cell[0] - q, cell[1] - r)
            assert outward == DIRECTIONS[(laid.orientation + number) % 6]
            own = {other for other in layout.adjacent(names[number]) if board.tile_of(other) == laid.tile}
            assert own == {names[number - 1], names[(number + 1) % 6]}


@pytest.mark.parametrize("position", board.OUTER_POSITIONS)
def test_positions_border_where_their_tiles_touch(position: int) -> None:
    """R2.2: an outer position touches only the centre, the position before it and the one after it."""
    touching = {
        other
        for other in range(7)
        if other != position
        and any(
            apart(board.field_hex(position, 0, one), board.field_hex(other, 0, two)) == 1
            for one in range(1, 7)
            for two in range(1, 7)
        )
    }
    assert touching == {0, *board.bordering(position)}


def test_tiles_still_missing_leave_their_fields_out() -> None:
    """R3.3: while tiles are laid, only the fields of laid tiles are on the board."""
    layout = Layout((LaidTile(TILES[0], 0), None, LaidTile(TILES[3], 2), None, None, None, None))
    assert sorted(layout.hexes) == sorted([*board.fields_of(TILES[0]), *board.fields_of(TILES[3])])
    assert all(beside in layout.hexes for field in layout.hexes for beside in layout.adjacent(field))
