"""What chance decides in a game, worked out from the server's seed and the players' shares.

docs/fairness.md describes it so that anybody can work it out again; a change here makes old records fail
their check. Everything that is hashed is one line of ASCII.
"""

import hashlib
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NewType, TypeVar

from engine.board import ORIENTATIONS, OUTER_POSITIONS, TILES, Tile
from engine.components import OTHER_LAURELS, Laurel
from engine.pieces import Seat

T = TypeVar("T")

Bytes32 = NewType("Bytes32", str)  # 32 bytes as 64 lower-case hexadecimal digits
Share = NewType("Share", str)  # a player's 32 bytes in the same form, or one of the words below

NO_SHARE: Final = Share("none")  # a bot of the server, somebody absent, or a client that adds none
OF_ROUND: Final = Share("round")  # all seats: the tables of a round have the same draws whatever their size
MISSING: Final = Share("missing")  # the client had pledged a share, and did not show it in time

BYTES32: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Draws:
    """The public sources of a game's draws: the commitment to the seed, and the shares by seat.

    `starting` says whether the starting player was drawn too.
    """

    commitment: Bytes32
    shares: tuple[Share, ...]
    starting: bool

    @property
    def shared(self) -> int:
        """Return how many seats have added a share."""
        return sum(BYTES32.fullmatch(share) is not None for share in self.shares)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Everything that can be drawn in a game.

    `tiles` are in the order in which they are drawn, `orientations` by outer position; `laurels` are those of
    the hills but the centre's, in tile order.
    """

    starting: Seat
    tiles: tuple[Tile, ...]
    orientations: tuple[int, ...]
    laurels: tuple[Laurel, ...]


def laurels_by_tile(centre: Tile, others: Iterable[Laurel]) -> dict[Tile, Laurel]:
    """Return the laurel of every hill: Palatinus in the centre, the others in tile order (R3.2, R3.4)."""
    left = iter(others)
    return {tile: Laurel.PALATINUS if tile == centre else next(left) for tile in TILES}


def commitment_to(seed: Bytes32) -> Bytes32:
    """Return the hash of the seed, which a server reveals before it knows any share."""
    return _hash_of(f"palatinus seed 1 {seed}")


def pledge_of(share: Share) -> Bytes32:
    """Return the hash of a share, which a client reveals before it knows the others' pledges."""
    return _hash_of(f"palatinus share 1 {share}")


def outcomes(seed: Bytes32, shares: Sequence[Share]) -> Outcomes:
    """Return the draws of a game with this seed and these shares by seat."""
    words = OF_ROUND if set(shares) == {OF_ROUND} else " ".join(shares)
    key = _hash_of(f"palatinus game 1 {seed} {words}")
    turns = Numbers(key, "orientations")
    return Outcomes(
        Seat(Numbers(key, "starting").below(len(shares))),
        tuple(shuffled(TILES, Numbers(key, "tiles"))),
        tuple(turns.below(len(ORIENTATIONS)) for _ in OUTER_POSITIONS),
        tuple(shuffled(OTHER_LAURELS, Numbers(key, "laurels"))),
    )


class Numbers:
    """Random numbers for one purpose, from the bytes of SHA-256 over the key, the purpose and a counter."""

    def __init__(self, key: Bytes32, purpose: str) -> None:
        blocks = (_hash_of(f"palatinus draw 1 {key} {purpose} {block}") for block in itertools.count())
        self._bytes: Iterator[int] = (byte for block in blocks for byte in bytes.fromhex(block))

    def below(self, bound: int) -> int:
        """Return a number from 0 to `bound` - 1, at most 255, each as likely as the others."""
        fair = 256 - 256 % bound  # a byte from here on would favour the small numbers
        return next(byte for byte in self._bytes if byte < fair) % bound


def shuffled(items: Sequence[T], numbers: Numbers) -> list[T]:
    """Return the items in a random order, each order as likely as the others (Fisher and Yates)."""
    order = list(items)
    for last in range(len(order) - 1, 0, -1):
        at = numbers.below(last + 1)
        order[at], order[last] = order[last], order[at]
    return order


def _hash_of(line: str) -> Bytes32:
    return Bytes32(hashlib.sha256(line.encode("ascii")).hexdigest())
