"""Full random games a second on one core: lean playouts beside the game with its events.

    python -m bench.playouts --seconds 2

A game is all placements, each a random choice of a legal piece and a free field, and the scoring; the tiles
are laid before the clock starts. Both sides take turns, so that a busy machine slows both.
"""

import argparse
import functools
import json
import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Final

from engine.components import DEALS
from engine.events import Event
from engine.game import Game, GameOptions, RandomChance
from engine.legal import random_command
from engine.position import Position, playout

_REPEATS: Final = 9
_LAYOUTS: Final = 4


def rate(play: Callable[[], object], seconds: float) -> float:
    """Return how many times a second `play` runs."""
    runs, now = 0, time.perf_counter()
    begun, end = now, now + seconds
    while now < end:
        for _ in range(20):  # read the clock rarely, as that takes time too
            play()
        runs += 20
        now = time.perf_counter()
    return runs / (now - begun)


def full_game(events: Sequence[Event], rng: random.Random) -> Game:
    """Play the game that `events` begin to its end with random moves."""
    game = Game(events, RandomChance(rng))
    while (legal := game.legal()) is not None:
        game.apply(random_command(legal, rng))
    assert game.over
    return game


def samples(players: int, seconds: float) -> tuple[list[float], list[float]]:
    """Return how often a second a game of so many players is played out, lean and with its events."""
    rng = random.Random(players)
    options = GameOptions(players, random_layout=True)
    games = [Game.new(options, RandomChance(rng)) for _ in range(_LAYOUTS)]
    positions = [Position.of(game.view) for game in games]
    lean, full = [], []
    for repeat in range(_REPEATS):
        position, events = positions[repeat % _LAYOUTS], games[repeat % _LAYOUTS].events
        lean.append(rate(functools.partial(playout, position, rng), seconds / _REPEATS / 2))
        full.append(rate(functools.partial(full_game, events, rng), seconds / _REPEATS / 2))
    return lean, full


def line(players: int, lean: list[float], full: list[float]) -> str:
    """Return the figures for so many players as a line."""
    playouts, reference = statistics.median(lean), statistics.median(full)
    return (
        f"{players} players  {playouts:8,.0f} playouts/s  [{min(lean):,.0f} to {max(lean):,.0f}]  "
        f"{reference:5,.0f} games/s with events  [{min(full):,.0f} to {max(full):,.0f}]  "
        f"ratio {playouts / reference:.0f}"
    )


def main() -> int:
    """Print a line for each number of players."""
    parser = argparse.ArgumentParser(prog="python -m bench.playouts", description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0, help="for each number of players (default: 4)")
    parser.add_argument("--json", action="store_true", help="print the samples as JSON")
    options = parser.parse_args()
    found = {}
    if not options.json:
        print(f"one core, medians of {_REPEATS} repeats")
    for players in DEALS:
        lean, full = samples(players, options.seconds)
        found[f"playouts: {players} players /s"] = lean
        found[f"playouts: {players} players, against games told as events"] = [
            a / b for a, b in zip(lean, full, strict=True)
        ]
        if not options.json:
            print(line(players, lean, full), flush=True)
    if options.json:
        print(json.dumps(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
