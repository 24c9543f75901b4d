"""What happens to each connection on its way through the proxy, drawn from the seed beforehand."""

import enum
import random
from dataclasses import dataclass
from typing import Final

_BYTES_BEFORE_THE_END: Final = 3000  # on average: a game is some 8,000 to each seat, and a greeting 700


class Way(enum.StrEnum):
    """A direction, as seen from the client."""

    UP = "up"
    DOWN = "down"


class End(enum.StrEnum):
    """How a connection ends or stops working."""

    RESET = "reset"  # both sides at once, in the middle of whatever is on its way
    TRUNCATED = "truncated"  # the rest is dropped, and then comes what looks like an orderly end
    CLOSED = "closed"  # what is on its way arrives, then both sides see the end
    STALLED = "stalled"  # one way stalls for a while
    LINGERING = "lingering"  # the client's side is gone, and its last bytes reach the server later


@dataclass(frozen=True, slots=True)
class Fate:
    """What the proxy does to one connection; seconds and bytes."""

    late: float  # before the server hears of it
    delay: float  # at most, for each piece
    piece: int | None  # bytes that are handed on together, in some places
    end: End
    way: Way  # the direction in which the end comes ...
    after: int  # ... after so many bytes
    hold: float  # how long it stalls or lingers


def fate(seed: str, number: int, longest_hold: float) -> Fate:
    """Return the fate of connection `number`, counted from 0: the same for the same seed."""
    rng = random.Random(f"{seed} connection {number}")
    return Fate(
        late=rng.uniform(0.0, longest_hold / 6) if rng.random() < 0.1 else 0.0,
        delay=rng.choice([0.0, 0.0, 0.002, 0.02]),
        piece=rng.choice([None, None, 1, 3, 7, 50]),
        end=rng.choices(list(End), weights=[4, 3, 2, 3, 4])[0],
        way=rng.choice(list(Way)),
        after=int(rng.expovariate(1 / _BYTES_BEFORE_THE_END)),
        hold=longest_hold * rng.choice([0.01, 0.05, 0.2, 0.5, 1.0]),
    )
