"""The board and what is dealt: geometry by the rules (R2), components that add up, and peoples."""

from collections import Counter
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import board
from engine.board import DIRECTIONS, FIELDS, HILLS, TILES, Hex, LaidTile, Layout
from engine.components import DEALS, LAUREL_WORTH, PEOPLES, Laurel, peoples_by_seat
from engine.game import GameOptions
from engine.pieces import FACES, Kind, People, Piece
from tests.games import begun, choices_of_peoples, layouts


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


TURNS = {2: 16, 3: 12, 4: 8, 5: 7}  # R3.5
IN_A_PEOPLE = Counter({"m": 2, "m*": 3, "f": 2, "f*": 3, "s": 2})  # R1.4
E, S, L, M, A = PEOPLES
PLAYERS_AND_CHOICES = st.sampled_from(sorted(DEALS)).flatmap(
    lambda players: st.tuples(st.just(players), choices_of_peoples(players))
)


@pytest.mark.parametrize("players", DEALS)
def test_hands_come_from_the_box_and_can_be_placed(players: int) -> None:
    """R1.4, R3.5, R4.3, R9.6: nothing twice, a piece for each turn, a field for each, soldiers in time."""
    started = begun(GameOptions(players), seed=0).view.start
    dealt = Counter[Piece]()
    for seat, hand in enumerate(started.hands):
        dealt.update(hand)
        assert sum(hand.values()) == TURNS[players]
        assert {piece.people for piece in hand} == set(started.peoples[seat])
        soldiers = sum(count for piece, count in hand.items() if piece.kind is Kind.SOLDIER)
        assert 0 < soldiers <= TURNS[players] - started.soldierless_at
    assert dealt.total() <= 42
    for people in PEOPLES:
        assert sum(people in peoples for peoples in started.peoples) <= 1
        for face in FACES:
            assert dealt[Piece(people + face)] <= IN_A_PEOPLE[face]


def test_palatinus_is_worth_more_than_any_other_laurel() -> None:
    """R1.2: seven tokens, and the centre's is the best."""
    assert sorted(LAUREL_WORTH.values(), reverse=True) == [6, 5, 5, 4, 4, 3, 3]
    assert max(LAUREL_WORTH, key=LAUREL_WORTH.__getitem__) is Laurel.PALATINUS


@pytest.mark.parametrize(
    ("players", "peoples"),
    [
        (2, ((E, L), (S, M))),
        (3, ((E,), (S,), (L,))),
        (4, ((E,), (S,), (L,), (M,))),
        (5, ((E,), (S,), (L,), (M,), (A,))),
    ],
)
def test_seats_that_choose_nothing_go_in_order(players: int, peoples: tuple[tuple[People, ...], ...]) -> None:
    """As in every game before peoples could be chosen."""
    assert begun(GameOptions(players), seed=1).view.start.peoples == peoples


@given(PLAYERS_AND_CHOICES)
def test_every_seat_plays_what_it_has_chosen(case: tuple[int, tuple[tuple[People, ...], ...]]) -> None:
    """R1.5, R9.6: no people twice, as many as the hands need; a seat keeps its usual one if that is free."""
    players, chosen = case
    dealt = peoples_by_seat(players, chosen)
    assert [len(own) for own in dealt] == [1 + bool(DEALS[players].second)] * players
    assert len(set(chain(*dealt))) == len(list(chain(*dealt)))
    taken = set(chain(*chosen))
    for own, usual, wanted in zip(dealt, peoples_by_seat(players), chosen or dealt, strict=True):
        assert own[: len(wanted)] == wanted
        for mine, otherwise in zip(own[len(wanted) :], usual[len(wanted) :], strict=True):
            assert mine == otherwise or otherwise in taken


@given(PLAYERS_AND_CHOICES, st.integers(0, 2**32 - 1))
def test_peoples_change_only_the_colours(case: tuple[int, tuple[tuple[People, ...], ...]], seed: int) -> None:
    """The same chance deals the same game: who starts, tiles, laurels, and as many pieces of each face."""
    players, chosen = case
    plain, coloured = (begun(GameOptions(players, peoples=each), seed) for each in ((), chosen))
    assert plain.events[1:] == coloured.events[1:]
    assert plain.view.start.starting == coloured.view.start.starting
    for before, after in zip(plain.view.start.hands, coloured.view.start.hands, strict=True):
        assert [(piece[1:], count) for piece, count in before.items()] == [
            (piece[1:], count) for piece, count in after.items()
        ]


@pytest.mark.parametrize(
    ("players", "chosen"),
    [
        *((3, ((E,), (E,), ())), (3, ((E, S), (), ())), (3, ((E,), ()))),
        *((2, ((E, E), ())), (2, ((E, S, L), ())), (2, ((), (), ()))),
    ],
)
def test_choices_that_no_game_can_deal(players: int, chosen: tuple[tuple[People, ...], ...]) -> None:
    with pytest.raises(ValueError, match="seats"):
        GameOptions(players, peoples=chosen)
