"""What the end of a game is worth to each seat, from 0 to 1."""

from typing import Final

from engine.terrain import POINT, PackedScore

WIN: Final = (
    0.7  # the rest is for the margin, so that a search sees progress where all its games are won or lost
)
MARGIN: Final = 1.0 - WIN
_LOST: Final = MARGIN / 2  # a loser's lead is negative, a winner's is not
DECISIVE: Final = 20 * POINT  # a greater lead is worth no more
_SCALE: Final = 2 * DECISIVE


def utilities(packed: list[PackedScore]) -> list[float]:
    """Return the utility of each seat; with two players they add up to 1."""
    best = max(packed)
    winners = packed.count(best)
    second = best if winners > 1 else max([score for score in packed if score != best])
    won = WIN / winners + MARGIN * (0.5 + min(best - second, DECISIVE) / _SCALE)
    return [
        won if score == best else MARGIN * (0.5 + max(score - best, -DECISIVE) / _SCALE) for score in packed
    ]


def win_shares(worth: list[float]) -> list[float]:
    """Return each seat's share of the win, from the utilities: a loser's is below all winners'."""
    won = [each > _LOST for each in worth]
    return [1.0 / sum(won) if each else 0.0 for each in won]
