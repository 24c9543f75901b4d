"""The table of components adds up: an error in it would deal pieces that do not exist."""

from collections import Counter

import pytest

from engine.components import DEALS, LAUREL_WORTH, PEOPLES, Laurel
from engine.game import GameOptions
from engine.pieces import FACES, Kind, People, Piece
from tests.games import begun

TURNS = {2: 16, 3: 12, 4: 8, 5: 7}  # R3.5
IN_A_PEOPLE = Counter({"m": 2, "m*": 3, "f": 2, "f*": 3, "s": 2})  # R1.4


def test_a_whole_people_has_twelve_inhabitants() -> None:
    """R1.4: 5 merchants and 5 farmers, 3 of each with a wolf, and 2 soldiers."""
    hand = DEALS[3].hand(People.LATINS, None)
    kinds, wolves = Counter[Kind](), Counter[Kind]()
    for piece, count in hand.items():
        kinds[piece.kind] += count
        wolves[piece.kind] += count * piece.wolf
    assert kinds == {Kind.MERCHANT: 5, Kind.FARMER: 5, Kind.SOLDIER: 2}
    assert wolves == {Kind.MERCHANT: 3, Kind.FARMER: 3, Kind.SOLDIER: 0}


@pytest.mark.parametrize("players", DEALS)
def test_hands_have_as_many_pieces_as_turns(players: int) -> None:
    """R3.5: 16, 12, 8 or 7 turns, and fields for all of them."""
    hands = begun(GameOptions(players), seed=0).view.start.hands
    assert [sum(hand.values()) for hand in hands] == [TURNS[players]] * players
    assert sum(sum(hand.values()) for hand in hands) <= 42


@pytest.mark.parametrize("players", DEALS)
def test_no_people_deals_more_than_it_has(players: int) -> None:
    """R1.4, R9.6: all hands together take no more of a people than is in the box, each from one seat."""
    started = begun(GameOptions(players), seed=0).view.start
    dealt = Counter[Piece]()
    for seat, hand in enumerate(started.hands):
        dealt.update(hand)
        assert {piece.people for piece in hand} == set(started.peoples[seat])
    for people in PEOPLES:
        for face in FACES:
            assert dealt[Piece(people + face)] <= IN_A_PEOPLE[face]
        assert sum(people in peoples for peoples in started.peoples) <= 1


@pytest.mark.parametrize("players", DEALS)
def test_soldiers_can_always_be_placed_in_time(players: int) -> None:
    """R3.5, R4.3: every hand holds a soldier, and has enough turns before the last ones."""
    started = begun(GameOptions(players), seed=0).view.start
    for hand in started.hands:
        soldiers = sum(count for piece, count in hand.items() if piece.kind is Kind.SOLDIER)
        assert 0 < soldiers <= TURNS[players] - started.soldierless_at


def test_palatinus_is_worth_more_than_any_other_laurel() -> None:
    """R1.2: seven tokens, and the centre's is the best."""
    assert sorted(LAUREL_WORTH.values(), reverse=True) == [6, 5, 5, 4, 4, 3, 3]
    assert max(LAUREL_WORTH, key=LAUREL_WORTH.__getitem__) is Laurel.PALATINUS
