"""Simulations of the search a second on one core, beside bare playouts, at the start of the placing phase.

    python -m bench.bots.search --simulations 20000

All take turns, so that a busy machine slows all. With numba the compiled search makes as many simulations,
and before that, two processes of their own show what it costs to compile it, and to load it compiled.
"""

import argparse
import functools
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from importlib.util import find_spec
from typing import Final

import psutil

from bench.playouts import rate
from client.bots.search.implementation import Implementation, searching
from engine.components import DEALS
from engine.game import Game, GameOptions, RandomChance
from engine.position import Position, playout
from engine.redaction import snapshot
from engine.view import View, eyes_of

_REPEATS: Final = 5
_SECONDS: Final = 0.2  # of playouts in each repeat
_LOAD: Final = "from bench.bots.search import show_loading; show_loading()"


def _start(players: int, rng: random.Random) -> View:
    return Game.new(GameOptions(players, random_layout=True), RandomChance(rng)).view


def _seen(view: View) -> View:
    assert view.turn is not None
    return snapshot(view, eyes_of(view.turn))


def samples(players: int, simulations: int, native: bool) -> dict[str, list[float]]:
    """Return how many simulations and how many playouts were made a second, on another layout each time."""
    rng = random.Random(players)
    found = defaultdict(list)
    for _ in range(_REPEATS):
        view = _start(players, rng)
        for kind in (Implementation.PLAIN, Implementation.NATIVE)[: 1 + native]:
            seen = _seen(view)
            search = searching(seen, simulations, kind).search(seen, rng, None)
            began = time.perf_counter()
            search.run(simulations)
            found[kind.value].append(simulations / (time.perf_counter() - began))
        found["playouts"].append(rate(functools.partial(playout, Position.of(view), rng), _SECONDS))
    return found


def show_loading() -> None:
    """Print what it takes this process until the compiled search is ready."""
    process, view = psutil.Process(), _seen(_start(2, random.Random(1)))
    memory, began, cpu = process.memory_info().rss, time.perf_counter(), time.process_time()
    searching(view, 1, Implementation.NATIVE)
    print(
        f"{time.perf_counter() - began:.1f} s, {time.process_time() - cpu:.1f} s of CPU, "
        f"{(process.memory_info().rss - memory) / 2**20:.0f} MiB"
    )


def main() -> int:
    """Print a line for each number of players."""
    parser = argparse.ArgumentParser(prog="python -m bench.bots.search", description=__doc__)
    parser.add_argument("--simulations", type=int, default=20_000, help="of each search (default: 20000)")
    options = parser.parse_args()
    native = find_spec("numba") is not None
    if native:
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
            for what in ("compiling", "loading what is compiled"):
                print(f"{what}: ", end="", flush=True)
                subprocess.run([sys.executable, "-c", _LOAD], env=environment, check=True)
    print(f"one core, medians of {_REPEATS} repeats")
    for players in DEALS:
        found = samples(players, options.simulations, native)
        rates = {what: statistics.median(each) for what, each in found.items()}
        parts = [f"{players} players"]
        for kind in [each for each in Implementation if each in found]:
            low, high = min(found[kind]), max(found[kind])
            parts.append(f"{kind} {rates[kind]:7,.0f} simulations/s  [{low:,.0f} to {high:,.0f}]")
        parts.append(f"{rates['playouts']:7,.0f} playouts/s")
        parts.append(f"ratio {rates['plain'] / rates['playouts']:.2f}")
        if native:
            parts.append(f"native {rates['native'] / rates['plain']:.0f} times plain")
        print("  ".join(parts), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
