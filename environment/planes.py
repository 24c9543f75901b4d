"""The planes of an observation: what each is called, and the greatest number in it.

Seats are counted from the observer: 0 is the observer, 1 the next one clockwise.
"""

import functools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from engine.board import TILES
from engine.components import DEALS, LAUREL_WORTH
from engine.pieces import Kind

KINDS: Final = {Kind.MERCHANT: "merchant", Kind.FARMER: "farmer", Kind.SOLDIER: "soldier"}
SECOND: Final = "second "  # before the faces of a seat's second people (R9.6)


@dataclass(frozen=True, slots=True)
class Planes:
    """The planes of an observation, in order.

    `most` has the greatest number in each; from `first_even` on, a plane has the same number everywhere.
    """

    most: Mapping[str, int]
    index: Mapping[str, int]
    first_even: int


@functools.cache
def planes_of(players: int) -> Planes:
    """Return the planes of the observations in games of this many players."""
    hand = dict(_hand(players))
    seen = Counter[str]()
    for face, count in hand.items():
        seen[seen_face(face)] += count
    seats = range(players)
    most = {"spring": 1, "laurel": max(LAUREL_WORTH.values())}
    most |= {f"tile {tile}": 1 for tile in TILES}
    most |= {"placed": players * sum(hand.values())}
    if DEALS[players].second:
        most |= {"second people": 1}
    most |= {f"{kind} of {seat}": 1 for seat in seats for kind in (*KINDS.values(), "wolf")}
    first_even = len(most)
    most |= {"laying": 1}
    most |= {f"drawn {tile}": 1 for tile in TILES}
    most |= {f"turn of {seat}": 1 for seat in seats}
    most |= {f"hand {face}": count for face, count in hand.items()}
    most |= {f"left {face} of {seat}": count for seat in seats for face, count in seen.items()}
    return Planes(most, {name: index for index, name in enumerate(most)}, first_even)


def seen_face(face: str) -> str:
    """Return a piece's face as everybody sees it: a wolf has no kind (R4.2)."""
    return f"{face[:-2]}*" if face.endswith("*") else face


def _hand(players: int) -> Iterator[tuple[str, int]]:
    """Yield what each hand starts with, face by face (R3.5)."""
    deal = DEALS[players]
    yield from deal.own.items()
    for face, count in deal.second.items():
        yield f"{SECOND}{face}", count
