"""What the seat on turn may do, and one of it at random."""

import random
from collections import Counter

import pytest
from hypothesis import given

from engine.board import Field
from engine.events import LayTile, Place
from engine.game import Game
from engine.legal import Legal, LegalLays, LegalPlaces, random_command
from engine.pieces import Piece, Seat
from tests.games import games, seeds

LAYS = LegalLays(Seat(1), (2, 3, 6), (0, 1, 2, 3, 4, 5))
PLACES = LegalPlaces(Seat(2), (Piece("Em"), Piece("Ef*")), (Field("A1"), Field("C4"), Field("G6")))


@given(games(), seeds)
def test_a_random_command_is_legal(game: Game, seed: int) -> None:
    """R3.3, R4.1: whatever the moment, the game accepts it."""
    if (legal := game.legal()) is not None:
        command = random_command(legal, random.Random(seed))
        assert command in game.legal_commands()
        game.apply(command)


@pytest.mark.parametrize("legal", [LAYS, PLACES], ids=["lays", "places"])
def test_every_legal_command_is_equally_likely(legal: Legal) -> None:
    """Random play prefers nothing."""
    commands = list(legal.commands())
    rng = random.Random(1)
    expected = 400
    drawn = Counter(random_command(legal, rng) for _ in range(expected * len(commands)))
    assert set(drawn) == set(commands)
    assert all(abs(times - expected) < 5 * expected**0.5 for times in drawn.values())


def test_a_seed_gives_the_same_commands_everywhere() -> None:
    """The commands were written down once; a machine or a Python that disagrees fails here."""
    rng = random.Random(7)
    lays = [LayTile(Seat(1), *each) for each in ((3, 1), (3, 5), (2, 0))]
    assert [random_command(LAYS, rng) for _ in lays] == lays
    places = [Place(Seat(2), Piece("Em"), Field(each)) for each in ("C4", "G6", "A1")]
    assert [random_command(PLACES, rng) for _ in places] == places
