"""A brain that looks one move ahead: from what it sees, it scores the board that it expects at the end."""

import math
import random
from collections.abc import Sequence
from typing import Final

from client.bots.outlook import Outlook, spring_influence
from engine.board import Field, LaidTile, Layout
from engine.events import Command, LayTile, Place
from engine.legal import Legal, LegalLays, LegalPlaces
from engine.pieces import Kind, Piece
from engine.view import View

# What keeping a piece in hand is worth. Measured, not derived: see `client.bots.outlook`.
_KEPT: Final = {Kind.MERCHANT: 0.0, Kind.FARMER: 0.0, Kind.SOLDIER: 1.5}


def greedy(view: View, legal: Legal, rng: random.Random) -> Command:
    """Choose the move with the best expected end for the seat; `rng` breaks ties."""
    if isinstance(legal, LegalLays):
        return best_lay(view, legal, rng)
    kind, field = best_place(view, legal, legal.fields, legal.pieces, rng)
    # To this brain neither the wolf nor the people of a piece matters.
    return Place(legal.seat, rng.choice([piece for piece in legal.pieces if piece.kind is kind]), field)


def best_place(
    view: View, legal: LegalPlaces, fields: Sequence[Field], pieces: Sequence[Piece], rng: random.Random
) -> tuple[Kind, Field]:
    """Return which kind of some legal pieces promises most, on which of some legal fields."""
    outlook = Outlook(view, legal.seat)
    held = {piece.kind for piece in pieces}
    best: list[tuple[Kind, Field]] = []
    best_score = -math.inf
    for kind in Kind:
        for field in fields if kind in held else ():
            score = outlook.after(field, kind) - _KEPT[kind]
            if score > best_score:
                best, best_score = [], score
            if score == best_score:
                best.append((kind, field))
    return rng.choice(best)


def best_lay(view: View, legal: LegalLays, rng: random.Random) -> LayTile:
    """Lay springs together if this seat places first, and so can take the best field, else apart."""
    assert view.drawn is not None  # noqa: S101 - to lay is legal only with a tile in hand
    first = legal.seat == view.start.starting
    best: list[tuple[int, int]] = []
    best_score = -math.inf
    for position in legal.positions:
        for orientation in legal.orientations:
            tiles = list(view.tiles)
            tiles[position] = LaidTile(view.drawn, orientation)
            score = _concentration(Layout(tiles)) * (1 if first else -1)
            if score > best_score:
                best, best_score = [], score
            if score == best_score:
                best.append((position, orientation))
    return LayTile(legal.seat, *rng.choice(best))


def _concentration(layout: Layout) -> int:
    """Return how unevenly the fields have springs within reach."""
    return sum(spring_influence(layout, field) ** 2 for field in layout.hexes)
