"""The environment for reinforcement learning: whole games a second on one core, played by random actions.

    python -m bench.bots.environment --seconds 5

Each step takes an observation with its mask, draws an action from the mask and plays it; games begin with
placements. Beside it, the same games in the engine alone, with their events. Seconds are of CPU time.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable
from typing import Final

import numpy as np

from bench.engine import placed_at_random
from engine.components import DEALS
from environment import palatinus_v0

_REPEATS: Final = 5


def environment_game(players: int, rng: random.Random) -> Callable[[], int]:
    """Return what plays a game and returns its steps."""
    env = palatinus_v0.env(players)
    env.reset(seed=players)

    def play() -> int:
        env.reset()
        steps = 0
        for _ in env.agent_iter():
            seen, _, over, _, _ = env.last()
            if seen is None or over:
                break
            env.step(rng.choice(np.flatnonzero(seen["action_mask"]).tolist()))
            steps += 1
        return steps

    return play


def engine_game(players: int, rng: random.Random) -> Callable[[], int]:
    """Return what plays a game in the engine alone, and returns its placements."""
    return lambda: len(placed_at_random(players, rng).view.placed)


def rates(play: Callable[[], int], seconds: float) -> tuple[float, float]:
    """Return how many games and how many steps a second of CPU time has."""
    games, steps, began = 0, 0, time.process_time()
    while (took := time.process_time() - began) < seconds:
        steps += play()
        games += 1
    return games / took, steps / took


def main() -> None:
    """Print a line for each number of players."""
    parser = argparse.ArgumentParser(prog="python -m bench.bots.environment", description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each number of players (default: 5)")
    options = parser.parse_args()
    print(f"one core, medians of {_REPEATS} repeats")
    for players in sorted(DEALS):
        rng = random.Random(players)
        sides = [environment_game(players, rng), engine_game(players, rng)]
        for play in sides:
            play()
        found = [[rates(play, options.seconds / _REPEATS / 2) for play in sides] for _ in range(_REPEATS)]
        games = sorted(each[0][0] for each in found)
        steps = statistics.median([each[0][1] for each in found])
        alone = statistics.median([each[1][0] for each in found])
        reach = f"[{games[0]:,.0f} to {games[-1]:,.0f}]"
        print(
            f"{players} players  {statistics.median(games):5,.0f} games/s  {reach}  "
            f"{steps:7,.0f} steps/s  engine alone {alone:6,.0f} games/s"
        )


if __name__ == "__main__":
    main()
