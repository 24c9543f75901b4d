"""Moves judged: what each changed for everybody's chances, and what would have been better.

A search takes everybody for as good as itself, and its simulations follow few lines of play. So the shares
are drawn apart, or towards each other, by a stretch of their logits (Guo et al., "On Calibration of Modern
Neural Networks", ICML 2017), which was fitted on games between bots: `python -m bench.bots.calibration --fit`
does that, and without the option it shows how right the chances are.

The chances are those of somebody who sees everything, as the record does: they come true more often than a
spectator's, and what a move did shows at once and not when the wolves are turned up. Whether another move
was better is judged by what the player on turn saw.
"""

import random
from dataclasses import dataclass
from typing import Final, TypeAlias

from client.bots.search.brain import SearchBrain, chosen
from client.bots.search.tree import Search
from client.records.analysis import Better, Chances
from client.records.recording import Recording
from engine.events import Place, Placed
from engine.legal import LegalPlaces
from engine.redaction import snapshot
from engine.view import Phase, View, eyes_of, free_fields

Shares: TypeAlias = tuple[float, ...]  # by seat; they add up to 1, and none is 0 or 1

# Each search settles on few lines of play, so two that are half as long judge better than one (measured).
_SEARCHES: Final = 2


def shares_of_wins(view: View, simulations: int, seed: str) -> Shares:
    """Return everybody's share of the wins in games from `view` on, the placing phase, to the end."""
    wins = [1.0 / view.seats] * view.seats  # one more game, in which everybody is as good
    rng = random.Random(seed)
    for _ in range(_SEARCHES):
        Search(view, rng, wins).run(simulations // _SEARCHES)
    total = sum(wins)
    return tuple(each / total for each in wins)


# The stretch before the first piece is placed, and what it gains until the last one is.
FITTED: Final = (1.25, -0.45)


def chances_of(shares: Shares, placed: float, fitted: tuple[float, float] = FITTED) -> Shares:
    """Return the chances of winning, when this part of all pieces, from 0 to 1, is placed."""
    start, gain = fitted
    stretched = [share ** (start + gain * placed) for share in shares]
    total = sum(stretched)
    return tuple(each / total for each in stretched)


def part_placed(to_place: int, dealt: int) -> float:
    """Return which part of the pieces is placed."""
    return 1.0 - to_place / dealt


_WORTH_SAYING: Final = 0.05  # a move that improves the player's chance by less is as good as the one played
_NO_HURRY: Final = float("inf")  # seconds: the simulations alone decide how long a search takes


@dataclass(frozen=True, slots=True)
class Moment:
    """A stop of a recording with everything open; after a placement, also what its player saw before it.

    After the last placement the chances are what the game came to.
    """

    stop: int
    open: View
    own: View | None = None
    move: Place | None = None
    came_to: Chances | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The chances at a moment, and a better move than the one that led to it, if one was found."""

    chances: Chances
    better: Better | None


def moments(recording: Recording, result: Chances) -> list[Moment]:
    """Return the moments to judge: from the last tile on, each one in turn up to the last piece."""
    found: list[Moment] = []
    for stop in range(recording.moves + 1):
        view = recording.view(stop, recording.all_eyes)
        if view.phase is Phase.LAYING:
            continue
        placed = recording.events[recording.counts[stop] - 1]
        if not isinstance(placed, Placed):
            found.append(Moment(stop, view))
            continue
        own = recording.view(stop - 1, eyes_of(placed.seat))
        move = Place(placed.seat, placed.piece, placed.field)
        found.append(Moment(stop, view, own, move, None if view.to_place else result))
    return found


def judged(moment: Moment, simulations: int, seed: int) -> Verdict:
    """Return the verdict on a moment; every search in it makes so many simulations."""
    name = f"{seed} {moment.stop}"
    chances = moment.came_to or chances_in(moment.open, simulations, f"{name} chances")
    if moment.own is None or moment.move is None:
        return Verdict(chances, None)
    return Verdict(chances, _better(moment.own, moment.move, simulations, name))


def chances_in(view: View, simulations: int, seed: str) -> Chances:
    """Return everybody's chances of winning, as far as `view` can tell."""
    dealt = sum(sum(hand.values()) for hand in view.start.hands)
    return chances_of(shares_of_wins(view, simulations, seed), part_placed(view.to_place, dealt))


def _better(own: View, move: Place, simulations: int, name: str) -> Better | None:
    """Return what the search would have played, if that is clearly better."""
    best = _searched(own, move, simulations, f"{name} best")
    if (best.piece.kind, best.field) == (move.piece.kind, move.field):
        return None
    # The same seed for both, so that chance helps neither.
    chance, instead_of = (
        chances_in(after(own, each), simulations, f"{name} after")[move.seat] for each in (best, move)
    )
    return Better(best, chance, instead_of) if chance - instead_of >= _WORTH_SAYING else None


def _searched(own: View, move: Place, simulations: int, seed: str) -> Place:
    rng = random.Random(seed)
    visits = SearchBrain(simulations, _NO_HURRY).visits(own, rng.getrandbits(64))
    pieces = tuple(own.hands[move.seat])
    best = chosen(LegalPlaces(move.seat, pieces, free_fields(own)), [visits], rng)
    if best.piece.kind is move.piece.kind:  # so that people and wolf do not differ without need
        return Place(move.seat, move.piece, best.field)
    return best


def after(own: View, move: Place) -> View:
    """Return the view after the player's own move."""
    there = snapshot(own, own.eyes)
    there.fold(Placed(move.seat, move.piece, move.field))
    return there
