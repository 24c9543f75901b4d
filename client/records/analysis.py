"""What became of everybody's chances in a game, move by move, judged with everything open."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from client.records.recording import Recording
from engine.events import Place
from engine.pieces import Seat

Chances: TypeAlias = tuple[float, ...]  # of winning, by seat: they add up to 1

MOST_DECIDING: Final = 3  # moves that decided a game
_DECIDING: Final = 0.1  # what a move has to change at least, to be one of them


@dataclass(frozen=True, slots=True)
class Better:
    """A move that would have been better, judged by what its player saw.

    `chance` is the player's chance of winning after it, and `instead_of` that after the move that was played.
    """

    move: Place
    chance: float
    instead_of: float

    @property
    def gain(self) -> float:
        return self.chance - self.instead_of


@dataclass(frozen=True, slots=True)
class JudgedMove:
    """A placement, move `number` of its game, and everybody's chances before and after it."""

    number: int
    move: Place
    before: Chances
    after: Chances
    better: Better | None

    @property
    def seat(self) -> Seat:
        return self.move.seat

    @property
    def swing(self) -> float:
        """Return how much of the chances changed hands."""
        return swing(self.before, self.after)


@dataclass(frozen=True, slots=True)
class Analysis:
    """The chances in a game, as far as they are judged: after move `first`, and after each one that follows.

    `wanted` is how many moves there are to judge, and `result` everybody's share of the victory.
    `simulations` is how many games were played out to judge each moment, and `seed` makes them repeatable.
    """

    names: tuple[str, ...]
    first: int
    start: Chances | None
    moves: tuple[JudgedMove, ...]
    wanted: int
    result: Chances
    simulations: int
    seed: int

    @property
    def complete(self) -> bool:
        return self.start is not None and len(self.moves) == self.wanted

    @property
    def judged(self) -> int:
        """Return how many moments are judged, of `wanted + 1`."""
        return (self.start is not None) + len(self.moves)

    @property
    def curve(self) -> tuple[Chances, ...]:
        """Return the chances from the start on; if all is judged, the last ones are the result itself."""
        return () if self.start is None else (self.start, *(move.after for move in self.moves))

    @property
    def deciding(self) -> tuple[JudgedMove, ...]:
        """Return the moves that decided the game, the one that changed most first."""
        by_swing = sorted(self.moves, key=lambda move: -move.swing)
        return tuple(move for move in by_swing[:MOST_DECIDING] if move.swing >= _DECIDING)

    def at(self, stop: int) -> Chances | None:
        """Return the chances at a stop of the recording; None where they are not judged."""
        curve, index = self.curve, stop - self.first
        return curve[index] if 0 <= index < len(curve) else None

    def move_at(self, stop: int) -> JudgedMove | None:
        """Return the judged move that led to a stop of the recording."""
        index = stop - self.first - 1
        return self.moves[index] if 0 <= index < len(self.moves) else None


# Judges a finished game, tells what there is of it again and again, and returns what went wrong, if anything.
Analyse: TypeAlias = Callable[[Recording, Callable[[Analysis], None]], Awaitable[str]]


def swing(before: Sequence[float], after: Sequence[float]) -> float:
    """Return how much of the chances changed hands."""
    return sum(max(0.0, now - then) for then, now in zip(before, after, strict=True))
