"""Other games for reinforcement learning, played at random as `bench.bots.environment` plays this one.

    pip install open_spiel catanatron
    python -m bench.bots.other_games --seconds 5

OpenSpiel's hearts is played from Python, without observations and with one for each move; catanatron plays
itself with four random players. Seconds are of CPU time, on one core.
"""

import argparse
import random
from collections.abc import Callable
from typing import Final

from bench.bots.environment import rates

_SEED: Final = 1


def hearts(*, observations: bool) -> Callable[[], int]:
    """Return what plays a game of hearts and returns its moves."""
    import pyspiel  # noqa: PLC0415 - installed by hand

    game = pyspiel.load_game("hearts")
    rng = random.Random(_SEED)

    def play() -> int:
        state, moves = game.new_initial_state(), 0
        while not state.is_terminal():
            if state.is_chance_node():
                actions, weights = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(rng.choices(actions, weights)[0])
                continue
            if observations:
                state.information_state_tensor()
            state.apply_action(rng.choice(state.legal_actions()))
            moves += 1
        return moves

    return play


def catan() -> Callable[[], int]:
    """Return what plays a game of Catan and returns its turns."""
    from catanatron import Color, Game, RandomPlayer  # noqa: PLC0415 - installed by hand

    random.seed(_SEED)  # where it takes its chance from

    def play() -> int:
        game = Game([RandomPlayer(colour) for colour in Color])
        game.play()
        return int(game.state.num_turns)

    return play


def main() -> None:
    """Print a line for each game."""
    parser = argparse.ArgumentParser(prog="python -m bench.bots.other_games", description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each game (default: 5)")
    options = parser.parse_args()
    for name, play in (
        ("OpenSpiel, hearts", hearts(observations=False)),
        ("OpenSpiel, hearts, with observations", hearts(observations=True)),
        ("catanatron", catan()),
    ):
        play()
        print(f"{name:36}  {rates(play, options.seconds)[0]:6,.0f} games/s")


if __name__ == "__main__":
    main()
