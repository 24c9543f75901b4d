"""The exact ending: what every possible move, reply and hidden piece leads to, as by the game itself."""

import math
import random
from collections.abc import Iterator

import pytest

from client.bots.search.brain import Ending, SearchBrain
from client.bots.search.tree import Move, utilities
from client.bots.search.worlds import MOST_INFERRED, Worlds
from engine.board import FIELDS, Field
from engine.components import DEALS
from engine.events import GameEnded
from engine.game import Game, GameOptions, RandomChance
from engine.knowledge import possible_kinds
from engine.legal import LegalPlaces
from engine.pieces import Piece, Seat, Wolf
from engine.redaction import snapshot
from engine.scoring import Board, scored
from engine.terrain import EMPTY, FARMER, POINT
from engine.view import View, eyes_of
from tests.games import begun, some_command


def ending(players: int, left: int, seed: int) -> tuple[Game, LegalPlaces, View]:
    """Return a game with so many placements left, and what the seat on turn sees and may do."""
    game, chooser = begun(GameOptions(players, random_layout=True), seed), random.Random(seed)
    while game.view.to_place > left:
        game.apply(some_command(game, chooser))
    legal = game.legal()
    assert isinstance(legal, LegalPlaces)
    return game, legal, snapshot(game.view, eyes_of(legal.seat))


def replied(game: Game, asking: Seat) -> list[float]:
    """Return the utilities if everybody who has yet to place does what is best for their own seat.

    Of equal placements they make the worst for the seat that asks.
    """
    legal = game.legal()
    if legal is None:
        assert game.view.result is not None
        return utilities([tally.points * POINT + tally.items for tally in game.view.result.tallies])
    outcomes = []
    for command in legal.commands():
        twin = Game(game.events, RandomChance(random.Random(0)))
        twin.apply(command)
        outcomes.append(replied(twin, asking))
    return max(outcomes, key=lambda each: (each[legal.seat], -each[asking]))


@pytest.mark.parametrize(("players", "left"), [(2, 1), (2, 2), (3, 2), (5, 1)])
def test_an_ending_without_secrets_is_what_the_game_says(players: int, left: int) -> None:
    """R5 to R7: every move, followed by every reply, played and scored by the game."""
    game, legal, _ = ending(players, left, seed=players)
    exact = Ending(game.view, Worlds(game.view)).values()  # of all eyes: nothing is hidden
    assert exact is not None
    for command in legal.commands():
        twin = Game(game.events, RandomChance(random.Random(0)))
        twin.apply(command)
        expected = replied(twin, legal.seat)[legal.seat]
        assert exact[Move(command.piece.kind, FIELDS.index(command.field))] == pytest.approx(expected)
    assert len(exact) == len(legal.fields)


def possible_worlds(view: View) -> Iterator[tuple[int, dict[Field, Piece]]]:
    """Yield how many ways there are for each board that agrees with what is public, and its pieces."""
    wolves = [field for field, piece in view.placed.items() if isinstance(piece, Wolf)]
    for kinds in possible_kinds(view, wolves):
        pieces = {field: piece for field, piece in view.placed.items() if isinstance(piece, Piece)}
        ways, left = 1, [dict(hand) for hand in view.start.hands]
        for field in wolves:
            piece = Piece.of(view.placed[field].people, kinds[field], wolf=True)
            ways *= left[view.owners[field]][piece]
            left[view.owners[field]][piece] -= 1
            pieces[field] = piece
        yield ways, pieces


@pytest.mark.parametrize("players", DEALS)
def test_the_last_placement_is_weighed_over_all_that_may_be_hidden(players: int) -> None:
    """R3.5, R4.2: without inference every dealt wolf piece is as likely; a move is worth the mean."""
    _, legal, view = ending(players, 1, seed=1)
    exact = Ending(view, Worlds(view)).values()
    assert exact is not None
    worlds = list(possible_worlds(view))
    assert len(worlds) > 1
    for command in list(legal.commands())[:2]:
        owners = {**view.owners, command.field: command.seat}
        total = 0.0
        for ways, pieces in worlds:
            board = Board(view.layout, {**pieces, command.field: command.piece}, owners)
            *_, end = scored(board, view.laurels, view.seats)
            assert isinstance(end, GameEnded)
            packed = [tally.points * POINT + tally.items for tally in end.tallies]
            total += ways * utilities(packed)[legal.seat]
        mean = total / sum(ways for ways, _ in worlds)
        assert exact[Move(command.piece.kind, FIELDS.index(command.field))] == pytest.approx(mean)


def test_inference_weighs_an_ending() -> None:
    """If wolves are better as merchants, a world is less likely the more of them are farmers."""
    _, _, view = ending(2, 1, seed=1)
    worlds = Worlds(view)
    before = [(world.board, weight) for weight, world in worlds.weighted()]
    worlds.infer([[-1.0 * (FARMER <= each < 2 * FARMER)] * len(FIELDS) for each in range(EMPTY)])
    after = [(world.board, weight) for weight, world in worlds.weighted()]
    assert len({board for board, _ in before}) == worlds.count > 1
    for (board, unweighed), (same, weighed) in zip(before, after, strict=True):
        farmers = sum(FARMER <= board[field] < 2 * FARMER for field in worlds.hidden)
        assert board == same
        assert weighed == pytest.approx(unweighed * math.exp(-MOST_INFERRED * farmers))


@pytest.mark.parametrize("players", DEALS)
def test_an_ending_begins_when_nobody_has_two_pieces(players: int) -> None:
    """Before that a seat's later choice could depend on what it learns."""
    _, _, view = ending(players, players + 1, seed=1)
    assert Ending(view, Worlds(view)).boards == math.inf
    _, legal, view = ending(players, 1, seed=1)
    worlds = Worlds(view)
    assert Ending(view, worlds).boards == len(legal.fields) * worlds.count


def test_a_brain_plays_an_ending_exactly_if_it_may_try_enough_boards() -> None:
    """It counts boards as simulations; with fewer, or if the time is up, it samples."""
    _, _, view = ending(2, 1, seed=1)
    boards = int(Ending(view, Worlds(view)).boards)
    exact = SearchBrain(boards, 600.0).visits(view, 1)
    assert {visits for visits, _ in exact.values()} == {1}
    assert exact == SearchBrain(boards, 600.0).visits(view, 1)
    for sampled in (SearchBrain(boards - 1, 600.0), SearchBrain(boards, 0.0)):
        assert max(visits for visits, _ in sampled.visits(view, 1).values()) > 1
