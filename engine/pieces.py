"""Peoples, kinds and pieces, and the notation that names them on screen, on the wire and in records."""

import enum
from typing import Final, NewType, Self

Seat = NewType("Seat", int)  # 0 to 4, clockwise


class People(enum.StrEnum):
    """A people; its value is the letter that represents it, as colour alone is not enough (R1.5)."""

    ETRUSCANS = "E"
    SABINES = "S"
    LATINS = "L"
    MARSI = "M"
    ARCADIANS = "A"


class Kind(enum.StrEnum):
    """What an inhabitant is; the value is its letter in a piece's notation (R1.4)."""

    MERCHANT = "m"
    FARMER = "f"
    SOLDIER = "s"


SOLDIER: Final = Kind.SOLDIER  # at hand: to Python 3.11 each use of an enum's name is a call


class Piece(str):
    """An inhabitant as its owner knows it: `Em`, or `Em*` with the wolf (R1.4).

    The notation is the value: people's letter, kind's letter, and `*` for a wolf piece.
    Raises ValueError for anything else.
    """

    __slots__ = ()

    def __new__(cls, notation: str) -> "Piece":
        if (piece := _PIECES.get(notation)) is None:
            raise ValueError(f"{notation!r} is not a piece: write people, kind, and * for a wolf, like Em*")
        return piece

    @classmethod
    def of(cls, people: People, kind: Kind, *, wolf: bool = False) -> "Piece":
        """Return the piece of `people` and `kind`; a soldier with a wolf raises ValueError."""
        return cls(f"{people}{kind}{'*' if wolf else ''}")

    @property
    def people(self) -> People:
        return _PEOPLES[self[0]]

    @property
    def kind(self) -> Kind:
        return _KINDS[self[1]]

    @property
    def wolf(self) -> bool:
        return len(self) == 3


class Wolf(str):
    """All that others see of a wolf piece before scoring: `E*`, its people and no kind (R4.2)."""

    __slots__ = ()

    def __new__(cls, notation: str) -> Self:
        if notation not in WOLVES:
            raise ValueError(f"{notation!r} is not a wolf: write people and *, like E*")
        return super().__new__(cls, notation)

    @classmethod
    def of(cls, people: People) -> Self:
        return cls(f"{people}*")

    @property
    def people(self) -> People:
        return _PEOPLES[self[0]]


FACES: Final = ("m", "m*", "f", "f*", "s")  # the five kinds of piece of any people (R1.4)
NOTATIONS: Final = frozenset(f"{people}{face}" for people in People for face in FACES)
_PIECES: Final = {notation: str.__new__(Piece, notation) for notation in NOTATIONS}  # shared by all games
WOLVES: Final = frozenset(f"{people}*" for people in People)

# Looked up for every piece of every scoring: a table is ten times as fast as calling the enum.
_PEOPLES: Final = {people.value: people for people in People}
_KINDS: Final = {kind.value: kind for kind in Kind}
