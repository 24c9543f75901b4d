"""The levels: each stronger than the one before, and each with its own temper."""

import random
from dataclasses import replace

import pytest

from client.bots.brains import NamedBrain, brain_named
from client.bots.levels import LEVELS, Level
from client.bots.search.brain import SearchBrain
from engine.game import GameOptions
from engine.legal import LegalPlaces
from engine.pieces import Seat
from engine.redaction import snapshot
from engine.view import View, eyes_of
from tests.games import begun


def quick(level: Level) -> Level:
    """Return the level with few simulations, and without a limit to its time."""
    if not isinstance(level.choose, SearchBrain):
        return level
    simulations = level.choose.simulations // 50
    return replace(level, choose=replace(level.choose, simulations=simulations, seconds=600.0))


def match(first: Level, second: Level, games: int) -> float:
    """Return how many games the first wins, with the seats changed after each."""
    won = 0.0
    for number in range(games):
        game, rng = begun(GameOptions(2, random_layout=True), number), random.Random(number)
        own = Seat(number % 2)
        while (legal := game.legal()) is not None:
            level = first if legal.seat == own else second
            game.apply(level.choose(snapshot(game.view, eyes_of(legal.seat)), legal, rng))
        assert game.view.result is not None
        winners = game.view.result.winners
        won += (own in winners) / len(winners)
    return won


def places(level: Level, seed: int) -> list[tuple[View, LegalPlaces, str]]:
    """Return what the level saw, and the pieces that it placed, in a game against itself."""
    game, rng, placed = begun(GameOptions(2, random_layout=True), seed), random.Random(seed), []
    while isinstance(legal := game.legal(), LegalPlaces):
        view = snapshot(game.view, eyes_of(legal.seat))
        command = level.choose(view, legal, rng)
        placed.append((view, legal, command.piece))  # type: ignore[union-attr]
        game.apply(command)
    return placed


@pytest.mark.parametrize(
    ("weaker", "stronger"),
    [
        ("slave", "plebeian"),
        pytest.param("plebeian", "citizen", marks=pytest.mark.slow),
        pytest.param("senator", "consul", marks=pytest.mark.slow),
    ],
)
def test_levels_are_in_the_order_of_their_strength(weaker: str, stronger: str) -> None:
    """A short match; `bench.bots.brains` measures by how much. The same seeds play the same games."""
    assert match(quick(LEVELS[stronger]), quick(LEVELS[weaker]), 3) >= 2


@pytest.mark.slow
def test_a_senator_beats_a_citizen() -> None:
    """With all its simulations, since with few of them it would not."""
    assert match(LEVELS["senator"], LEVELS["citizen"], 3) >= 2


def test_a_slave_stays_close_to_its_own() -> None:
    """From its second placement on, as long as there is a free field beside its pieces."""
    game, rng = begun(GameOptions(2, random_layout=True), 1), random.Random(1)
    while isinstance(legal := game.legal(), LegalPlaces):
        view = snapshot(game.view, eyes_of(legal.seat))
        command = LEVELS["slave"].choose(view, legal, rng)
        own = {field for field, seat in view.owners.items() if seat == legal.seat}
        beside = {field for field in legal.fields if own.intersection(view.layout.adjacent(field))}
        assert not beside or command.field in beside  # type: ignore[union-attr]
        game.apply(command)


@pytest.mark.parametrize(("name", "wolf"), [("plebeian", False), ("citizen", True)])
def test_who_loves_wolves_and_who_does_not(name: str, wolf: bool) -> None:
    """Of equal pieces a citizen places the wolf, a plebeian the other."""
    chosen = 0
    for _, legal, piece in places(LEVELS[name], 1):
        equal = {each.wolf for each in legal.pieces if each[1] == piece[1]}
        if len(equal) > 1:
            chosen += 1
            assert ("*" in piece) == wolf
    assert chosen > 5


def test_levels_are_brains() -> None:
    """By their names, as everywhere; only those that search need processes of their own."""
    for name, level in LEVELS.items():
        assert brain_named(name) == NamedBrain(name, level.choose, level.told.temper)
    assert [level.searches for level in LEVELS.values()] == [False, False, False, True, True]
