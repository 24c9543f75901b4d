"""Chances from shares of simulated wins: what a search believes, and how often it comes true.

A search takes everybody for as good as itself, and its simulations follow few lines of play. So the shares
are drawn apart, or towards each other, by a stretch of their logits (Guo et al., "On Calibration of Modern
Neural Networks", ICML 2017), which was fitted on games between bots: `python -m bench.bots.calibration --fit`
does that, and without the option it shows how right the chances are.
"""

from typing import Final

from client.bots.analysis.judgement import Shares

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
