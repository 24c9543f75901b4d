"""A layout as tables of numbers, and the scoring that reads them: the lean twin of `engine.scoring`.

A board is a list of occupants, one for each field in the order of `FIELDS`. To score it, it is also written
as one octal number, field A1 first: 0 for an empty field, 1 for a merchant, 3 for a farmer, 7 for a soldier.
So each digit has as many one-bits as its piece is worth to a merchant beside it (R6.2), and the influence of
a merchant is the bit count of the digits adjacent to it.
"""

import functools
import itertools
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from engine.board import FIELDS, TILES, Field, LaidTile, Layout, Tile, layout_of
from engine.components import DEALS, LAUREL_WORTH, Laurel
from engine.pieces import Kind
from engine.scoring import WORTH_TO_MERCHANT, farmer_terms

Occupant: TypeAlias = int  # the seat plus 0 for a merchant, FARMER for a farmer, SOLDIER for a soldier
PackedScore: TypeAlias = int  # points * POINT + items: the greater is ahead (R7.2)
# What a soldier wins from the pieces beside it, the fields of its captives, and their digits (R5.3).
Fight: TypeAlias = tuple[PackedScore, tuple[int, ...], int]

FARMER: Final = max(DEALS)
SOLDIER: Final = 2 * FARMER
EMPTY: Final = 3 * FARMER
POINT: Final = 256  # more than all items that any board can yield
NUMBERS: Final = {field: number for number, field in enumerate(FIELDS)}

_FIRST: Final = {Kind.MERCHANT: 0, Kind.FARMER: FARMER, Kind.SOLDIER: SOLDIER}
_DIGIT: Final = {kind: (1 << worth) - 1 for kind, worth in WORTH_TO_MERCHANT.items()}
_DIGITS: Final = b"".join(b"%o" % _DIGIT[kind] * FARMER for kind in _FIRST).ljust(256, b"0")  # by occupant
_ITEM: Final = POINT + 1  # a captive, or the disc for one that another soldier took (R5.3, R5.5)
_SHARE: Final = 2 * POINT + 1  # the disc for a tied hill (R6.5)
_NOBODY: Final = -1
_FLIGHT: Final[Fight] = (0, (), 0)  # R5.2


def occupant(seat: int, kind: Kind) -> Occupant:
    return _FIRST[kind] + seat


def _on(numbers: Iterable[int], digit: int) -> int:
    """Return the octal number with `digit` at each of the fields."""
    return sum(digit << 3 * (len(FIELDS) - 1 - number) for number in numbers)


_WHOLE: Final = tuple(_on((number,), 7) for number in range(len(FIELDS)))
_AFTER: Final = tuple(_on(range(number + 1, len(FIELDS)), 7) for number in range(len(FIELDS)))
_SOLDIERS: Final = _on(range(len(FIELDS)), 4)  # the bit that no other digit has


def _fights(beside: tuple[int, ...]) -> dict[int, Fight]:
    """Return every fight of a soldier beside these fields, by the digits of merchants and farmers there."""
    sides: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), ())]
    for number in beside:
        sides += [((*merchants, number), farmers) for merchants, farmers in sides] + [
            (merchants, (*farmers, number)) for merchants, farmers in sides
        ]
    fights = {}
    for merchants, farmers in sides:
        ones, threes = _on(merchants, _DIGIT[Kind.MERCHANT]), _on(farmers, _DIGIT[Kind.FARMER])
        if len(merchants) == len(farmers):
            fights[ones | threes] = _FLIGHT
        elif len(merchants) > len(farmers):
            fights[ones | threes] = (_ITEM * len(merchants), merchants, ones)
        else:
            fights[ones | threes] = (_ITEM * len(farmers), farmers, threes)
    return fights


def _harvests(layout: Layout, field: Field) -> dict[int, int]:
    """Return a farmer's influence by the lowest bits of the digits beside it: which are occupied (R6.3)."""
    beside = layout.adjacent(field)
    return {
        _on(map(NUMBERS.__getitem__, occupied), 1): sum(
            [term.amount for term in farmer_terms(layout, occupied, field)]
        )
        for count in range(len(beside) + 1)
        for occupied in itertools.combinations(beside, count)
    }


class Terrain:
    """Tables for a layout with its laurels; all positions on it share them."""

    def __init__(self, tiles: tuple[LaidTile | None, ...], worths: tuple[int, ...]) -> None:
        """`worths` are what the laurels on the hills A to G are worth."""
        layout = layout_of(tiles)
        adjacent = [tuple(NUMBERS[beside] for beside in layout.adjacent(field)) for field in FIELDS]
        own = [tuple(range(6 * hill, 6 * hill + 6)) for hill in range(len(TILES))]
        self._hills = tuple(
            (fields, fields[-1], worth * POINT + 1) for fields, worth in zip(own, worths, strict=True)
        )
        self._merchants = tuple(_on(beside, 7) for beside in adjacent)
        self._farmers = tuple(
            (_on(beside, 1), _harvests(layout, field)) for field, beside in zip(FIELDS, adjacent, strict=True)
        )
        self._soldiers = tuple((_on(beside, 3), _fights(beside)) for beside in adjacent)

    def packed_scores(self, board: list[Occupant], seats: int) -> list[PackedScore]:
        """Return the packed score of each seat; scoring uses up `board` (R5 to R7).

        One function, local names and no calls, because playouts spend most of their time here.
        """
        merchants, farmers, soldiers = self._merchants, self._farmers, self._soldiers
        digits = int(bytes(board).translate(_DIGITS), 8)  # a base that is a power of two is read fast
        waiting = digits & _SOLDIERS
        civilians = digits ^ waiting ^ waiting >> 1 ^ waiting >> 2  # soldiers do not count in fights (R5.4)
        packed = [0] * seats
        soldier = 42 - waiting.bit_length() // 3  # the field of the first one; 42 if there is none
        for fields, last, laurel in self._hills:
            if soldier <= last:
                gone = 0
                while soldier <= last:
                    beside, fights = soldiers[soldier]
                    gain, captives, taken = fights[civilians & beside]
                    if gain:
                        packed[board[soldier] - SOLDIER] += gain
                        gone |= taken
                        for captive in captives:
                            board[captive] = EMPTY
                    else:
                        digits ^= _WHOLE[soldier]
                    waiting &= _AFTER[soldier]
                    soldier = 42 - waiting.bit_length() // 3
                civilians ^= gone
                digits ^= gone
            influence = [0] * seats
            most = 0
            leader = _NOBODY
            for field in fields:
                seat = board[field]
                if seat < FARMER:
                    total = influence[seat] = influence[seat] + (digits & merchants[field]).bit_count()
                elif seat < SOLDIER:
                    seat -= FARMER
                    beside, harvests = farmers[field]
                    total = influence[seat] = influence[seat] + harvests[digits & beside]
                else:
                    continue
                if total > most:
                    most = total
                    leader = seat
                elif total == most:
                    leader = _NOBODY  # a tie so far, or another piece of the leader, which gives nothing
            if leader != _NOBODY:
                packed[leader] += laurel
            elif most:
                gain = laurel if influence.count(most) == 1 else _SHARE
                for seat in range(seats):
                    if influence[seat] == most:
                        packed[seat] += gain
        return packed


def terrain_of(tiles: tuple[LaidTile | None, ...], laurels: Mapping[Tile, Laurel]) -> Terrain:
    """Return the terrain of a full layout; a few are cached, since the tables take a while to build."""
    return _terrain(tiles, tuple(LAUREL_WORTH[laurels[tile]] for tile in TILES))


_terrain = functools.lru_cache(maxsize=8)(Terrain)
