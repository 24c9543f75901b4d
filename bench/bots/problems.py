"""Find problems: moments of games between bots of all levels at which one move is clearly the best.

    nice -n 10 python -m bench.bots.problems found.txt > client/ui/lessons/problems.txt

A quick search proposes; deeper ones from the player's view have to choose the same move, the last one with
100,000 simulations. As the client compares moves, it has to be better than each of the next best moves, than
other pieces on its field and than its piece elsewhere; and with everything open too, exactly in an ending.

Problems are ordered by how many tries find the move: those of nine searches each with 100, 300, 1,000 (like a
senator) and 3,000 simulations, and a citizen, who looks one move ahead and counts for nine. The quarter that
is found most often has grade 1, the last one grade 4.

Each game gives at most one problem, which is added to `found.txt`: a run that is stopped goes on from there.
When there are enough, or after Ctrl-C, the problems are printed in their order.
"""

import argparse
import contextlib
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Final

import msgspec

from bench.bots.advice import truth
from client.bots.arena.games import start_game
from client.bots.brains import brain_named, citizen
from client.bots.hints import SIMULATIONS
from client.bots.search.advice import compare_moves
from client.bots.search.brain import Ending, SearchBrain
from client.bots.search.tree import Move, Visits
from client.bots.search.worlds import Worlds
from client.records import GRADES, StoredProblem
from engine.board import FIELDS
from engine.events import Place
from engine.legal import LegalPlaces
from engine.record import recorded
from engine.redaction import snapshot
from engine.terrain import NUMBERS
from engine.view import View, eyes_of

_NAMES: Final = ("Livia", "Marco", "Silvia", "Tullia", "Numa")
# The levels: a senator, and a consul who is in a hurry. None of them looks at the clock.
_LEVELS: Final = ("slave", "plebeian", "citizen", "search:1000", "search:3000")
_PLAYERS: Final = (2, 3, 4, 5)
_TRIES: Final = 9  # with each number of simulations, which decide the grade
_QUICK: Final = (100, 300, 1000, 3000)
_PROMISING, _TESTED = 10, 6  # moments of a game at most that are looked at more closely, and to the end
_FIRST, _SECOND, _LAST = 1000, 10_000, 100_000  # simulations of the searches from the player's view
_COMPARED: Final = 4000  # simulations of a comparison
_EXACT: Final = 100_000  # final boards of an ending that are played
_AHEAD: Final = 0.04  # of utility, that the best move has to be ahead in a search
_LEAST_CHANCE: Final = 0.15  # of winning after the best move: nobody likes to solve for a lost game
_OPEN_GAIN: Final = 0.03  # of that chance, with everything open
_TRUSTED: Final = 30  # visits from which a move's mean counts
_NEXT: Final = 3  # moves that are next best


class Found(msgspec.Struct, frozen=True):
    """A problem, the number of its game, and how many tries find the solution."""

    game: int
    problem: StoredProblem
    hits: int


@dataclass(frozen=True, slots=True)
class Moment:
    """A placement to come, after so many moves of the game."""

    moves: int
    own: View
    everything: View
    legal: LegalPlaces


def visits(own: View, simulations: int, seed: str) -> Visits:
    return SearchBrain(simulations, float("inf")).visits(own, random.Random(seed).getrandbits(64))


def ranked(found: Visits) -> list[Move]:
    return sorted(found, key=lambda move: found[move], reverse=True)


def lead(found: Visits) -> float:
    """Return how much better the move that is visited most is on average than the next ones."""
    best, *others = ranked(found)
    means = {move: each.utility / each.visits for move, each in found.items() if each.visits}
    rivals = [
        means[move] for move in others[:_NEXT] if found[move].visits >= min(_TRUSTED, found[best].visits)
    ]
    return means[best] - max(rivals, default=0.0)


def hits(own: View, legal: LegalPlaces, best: Move) -> int:
    """Return how many tries find the best move; see above."""
    chosen = citizen(own, legal, random.Random(1))
    found = isinstance(chosen, Place) and (chosen.piece.kind, NUMBERS[chosen.field]) == best
    searches = (visits(own, each, f"try {n}") for each in _QUICK for n in range(_TRIES))
    return _TRIES * found + sum(ranked(search)[0] == best for search in searches)


def moments_in(number: int, seed: int) -> tuple[str, list[Moment]]:
    """Play a game; return its record and the moments at which one move promises most, by how much it does."""
    rng = random.Random(f"{seed} game {number}")
    players = _PLAYERS[number % len(_PLAYERS)]
    game = start_game(players, rng, random_layout=True)
    brains = [brain_named(rng.choice(_LEVELS)).choose for _seat in range(players)]
    found: list[tuple[float, Moment]] = []
    moves = 0
    while (legal := game.legal()) is not None:
        own = snapshot(game.view, eyes_of(legal.seat))
        if isinstance(legal, LegalPlaces) and own.placed and own.to_place > 1:
            moment = Moment(moves, own, snapshot(game.view, game.view.eyes), legal)
            found.append((lead(visits(own, _FIRST, "first")), moment))
        game.apply(brains[legal.seat](own, legal, rng))
        moves += 1
    found.sort(key=lambda each: -each[0])
    promising = [moment for ahead, moment in found[:_PROMISING] if ahead >= _AHEAD / 2]
    return recorded(game.events, _NAMES[:players]), promising


def _placement(legal: LegalPlaces, move: Move) -> Place:
    """Return the placement of a piece of that kind; the wolf if it can be chosen, whose kind others miss."""
    pieces = [piece for piece in legal.pieces if piece.kind is move.kind]
    return Place(legal.seat, max(pieces, key=lambda piece: piece.wolf), FIELDS[move.field])


def rivals_of(legal: LegalPlaces, best: Move, others: Sequence[Move]) -> list[Move]:
    """Return the next best of the other moves, other pieces on the same field, and the piece elsewhere."""
    here = [Move(kind, best.field) for kind in dict.fromkeys(piece.kind for piece in legal.pieces)]
    elsewhere = [move for move in others if move.kind is best.kind][:1]
    found = dict.fromkeys([*others[:_NEXT], *here, *elsewhere])
    return [move for move in found if move != best]


def _open_worth(moment: Moment) -> Callable[[Move], float]:
    """Return what each move is worth with everything open: exactly, in an ending that is short enough."""
    ending = Ending(moment.everything, Worlds(moment.everything))
    if ending.boards <= _EXACT and (exact := ending.values()) is not None:
        return exact.__getitem__
    return cache(lambda move: truth(moment.everything, _placement(moment.legal, move)))


def nearest_rival(moment: Moment, best: Move, others: Sequence[Move]) -> Place | None:
    """Return the rival that comes nearest to the best move, if all that is said above holds for the move.

    The cheap tests come first.
    """
    own, legal = moment.own, moment.legal
    worth, solution = _open_worth(moment), _placement(legal, best)
    gains: dict[Place, float] = {}
    for move in rivals_of(legal, best, others):
        rival = _placement(legal, move)
        if worth(best) - worth(move) < _OPEN_GAIN:
            return None
        better = compare_moves(own, solution, rival, SIMULATIONS, "problem", surely=False)
        if better is None or better.chance < _LEAST_CHANCE:
            return None
        gains[rival] = better.gain
    nearest = min(gains, key=gains.__getitem__)
    if compare_moves(own, solution, nearest, _COMPARED, "deep", surely=False) is None:
        return None
    last = visits(own, _LAST, "last")
    return nearest if ranked(last)[0] == best and lead(last) >= _AHEAD else None


def _written(place: Place) -> str:
    return f"{place.piece} {place.field}"


def problem_in(number: int, seed: int) -> Found | None:
    """Return a problem of the game, if it has one; moments at which one move is best by most come first."""
    record, moments = moments_in(number, seed)
    seconds = [(moment, visits(moment.own, _SECOND, "second")) for moment in moments]
    seconds.sort(key=lambda each: -lead(each[1]))
    for moment, second in seconds[:_TESTED]:
        best, *others = ranked(second)
        if lead(second) >= _AHEAD and (other := nearest_rival(moment, best, others)) is not None:
            solution = _placement(moment.legal, best)
            problem = StoredProblem(record, moment.moves, _written(solution), _written(other))
            return Found(number, problem, hits(moment.own, moment.legal, best))
    return None


def find(file: Path, wanted: int, seed: int) -> Iterator[Found]:
    """Yield the problems in the file and those of further games, until there are so many."""
    known = file.read_bytes().splitlines() if file.exists() else []
    every = [msgspec.json.decode(line, type=Found) for line in known]
    yield from every
    numbers = count(max((found.game + 1 for found in every), default=0))
    while len(every) < wanted:
        found = problem_in(number := next(numbers), seed)
        if found is not None:
            every.append(found)
            with file.open("ab") as kept:
                kept.write(msgspec.json.encode(found) + b"\n")
            yield found
        print(f"game {number}: {len(every)} of {wanted} problems", file=sys.stderr)


def graded(found: Sequence[Found]) -> Iterator[StoredProblem]:
    """Yield the problems with their grades, the easiest first."""
    for place, each in enumerate(sorted(found, key=lambda each: -each.hits)):
        yield msgspec.structs.replace(each.problem, grade=1 + place * GRADES // len(found))


def main() -> int:
    """Find problems, and print them as JSON, one in a line."""
    parser = argparse.ArgumentParser(prog="python -m bench.bots.problems", description=__doc__)
    parser.add_argument("file", type=Path, help="where problems are added that have been found")
    parser.add_argument("--wanted", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    found: list[Found] = []
    with contextlib.suppress(KeyboardInterrupt):
        found.extend(find(options.file, options.wanted, options.seed))
    for problem in graded(found):
        print(msgspec.json.encode(problem).decode())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
