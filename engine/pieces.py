"""Peoples, kinds and pieces, and the notation that names them on screen, on the wire and in records."""

import enum
from typing import Final, NewType

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

    The notation is the value: people's letter, kind's letter, and `*` for a wolf piece. All games share the
    pieces, which know what they are. Raises ValueError for anything else.
    """

    __slots__ = ("kind", "people", "wolf")
    people: People
    kind: Kind
    wolf: bool

    def __new__(cls, notation: str) -> "Piece":
        if (piece := _PIECES.get(notation)) is None:
            raise ValueError(f"{notation!r} is not a piece: write people, kind, and * for a wolf, like Em*")
        return piece

    @classmethod
    def of(cls, people: People, kind: Kind, *, wolf: bool = False) -> "Piece":
        """Return the piece of `people` and `kind`; a soldier with a wolf raises ValueError."""
        return cls(f"{people}{kind}{'*' if wolf else ''}")


class Wolf(str):
    """All that others see of a wolf piece before scoring: `E*`, its people and no kind (R4.2)."""

    __slots__ = ("people",)
    people: People

    def __new__(cls, notation: str) -> "Wolf":
        if (wolf := _WOLVES.get(notation)) is None:
            raise ValueError(f"{notation!r} is not a wolf: write people and *, like E*")
        return wolf

    @classmethod
    def of(cls, people: People) -> "Wolf":
        return cls(f"{people}*")


FACES: Final = ("m", "m*", "f", "f*", "s")  # the five kinds of piece of any people (R1.4)


def _piece(people: People, face: str) -> Piece:
    piece = str.__new__(Piece, people + face)
    piece.people, piece.kind, piece.wolf = people, Kind(face[0]), len(face) > 1
    return piece


def _wolf(people: People) -> Wolf:
    wolf = str.__new__(Wolf, f"{people}*")
    wolf.people = people
    return wolf


_PIECES: Final = {people + face: _piece(people, face) for people in People for face in FACES}
_WOLVES: Final = {f"{people}*": _wolf(people) for people in People}
NOTATIONS: Final = frozenset(_PIECES)
