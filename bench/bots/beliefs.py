"""How right a search is about hidden wolves: for each brain, what it believes when all are placed.

    nice -n 10 python -m bench.bots.beliefs greedy bluffer search:1000 liar:1000 --players 2 --games 50

Each brain plays with the next one. The log loss is 0.69 for somebody who knows nothing, and 0 for somebody
who knows everything; it is of the first game with strangers, and of those that follow another game with them.
With `--fit`, each brain's rows of `MOTIVES` and `MOVES` of `client.bots.search.worlds` are printed as well.
"""

import argparse
import bisect
import itertools
import math
import random
from collections import Counter, defaultdict

from client.bots.arena.games import ArenaPlayer, play_to_end, start_game
from client.bots.brains import brain_named
from client.bots.search.worlds import STEPS, Beliefs, Worlds, beliefs_after, clues_in
from engine.board import FIELDS
from engine.game import Game
from engine.pieces import Kind, Wolf
from engine.redaction import snapshot
from engine.view import SPECTATOR, Phase, View


def before_scoring(game: Game) -> View:
    """Return what spectators saw of a finished game when everything was placed."""
    end = snapshot(game.view, SPECTATOR)
    for field, piece in end.placed.items():
        if piece[-1] == "*":
            end.placed[field] = Wolf.of(piece.people)
    end.phase = Phase.PLACING
    return end


def believed(view: View, beliefs: tuple[Beliefs, ...]) -> dict[int, float]:
    """Return how likely each hidden wolf is a farmer, by field number."""
    found = {}
    for group in Worlds(view, clues_in(view), beliefs).groups:
        for at, field in enumerate(group.fields):
            farmer = sum(odds for odds, way in zip(group.odds, group.ways, strict=True) if way.farmers[at])
            found[field] = farmer / sum(group.odds)
    return found


def main() -> int:
    """Play the games and print a line for each brain."""
    parser = argparse.ArgumentParser(prog="python -m bench.bots.beliefs", description=__doc__)
    parser.add_argument("brains", nargs="+", help="as of `palatinus arena`")
    parser.add_argument("--players", type=int, default=2)
    parser.add_argument("--games", type=int, default=50, help="for each pair of brains (default: 50)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    losses: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    counts: defaultdict[str, Counter[tuple[int, bool]]] = defaultdict(Counter)
    moves: defaultdict[str, Counter[tuple[bool, bool]]] = defaultdict(Counter)
    for pair in itertools.pairwise([*options.brains, options.brains[0]]):
        names = [pair[seat % 2] for seat in range(options.players)]
        beliefs: tuple[Beliefs, ...] = ()
        for number in range(options.games):
            rng = random.Random(f"{options.seed} {pair} {number}")
            game = start_game(options.players, rng)
            play_to_end(game, [ArenaPlayer(name, brain_named(name).choose, rng) for name in names])
            view = before_scoring(game)
            promised, best = clues_in(view)
            for name, placements in zip(names, best, strict=True):
                moves[name].update(placements)
            for when, known in (("first", ()), ("later", beliefs)) if beliefs else (("first", ()),):
                for field, chance in believed(view, known).items():
                    name = names[view.owners[FIELDS[field]]]
                    farmer = game.view.placed[FIELDS[field]][1] == Kind.FARMER
                    losses[name, when].append(-math.log(chance if farmer else 1.0 - chance))
                    if when == "first":
                        better = (promised[field] > 0.0) == farmer
                        counts[name][bisect.bisect(STEPS, abs(promised[field])), better] += 1
            beliefs = beliefs_after(snapshot(game.view, SPECTATOR), beliefs)
    for name, found in counts.items():
        for when in ("first", "later"):
            each = losses[name, when]
            mean, right = sum(each) / len(each), sum(loss < math.log(2) for loss in each) / len(each)
            print(f"{name:12} {when}  log loss {mean:.2f}  right {right:.0%}  {len(each)} wolves")
        if options.fit:
            scale = 2 * (len(STEPS) + 1) / found.total()
            for step in range(len(STEPS) + 1):
                print(", ".join(f"{scale * found[step, better]:.2f}" for better in (False, True)))
            shares = ((good, moves[name][good] / moves[name].total()) for good in sorted(moves[name]))
            print(", ".join(f"{good}: {share:.2f}" for good, share in shares))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
