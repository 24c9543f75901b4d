"""How right `palatinus record analyse` is: of moments given a chance of 30 %, does a seat win three in ten?

    nice -n 10 python -m bench.bots.calibration --positions 500 --seed 1

Games between greedy and searching bots, alone and mixed, at 2 to 5 players, are stopped at a few moments
each. With `--fit` the stretch is fitted to them that `client.bots.search.advice` uses; fit and test
with different seeds.
"""

import argparse
import itertools
import math
import random
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Final

from client.bots.brains import brain_named
from client.bots.search.advice import FITTED, Shares, chances_of, part_placed, shares_of_wins
from engine.components import DEALS
from engine.game import Game, GameOptions, RandomChance
from engine.redaction import snapshot
from engine.view import SPECTATOR, Eyes, Phase, View, eyes_of

_MIXTURES: Final = (("greedy",), ("search:500",), ("greedy", "search:500"))
_MOMENTS: Final = 4  # of a game: more of them would depend on each other
_BINS: Final = 10
_STEP: Final = 0.05  # of a fit


@dataclass(frozen=True, slots=True)
class Sample:
    """A moment of a game: the shares of simulated wins, how full the board was, and who won."""

    shares: Shares
    placed: float
    won: Shares


def samples(number: int, seed: int, simulations: int, *, hidden: bool) -> list[Sample]:
    """Play game `number` of a seed, and judge a few of its moments."""
    rng = random.Random(f"{seed} {number}")
    players = list(DEALS)[number % len(DEALS)]
    mixture = _MIXTURES[number // len(DEALS) % len(_MIXTURES)]
    brains = [brain_named(rng.choice(mixture)).choose for _ in range(players)]
    game = Game.new(GameOptions(players, random_layout=True), RandomChance(rng))
    eyes: Eyes = SPECTATOR if hidden else game.view.eyes
    views: list[View] = []
    while (legal := game.legal()) is not None:
        if game.view.phase is Phase.PLACING:
            views.append(snapshot(game.view, eyes))
        game.apply(brains[legal.seat](snapshot(game.view, eyes_of(legal.seat)), legal, rng))
    result = game.view.result
    assert result is not None
    won = tuple(float(seat in result.winners) / len(result.winners) for seat in range(players))
    found = []
    for quarter in range(_MOMENTS):
        view = rng.choice(views[quarter * len(views) // _MOMENTS : (quarter + 1) * len(views) // _MOMENTS])
        shares = shares_of_wins(view, simulations, f"{seed} {number} {quarter}")
        found.append(Sample(shares, part_placed(view.to_place, views[0].to_place), won))
    return found


def loss(found: Iterable[Sample], fitted: tuple[float, float]) -> float:
    """Return the mean log loss with this stretch."""
    losses = [
        -sum(won * math.log(chance) for won, chance in zip(each.won, chances, strict=True))
        for each in found
        for chances in [chances_of(each.shares, each.placed, fitted)]
    ]
    return sum(losses) / len(losses)


def best_fit(found: Sequence[Sample]) -> tuple[float, float]:
    """Return the stretch with the least loss, among those on a grid."""
    starts = [round(_STEP * n, 2) for n in range(1, 41)]
    gains = [round(_STEP * n, 2) for n in range(-30, 31)]
    grid = [(start, gain) for start, gain in itertools.product(starts, gains) if start + gain > 0]
    return min(grid, key=lambda fitted: loss(found, fitted))


def table(found: Sequence[Sample]) -> list[str]:
    """Return the reliability table: what was said, and what came true; and the calibration error."""
    pairs = [
        pair for each in found for pair in zip(chances_of(each.shares, each.placed), each.won, strict=True)
    ]
    lines = ["| chance | judgements | mean chance | won |", "|---|---|---|---|"]
    error = 0.0
    for number in range(_BINS):
        inside = [pair for pair in pairs if min(int(_BINS * pair[0]), _BINS - 1) == number]
        if not inside:
            continue
        chance, won = (sum(column) / len(inside) for column in zip(*inside, strict=True))
        error += abs(chance - won) * len(inside) / len(pairs)
        span = f"{number / _BINS:.0%} to {(number + 1) / _BINS:.0%}"
        lines.append(f"| {span} | {len(inside)} | {chance:.1%} | {won:.1%} |")
    brier = sum((chance - won) ** 2 for chance, won in pairs) / len(pairs)
    equal = sum((1 / len(each.won) - won) ** 2 for each in found for won in each.won) / len(pairs)
    lines.append(
        f"{len(found)} positions, {len(pairs)} judgements: expected calibration error {error:.3f}, "
        f"Brier score {brier:.3f} (equal chances: {equal:.3f}), log loss {loss(found, FITTED):.3f}"
    )
    return lines


def main() -> int:
    """Play the games and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.bots.calibration", description=__doc__)
    parser.add_argument("--positions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--simulations", type=int, default=1000, help="for each position (default: 1000)")
    parser.add_argument("--hidden", action="store_true", help="judge by what spectators see")
    parser.add_argument("--fit", action="store_true", help="fit the stretch to these games")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    games = range(math.ceil(options.positions / _MOMENTS))
    with ProcessPoolExecutor(options.processes) as pool:
        parts = [
            pool.submit(samples, number, options.seed, options.simulations, hidden=options.hidden)
            for number in games
        ]
        found = [sample for part in parts for sample in part.result()][: options.positions]
    if options.fit:
        print(f"FITTED = {best_fit(found)}")
    print(*table(found), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
