"""Simulations of the search a second on one core, beside bare playouts, at the start of the placing phase.

    python -m bench.bots.search --simulations 20000

Both take turns, so that a busy machine slows both.
"""

import argparse
import functools
import random
import statistics
import time
from typing import Final

from bench.playouts import rate
from client.bots.search.tree import Search
from engine.components import DEALS
from engine.game import Game, GameOptions, RandomChance
from engine.position import Position, playout
from engine.redaction import snapshot
from engine.view import eyes_of

_REPEATS: Final = 5
_SECONDS: Final = 0.2  # of playouts in each repeat


def samples(players: int, simulations: int) -> tuple[list[float], list[float]]:
    """Return how many simulations and how many playouts were made a second, on another layout each time."""
    rng = random.Random(players)
    searches, playouts = [], []
    for _ in range(_REPEATS):
        view = Game.new(GameOptions(players, random_layout=True), RandomChance(rng)).view
        assert view.turn is not None
        search = Search(snapshot(view, eyes_of(view.turn)), rng)
        began = time.perf_counter()
        search.run(simulations)
        searches.append(simulations / (time.perf_counter() - began))
        playouts.append(rate(functools.partial(playout, Position.of(view), rng), _SECONDS))
    return searches, playouts


def main() -> int:
    """Print a line for each number of players."""
    parser = argparse.ArgumentParser(prog="python -m bench.bots.search", description=__doc__)
    parser.add_argument("--simulations", type=int, default=20_000, help="of each search (default: 20000)")
    options = parser.parse_args()
    print(f"one core, medians of {_REPEATS} repeats")
    for players in DEALS:
        searches, playouts = samples(players, options.simulations)
        made, bare = statistics.median(searches), statistics.median(playouts)
        print(
            f"{players} players  {made:7,.0f} simulations/s  [{min(searches):,.0f} to {max(searches):,.0f}]"
            f"  {bare:7,.0f} playouts/s  ratio {made / bare:.2f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
