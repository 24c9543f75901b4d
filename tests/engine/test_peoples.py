"""Every seat plays what it has chosen, and nobody's choice changes what another has unless it has to."""

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.components import DEALS, PEOPLES
from engine.game import GameOptions
from engine.peoples import peoples_by_seat
from engine.pieces import People
from tests.games import begun, choices_of_peoples

E, S, L, M, A = PEOPLES
PLAYERS_AND_CHOICES = st.sampled_from(sorted(DEALS)).flatmap(
    lambda players: st.tuples(st.just(players), choices_of_peoples(players))
)


@pytest.mark.parametrize(
    ("players", "peoples"),
    [
        (2, ((E, L), (S, M))),
        (3, ((E,), (S,), (L,))),
        (4, ((E,), (S,), (L,), (M,))),
        (5, ((E,), (S,), (L,), (M,), (A,))),
    ],
)
def test_seats_that_choose_nothing_get_the_peoples_in_their_order(
    players: int, peoples: tuple[tuple[People, ...], ...]
) -> None:
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
def test_peoples_change_nothing_but_the_colours(
    case: tuple[int, tuple[tuple[People, ...], ...]], seed: int
) -> None:
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
        (3, ((E,), (E,), ())),
        (3, ((E, S), (), ())),
        (2, ((E, E), ())),
        (2, ((E, S, L), ())),
        (3, ((E,), ())),
        (2, ((), (), ())),
    ],
)
def test_choices_that_no_game_can_deal_are_refused(
    players: int, chosen: tuple[tuple[People, ...], ...]
) -> None:
    with pytest.raises(ValueError, match="seats"):
        GameOptions(players, peoples=chosen)
