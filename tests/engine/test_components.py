"""What is dealt: a table of components that adds up, and to every seat the peoples that it has chosen."""

from collections import Counter
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.components import DEALS, LAUREL_WORTH, PEOPLES, Laurel, peoples_by_seat
from engine.game import GameOptions
from engine.pieces import FACES, Kind, People, Piece
from tests.games import begun, choices_of_peoples

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
