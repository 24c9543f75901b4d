"""The starting player as users type it."""

import pytest

from client.typed_text import BadStart, seat_to_start
from engine.components import DEALS


@pytest.mark.parametrize("players", DEALS)
def test_seats_count_from_one(players: int) -> None:
    """R3.1: any seat or a random one can start; the player who opens the table has the first seat."""
    assert [seat_to_start(str(seat + 1), players) for seat in range(players)] == [*range(players)]
    assert seat_to_start("me", players) == 0
    assert seat_to_start("random", players) is None


@pytest.mark.parametrize("text", ["0", "4", "-1", "01", "two", "", "Me"])
def test_an_invalid_starting_seat_is_refused_with_the_valid_ones(text: str) -> None:
    with pytest.raises(BadStart) as caught:
        seat_to_start(text, 3)
    assert str(caught.value) == f"{text!r} does not say who starts. Write random, me, or a seat from 1 to 3."
