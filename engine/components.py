"""The contents of the box (R1, R3.5): the one table to change if your copy of the game differs."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from engine.pieces import People, Piece


class Laurel(enum.StrEnum):
    """A laurel token; the hill it lies on takes its name (R9.11)."""

    PALATINUS = "Palatinus"
    CAPITOLINUS = "Capitolinus"
    QUIRINALIS = "Quirinalis"
    ESQUILINUS = "Esquilinus"
    AVENTINUS = "Aventinus"
    VIMINALIS = "Viminalis"
    CAELIUS = "Caelius"


LAUREL_WORTH: Final[Mapping[Laurel, int]] = MappingProxyType(  # R1.2, R9.11
    {
        Laurel.PALATINUS: 6,
        Laurel.CAPITOLINUS: 5,
        Laurel.QUIRINALIS: 5,
        Laurel.ESQUILINUS: 4,
        Laurel.AVENTINUS: 4,
        Laurel.VIMINALIS: 3,
        Laurel.CAELIUS: 3,
    }
)

OTHER_LAURELS: Final = tuple(laurel for laurel in Laurel if laurel is not Laurel.PALATINUS)

SPRINGS: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(  # R1.6
    {"A": (1, 2), "B": (1, 3), "C": (1, 4), "D": (2, 3), "E": (2, 5), "F": (3, 5), "G": (4, 6)}
)

PEOPLES: Final = tuple(People)  # R1.5; seats that choose none get them in this order


@dataclass(frozen=True, slots=True)
class Deal:
    """A seat's starting hand: pieces by face, of its own and of a second people, and R4.3's N."""

    own: Mapping[str, int]
    second: Mapping[str, int]
    soldierless_at: int

    def hand(self, own: People, second: People | None) -> dict[Piece, int]:
        """Return the starting hand as piece counts; `second` is the second people at two players."""
        hand = {Piece(own + face): count for face, count in self.own.items()}
        if second is not None:
            hand |= {Piece(second + face): count for face, count in self.second.items()}
        return hand


_WHOLE_PEOPLE: Final = MappingProxyType({"m": 2, "m*": 3, "f": 2, "f*": 3, "s": 2})  # R1.4
_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})

DEALS: Final[Mapping[int, Deal]] = MappingProxyType(  # R3.5, by number of players
    {
        2: Deal(_WHOLE_PEOPLE, MappingProxyType({"m": 1, "m*": 1, "f": 1, "f*": 1}), 4),
        3: Deal(_WHOLE_PEOPLE, _NOTHING, 4),
        4: Deal(MappingProxyType({"m": 2, "m*": 2, "f": 1, "f*": 2, "s": 1}), _NOTHING, 3),
        5: Deal(MappingProxyType({"m": 2, "m*": 1, "f": 1, "f*": 2, "s": 1}), _NOTHING, 3),
    }
)


def peoples_by_seat(players: int, chosen: Sequence[Sequence[People]] = ()) -> tuple[tuple[People, ...], ...]:
    """Return the peoples of each seat, its own first; with two players each has a second one (R1.5, R9.6).

    `chosen` has each seat's choice in the same order, or nothing. A seat without a choice keeps the people
    that it would have if nobody chose, unless another seat chose that; then it gets the first one left.
    Raises ValueError for choices that no game can deal.
    """
    of_each = 1 + bool(DEALS[players].second)
    wants = chosen or [()] * players
    if len(wants) != players or any(len(own) > of_each for own in wants):
        raise ValueError(f"{players} seats choose at most {of_each} people each")
    wanted = [own[place] if place < len(own) else None for place in range(of_each) for own in wants]
    taken = [people for people in wanted if people is not None]
    if len(set(taken)) < len(taken):
        raise ValueError("two seats cannot play the same people")
    usual = PEOPLES[: len(wanted)]
    settled = [
        people or (own if own not in taken else None) for people, own in zip(wanted, usual, strict=True)
    ]
    left = iter([people for people in PEOPLES if people not in settled])
    complete = [people or next(left) for people in settled]
    return tuple(tuple(complete[seat::players]) for seat in range(players))
