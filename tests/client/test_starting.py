"""Who starts, as people write it."""

import pytest

from client.starting import BadStart, seat_to_start
from engine.components import DEALS


@pytest.mark.parametrize("players", DEALS)
def test_seats_count_from_one(players: int) -> None:
    """R3.1: each seat can start, or a draw decides; whoever opens the table sits in the first seat."""
    assert [seat_to_start(str(seat + 1), players) for seat in range(players)] == [*range(players)]
    assert seat_to_start("me", players) == 0
    assert seat_to_start("random", players) is None


@pytest.mark.parametrize("text", ["0", "4", "-1", "01", "two", "", "Me"])
def test_what_does_not_say_who_starts_is_told_with_what_does(text: str) -> None:
    with pytest.raises(BadStart) as caught:
        seat_to_start(text, 3)
    assert str(caught.value) == f"{text!r} does not say who starts. Write random, me, or a seat from 1 to 3."
