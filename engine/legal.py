"""Legal moves in compact form: every combination of the listed values is legal."""

import random
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from engine.board import Field
from engine.events import Command, LayTile, Place
from engine.pieces import Piece, Seat


class LegalLays(NamedTuple):
    """The tile drawn may be laid at any of these positions in any of these orientations (R3.3)."""

    seat: Seat
    positions: tuple[int, ...]
    orientations: tuple[int, ...]

    def commands(self) -> Iterator[LayTile]:
        for position in self.positions:
            for orientation in self.orientations:
                yield LayTile(self.seat, position, orientation)


class LegalPlaces(NamedTuple):
    """Any of these pieces may be placed on any of these fields (R4.1, R4.3)."""

    seat: Seat
    pieces: tuple[Piece, ...]
    fields: tuple[Field, ...]

    def commands(self) -> Iterator[Place]:
        for piece in self.pieces:
            for field in self.fields:
                yield Place(self.seat, piece, field)


Legal: TypeAlias = LegalLays | LegalPlaces


def random_command(legal: Legal, rng: random.Random) -> Command:
    """Return one of the legal commands, each as likely as any other."""
    if isinstance(legal, LegalPlaces):
        return Place(legal.seat, rng.choice(legal.pieces), rng.choice(legal.fields))
    return LayTile(legal.seat, rng.choice(legal.positions), rng.choice(legal.orientations))
