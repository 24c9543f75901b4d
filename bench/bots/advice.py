"""How good advice is: of the moves called better than the one played, how many truly are, and by how much.

And how complete: of the moves that a deep search from the player's own view betters, how many are named.

    nice -n 10 python -m bench.bots.advice greedy search:1000 liar:1000 --games 20

A greedy player plays against each brain, and gets advice on every move. What a move is truly worth is judged
by a deep search with everything open. A move is bettered if a deep search from the player's own view prefers
another one, and two more, one after each move, find that it wins five points more. Of the greatest losses, it
is also counted how often such a search finds a move that is truly better than the advised one by ten points.

Each game adds a line, so that a run that is stopped counts; Ctrl-C leads to the summary, and ends that too.
`--first 20` goes on behind the first 20 games. In brackets: 95% intervals.
"""

import argparse
import contextlib
import math
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from client.bots.arena.games import start_game
from client.bots.brains import brain_named
from client.bots.search.advice import after, better, candidates, chances_in, shares_of_wins
from client.bots.search.brain import SearchBrain
from client.bots.search.tree import Move, Visited
from client.bots.shares import wilson
from engine.board import FIELDS
from engine.events import Place
from engine.redaction import snapshot
from engine.terrain import NUMBERS
from engine.view import View, eyes_of

_DEEP = 8000  # simulations
_OWN_DEEP = 20_000  # ... from the player's own view
_BETTERED = 0.05  # of the chance of winning, or in an ending of utility
_GREATEST = 30
_PLAYER = "greedy"


class Advised(NamedTuple):
    """What advice claimed, and whether without a condition; what it is worth; the moment before the move."""

    claimed: float
    surely: bool
    worth: float
    move: Place
    seen: View
    everything: View


class Judged(NamedTuple):
    """A move of the player: whether a deep search betters it, and the advice on it, if any was given."""

    bettered: bool
    advised: Advised | None


def truth(view: View, move: Place) -> float:
    """Return the chance of winning after the move, for somebody who sees everything."""
    there = after(view, move)
    shares = shares_of_wins(there, _DEEP, f"{view.to_place} deep")
    return chances_in(there, shares)[move.seat]


def is_bettered(seen: View, played: Place) -> bool:
    """Return whether a deep search from the player's own view finds a move that is clearly better."""
    search = SearchBrain(_OWN_DEEP, math.inf)
    visits = search.visits(seen, seen.to_place)
    best, move = max(visits, key=visits.__getitem__), Move(played.piece.kind, NUMBERS[played.field])
    found = visits.get(move, Visited(0, 0.0))
    if found.visits == visits[best].visits == 1:  # an ending, played exactly
        return visits[best].utility - found.utility >= _BETTERED
    if found.visits and _mean(visits[best]) - _mean(found) < _BETTERED / 2:
        return False  # moves with few visits seem worse than they are
    pieces = {piece.kind: piece for piece in seen.hands[played.seat]}
    other = Place(played.seat, pieces[best.kind], FIELDS[best.field])
    return _chance(seen, other) - _chance(seen, played) >= _BETTERED


def _mean(found: Visited) -> float:
    return found.utility / found.visits


def _chance(seen: View, move: Place) -> float:
    """Return the chance of winning after the move, for its player."""
    there = after(seen, move)
    return chances_in(there, shares_of_wins(there, _OWN_DEEP // 2, f"{seen.to_place} own"))[move.seat]


def advice_in(brain: str, players: int, number: int, simulations: int) -> Iterator[Judged]:
    """Yield what became of each move of the greedy player in a game against a brain."""
    rng = random.Random(f"{brain} {players} {number}")
    game = start_game(players, rng)
    own = number % players
    brains = [brain_named(_PLAYER if seat == own else brain).choose for seat in range(players)]
    while (legal := game.legal()) is not None:
        seen = snapshot(game.view, eyes_of(legal.seat))
        command = brains[legal.seat](seen, legal, rng)
        if legal.seat == own and isinstance(command, Place):
            seed = f"{brain} {number} {seen.to_place}"
            found = better(seen, command, simulations, seed)
            advised = None
            if found is not None:
                everything = snapshot(game.view, game.view.eyes)
                worth = truth(everything, found.move) - truth(everything, command)
                surely = found.condition is None
                advised = Advised(found.gain, surely, worth, found.move, seen, everything)
            yield Judged(is_bettered(seen, command), advised)
        game.apply(command)


def missed(found: Advised) -> float:
    """Return how much more the move is worth that a deep search from the player's own view finds."""
    deep, *_others = candidates(found.seen, found.move.seat, _OWN_DEEP, "deep")
    return truth(found.everything, deep) - truth(found.everything, found.move)


def part(count: int, whole: int) -> str:
    low, high = wilson(count / whole, whole)
    return f"{count / whole:.0%} [{100 * low:.0f}, {100 * high:.0f}]"


def line(name: str, every: Sequence[Judged]) -> str:
    """Return how good and how complete the advice was, in a line."""
    found = [each.advised for each in every if each.advised is not None]
    bettered = [each.advised is not None for each in every if each.bettered]
    count = len(found)
    shown = f"{name:12} {count:4} of {len(every)} moves"
    if bettered:
        shown += f"  named {part(sum(bettered), len(bettered))} of {len(bettered)} bettered"
    if not found:
        return shown
    shown += (
        f"  claimed {sum(each.claimed for each in found) / count:.1%}"
        f"  worth {sum(each.worth for each in found) / count:.1%}"
        f"  better {part(sum(each.worth > 0.0 for each in found), count)}"
    )
    if sure := [each.worth > 0.0 for each in found if each.surely]:
        shown += f", without a condition {part(sum(sure), len(sure))}"
    return f"{shown}  worse by 5 {part(sum(each.worth < -0.05 for each in found), count)}"


def main() -> int:
    """Play the games and print a line for each brain, and one for all."""
    parser = argparse.ArgumentParser(prog="python -m bench.bots.advice", description=__doc__)
    parser.add_argument("brains", nargs="+", help="as of `palatinus arena`")
    parser.add_argument("--players", type=int, default=2)
    parser.add_argument("--games", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the number of the first game (default: 0)")
    parser.add_argument("--simulations", type=int, default=1000)
    options = parser.parse_args()
    every: dict[str, list[Judged]] = {brain: [] for brain in options.brains}
    with contextlib.suppress(KeyboardInterrupt):
        for number in range(options.first, options.first + options.games):
            for brain, found in every.items():
                found.extend(advice_in(brain, options.players, number, options.simulations))
                print(f"game {number:3}  {line(brain, found)}", flush=True)
    every["all"] = [each for found in every.values() for each in found]
    for brain, found in every.items():
        print(line(brain, found))
    advised = [each.advised for each in every["all"] if each.advised is not None]
    greatest = sorted(advised, key=lambda each: -each.claimed)[:_GREATEST]
    bettered: list[bool] = []
    with contextlib.suppress(KeyboardInterrupt):
        bettered.extend(missed(each) >= 0.1 for each in greatest)
    if bettered:
        count = len(bettered)
        print(f"a deep search betters by 10 {part(sum(bettered), count)} of the {count} greatest")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
