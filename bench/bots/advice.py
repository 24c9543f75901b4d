"""How good advice is: of the moves called better than the one played, how many truly are, and by how much.

    nice -n 10 python -m bench.bots.advice greedy search:1000 liar:1000 --games 20

A greedy player plays against each brain, and gets advice on every move. What a move is truly worth is judged
by a deep search with everything open. Of the greatest losses, it is also counted how often a deep search
from the player's own view finds a move that is truly better than the advised one by ten points.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from client.bots.arena.games import begun
from client.bots.brains import brain_named
from client.bots.search.advice import after, better, candidates, chances_in, shares_of_wins
from engine.events import Place
from engine.redaction import snapshot
from engine.view import View, eyes_of

_DEEP = 8000  # simulations
_GREATEST = 30
_PLAYER = "greedy"


class Advised(NamedTuple):
    """What advice claimed and what it is worth, and the moment before the move, as seen and open."""

    claimed: float
    worth: float
    move: Place
    seen: View
    everything: View


def truth(view: View, move: Place) -> float:
    """Return the chance of winning after the move, for somebody who sees everything."""
    there = after(view, move)
    shares = shares_of_wins(there, _DEEP, f"{view.to_place} deep")
    return chances_in(there, shares)[move.seat]


def advice_in(brain: str, players: int, number: int, simulations: int) -> Iterator[Advised | None]:
    """Yield what became of each move of the greedy player in a game against a brain."""
    rng = random.Random(f"{brain} {players} {number}")
    game = begun(players, rng)
    own = number % players
    brains = [brain_named(_PLAYER if seat == own else brain).choose for seat in range(players)]
    while (legal := game.legal()) is not None:
        seen = snapshot(game.view, eyes_of(legal.seat))
        command = brains[legal.seat](seen, legal, rng)
        if legal.seat == own and isinstance(command, Place):
            seed = f"{brain} {number} {seen.to_place}"
            found = better(seen, command, simulations, seed)
            if found is None:
                yield None
            else:
                everything = snapshot(game.view, game.view.eyes)
                worth = truth(everything, found.move) - truth(everything, command)
                yield Advised(found.gain, worth, found.move, seen, everything)
        game.apply(command)


def missed(found: Advised) -> float:
    """Return how much more the move is worth that a deep search from the player's own view finds."""
    deep, *_others = candidates(found.seen, found.move.seat, 4 * _DEEP, "deep")
    return truth(found.everything, deep) - truth(found.everything, found.move)


def line(name: str, found: Sequence[Advised], moves: int) -> str:
    """Return how good the advice was, in a line."""
    count, claimed = len(found) or 1, sum(each.claimed for each in found)
    return (
        f"{name:12} {len(found):4} of {moves} moves  claimed {claimed / count:.1%}"
        f"  worth {sum(each.worth for each in found) / count:.1%}"
        f"  better {sum(each.worth > 0.0 for each in found) / count:.0%}"
        f"  worse by 5 {sum(each.worth < -0.05 for each in found) / count:.0%}"
    )


def main() -> int:
    """Play the games and print a line for each brain, and one for all."""
    parser = argparse.ArgumentParser(prog="python -m bench.bots.advice", description=__doc__)
    parser.add_argument("brains", nargs="+", help="as of `palatinus arena`")
    parser.add_argument("--players", type=int, default=2)
    parser.add_argument("--games", type=int, default=20)
    parser.add_argument("--simulations", type=int, default=1000)
    options = parser.parse_args()
    every: dict[str, list[Advised | None]] = {brain: [] for brain in options.brains}
    for number in range(options.games):
        for brain, found in every.items():
            found.extend(advice_in(brain, options.players, number, options.simulations))
    every["all"] = [each for found in every.values() for each in found]
    for brain, found in every.items():
        print(line(brain, [each for each in found if each is not None], len(found)))
    advised = [each for each in every["all"] if each is not None]
    greatest = sorted(advised, key=lambda each: -each.claimed)[:_GREATEST]
    bettered = sum(missed(each) >= 0.1 for each in greatest)
    print(f"of the {len(greatest)} greatest, a deep search betters {bettered} by 10 points")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
