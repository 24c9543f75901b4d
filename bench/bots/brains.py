"""Duels between brains, in games in this process: how often each wins.

    python -m bench.bots.brains --games 500

The first brain plays one seat and the second the others; the seat rotates from game to game. A shared victory
counts as its fraction, so with equal brains the first wins one game in as many as there are players.
"""

import argparse
import random
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Final

from client.bots.arena.games import Player, played
from client.bots.brains import NamedBrain, brain_named
from client.bots.shares import wilson
from engine.game import Game, GameOptions, RandomChance
from engine.pieces import Seat

_BATCHES: Final = 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """One game from the first brain's side, and how long its moves took."""

    share: float
    points: int
    others: float
    moves: int
    seconds: float
    longest: float


def duel(first: NamedBrain, second: NamedBrain, players: int, number: int) -> Outcome:
    """Play game `number` of a duel; the first brain has seat `number` modulo the players."""
    own = Seat(number % players)
    rng = random.Random(f"{players} {number}")
    game = Game.new(GameOptions(players), RandomChance(rng))
    brains = [first if seat == own else second for seat in range(players)]
    sides = [Player(brain.name, brain.choose, rng) for brain in brains]
    result = played(game, sides)
    points = [tally.points for tally in result.tallies]
    share = 1 / len(result.winners) if own in result.winners else 0.0
    others = (sum(points) - points[own]) / (players - 1)
    times = sides[own].times
    return Outcome(share, points[own], others, len(times), sum(times), max(times))


def _batch(first: str, second: str, players: int, numbers: range) -> list[Outcome]:
    one, other = brain_named(first), brain_named(second)
    return [duel(one, other, players, number) for number in numbers]


def _line(players: int, outcomes: Sequence[Outcome]) -> str:
    games = len(outcomes)
    share = sum(outcome.share for outcome in outcomes) / games
    low, high = wilson(share, games)
    points = sum(outcome.points for outcome in outcomes) / games
    others = sum(outcome.others for outcome in outcomes) / games
    milliseconds = 1000 * sum(o.seconds for o in outcomes) / sum(o.moves for o in outcomes)
    longest = 1000 * max(outcome.longest for outcome in outcomes)
    return (
        f"{players} players  wins {share:6.1%}  [{low:.1%}, {high:.1%}]  equal {1 / players:.1%}  "
        f"points {points:5.2f} to {others:5.2f}  {milliseconds:.2f} ms a move, {longest:.1f} at most"
    )


def main() -> int:
    """Run the duels and print a line for each number of players."""
    parser = argparse.ArgumentParser(prog="python -m bench.bots.brains", description=__doc__)
    parser.add_argument("--first", default="greedy", help="the brain measured (default: greedy)")
    parser.add_argument("--second", default="random", help="the brain in all other seats (default: random)")
    parser.add_argument("--players", type=int, nargs="+", default=[2, 3, 4, 5])
    parser.add_argument("--games", type=int, default=500, help="games for each number of players")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    print(f"{options.first} against {options.second}, {options.games} games each, 95% intervals")
    with ProcessPoolExecutor(options.processes) as pool:
        for players in options.players:
            parts = [range(start, options.games, _BATCHES) for start in range(_BATCHES)]
            count = len(parts)
            sides = [options.first] * count, [options.second] * count, [players] * count
            batches = pool.map(_batch, *sides, parts)
            print(_line(players, [outcome for batch in batches for outcome in batch]), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
