"""What comes of one game of an arena."""

from dataclasses import dataclass

from client.bots.arena.schedule import Entrant


@dataclass(frozen=True, slots=True)
class SeatOutcome:
    """What the brain in a seat reached, its part of the victory, and how long its moves took in seconds."""

    entrant: Entrant
    share: float
    points: int
    items: int
    moves: int
    seconds: float
    longest: float

    @property
    def rank(self) -> tuple[int, int]:
        """Return what decides who is ahead of whom (R7)."""
        return self.points, self.items


@dataclass(frozen=True, slots=True)
class GameOutcome:
    """A game by its number, seat by seat, with its record if that is wanted."""

    number: int
    seats: tuple[SeatOutcome, ...]
    record: str | None = None
