"""Full random games a second on one core: lean playouts, games with events, and simulations of a search.

    python -m bench --only playouts

A game is all placements, each a random choice of a legal piece and a free field, and the scoring; the tiles
are laid before the clock starts. A search begins there, too. All take turns, so that a busy machine slows
all of them.
"""

import functools
import json
import random
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final

from bench import Samples
from client.bots.search.tree import TreeSearch
from engine.components import DEALS
from engine.events import Event
from engine.game import Game, GameOptions, RandomChance
from engine.legal import random_command
from engine.position import Position, playout
from engine.redaction import snapshot
from engine.view import eyes_of

_REPEATS: Final = 5  # on another layout each time
_SECONDS: Final = 0.2
_SIMULATIONS: Final = 5000


def rate(play: Callable[[], object]) -> float:
    """Return how many times a second `play` runs."""
    runs, now = 0, time.perf_counter()
    begun, end = now, now + _SECONDS
    while now < end:
        for _ in range(20):  # read the clock rarely, as that takes time too
            play()
        runs += 20
        now = time.perf_counter()
    return runs / (now - begun)


def full_game(events: Sequence[Event], rng: random.Random) -> None:
    """Play the game that `events` begin to its end with random moves."""
    game = Game(events, RandomChance(rng))
    while (legal := game.legal()) is not None:
        game.apply(random_command(legal, rng))


def simulations(game: Game, rng: random.Random) -> float:
    """Return how many simulations a search makes in a second."""
    assert game.view.turn is not None
    search = TreeSearch(snapshot(game.view, eyes_of(game.view.turn)), rng)
    began = time.perf_counter()
    search.run(_SIMULATIONS)
    return _SIMULATIONS / (time.perf_counter() - began)


def samples() -> Samples:
    """Return how often a second games of all sizes are played out."""
    found: Samples = defaultdict(list)
    for players in DEALS:
        rng = random.Random(players)
        for _ in range(_REPEATS):
            game = Game.new(GameOptions(players, random_layout=True), RandomChance(rng))
            lean = rate(functools.partial(playout, Position.of(game.view), rng))
            full = rate(functools.partial(full_game, game.events, rng))
            search = simulations(game, rng)
            found[f"playouts: {players} players /s"].append(lean)
            found[f"playouts: {players} players, against games told as events"].append(lean / full)
            found[f"search: {players} players, simulations/s"].append(search)
            found[f"search: {players} players, against playouts"].append(search / lean)
    return found


if __name__ == "__main__":
    print(json.dumps(samples()))
