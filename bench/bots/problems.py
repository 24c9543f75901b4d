"""Find problems: moments of games between bots at which one move is clearly the best, and not obvious.

    nice -n 10 python -m bench.bots.problems --wanted 24 > client/ui/lessons/problems.txt

A quick search proposes; a deep one from the player's view has to choose the same move, to find it better than
each of the next three in most worlds, and to find so with everything open as well.
"""

import argparse
import random
import sys
from collections.abc import Iterator
from itertools import count

import msgspec

from bench.bots.advice import truth
from client.bots.arena.games import start_game
from client.bots.brains import brain_named
from client.bots.greedy import greedy
from client.bots.search.advice import candidates, compare_moves
from client.records import StoredProblem
from engine.components import DEALS
from engine.events import Place
from engine.legal import LegalPlaces
from engine.record import recorded
from engine.redaction import snapshot
from engine.view import View, eyes_of

_NAMES = ("Livia", "Marco", "Silvia", "Tullia", "Numa")
_BRAINS = ("citizen", "greedy", "search:500")
_QUICK, _DEEP = 1000, 5000  # simulations
_GAIN = 0.08  # that the best move has to be better by
_RIVALS = 3
_LAST = 3  # rounds before the end are left out: they are counted, not judged


def problem_at(view: View, own: View, legal: LegalPlaces) -> tuple[Place, Place] | None:
    """Return the one best move and the next best, if there is one best move that a greedy player misses."""
    seat = legal.seat
    obvious = greedy(own, legal, random.Random(1))
    best, *rivals = candidates(own, seat, _QUICK, "quick")[: 1 + _RIVALS]
    if not isinstance(obvious, Place) or (obvious.piece.kind, obvious.field) == (best.piece.kind, best.field):
        return None
    for simulations, seed in ((_QUICK, "quick"), (_DEEP, "deep")):
        if simulations == _DEEP and candidates(own, seat, 6 * _DEEP, seed)[0] != best:
            return None
        for rival in rivals:
            found = compare_moves(own, best, rival, simulations, seed)
            if found is None or found.gain < _GAIN:
                return None
    if any(truth(view, best) <= truth(view, rival) for rival in rivals):
        return None
    return best, rivals[0]


def problems_in(number: int) -> Iterator[StoredProblem]:
    """Yield the problems of a game, at most one of each player."""
    rng = random.Random(number)
    players = list(DEALS)[number % len(DEALS)]
    game = start_game(players, rng, random_layout=True)
    brains = [brain_named(rng.choice(_BRAINS)).choose for _seat in range(players)]
    found: dict[int, tuple[int, Place, Place]] = {}
    moves = 0
    while (legal := game.legal()) is not None:
        own = snapshot(game.view, eyes_of(legal.seat))
        early = own.to_place > _LAST * players
        if isinstance(legal, LegalPlaces) and early and own.placed and legal.seat not in found:
            everything = snapshot(game.view, game.view.eyes)
            if (problem := problem_at(everything, own, legal)) is not None:
                found[legal.seat] = (moves, *problem)
        game.apply(brains[legal.seat](own, legal, rng))
        moves += 1
    record = recorded(game.events, _NAMES[:players])
    for move, best, other in found.values():
        yield StoredProblem(record, move, f"{best.piece} {best.field}", f"{other.piece} {other.field}")


def main() -> int:
    """Print problems, one JSON object for each, until there are enough."""
    parser = argparse.ArgumentParser(prog="python -m bench.bots.problems", description=__doc__)
    parser.add_argument("--wanted", type=int, default=24)
    wanted: int = parser.parse_args().wanted
    for number in count():
        for problem in problems_in(number):
            print(msgspec.json.encode(problem).decode(), flush=True)
            wanted -= 1
            if not wanted:
                return 0
        print(f"game {number + 1}, {wanted} to go", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
