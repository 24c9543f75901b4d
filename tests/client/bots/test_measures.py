"""What the programs of `bench/bots` count."""

import random

from bench.bots.advice import Advised, Judged, is_bettered, line
from engine.events import Place
from engine.game import Game, GameOptions, RandomChance
from engine.legal import LegalPlaces
from tests.games import played

DECIDED_LAST = 0  # of this seed, the last piece decides who wins


def before_the_last_piece() -> tuple[Game, list[Place]]:
    """Return a game with one piece left, and all ways to place it."""
    game = played(GameOptions(2, random_layout=True), DECIDED_LAST, commands=31)
    legal = game.legal()
    assert isinstance(legal, LegalPlaces)
    return game, list(legal.commands())


def wins(game: Game, move: Place) -> bool:
    end = Game(game.events, RandomChance(random.Random(0)))
    end.apply(move)
    assert end.view.result is not None
    return move.seat in end.view.result.winners


def test_a_lost_victory_is_bettered() -> None:
    """With everything open, the end of a game is known exactly."""
    game, moves = before_the_last_piece()
    bettered = {wins(game, move): is_bettered(game.view, move) for move in moves}
    assert bettered == {True: False, False: True}


def test_advice_is_as_complete_as_its_part_of_the_bettered_moves() -> None:
    game, moves = before_the_last_piece()
    found = Advised(0.2, True, 0.1, moves[0], game.view, game.view)
    judged = [Judged(True, found), Judged(True, None), Judged(False, found), Judged(False, None)]
    assert "   2 of 4 moves  named 50% [9, 91] of 2 bettered" in line("all", judged)
    doubtful = found._replace(surely=False, worth=0.0)
    told = line("all", [*judged, Judged(False, doubtful), Judged(False, doubtful)])
    assert "better 50% [15, 85], without a condition 100% [34, 100]" in told
    assert line("none", [Judged(False, None)]) == "none            0 of 1 moves"
