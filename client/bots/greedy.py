"""A brain that looks one move ahead: it scores the board that it expects, of what it can see, at the end."""

import math
import random
from typing import Final

from client.bots.outlook import Outlook, spring_influence
from engine.board import Field, LaidTile, Layout
from engine.events import Command, LayTile, Place
from engine.legal import Legal, LegalLays, LegalPlaces
from engine.pieces import Kind
from engine.view import View

# What a piece is worth in hand. Measured, not derived: see `client.bots.outlook`.
_KEPT: Final = {Kind.MERCHANT: 0.0, Kind.FARMER: 0.0, Kind.SOLDIER: 1.5}


def greedy(view: View, legal: Legal, rng: random.Random) -> Command:
    """Choose the move after which the end to expect is best for the seat; ties fall to `rng`."""
    return _lay(view, legal, rng) if isinstance(legal, LegalLays) else _place(view, legal, rng)


def _place(view: View, legal: LegalPlaces, rng: random.Random) -> Place:
    outlook = Outlook(view, legal.seat)
    pieces = {kind: [piece for piece in legal.pieces if piece.kind is kind] for kind in Kind}
    best: list[tuple[Kind, Field]] = []
    best_score = -math.inf
    for kind in Kind:
        for field in legal.fields if pieces[kind] else ():
            score = outlook.after(field, kind) - _KEPT[kind]
            if score > best_score:
                best, best_score = [], score
            if score == best_score:
                best.append((kind, field))
    kind, field = rng.choice(best)
    # To this brain, a piece with a wolf is as good as one without, and of one people as of another.
    return Place(legal.seat, rng.choice(pieces[kind]), field)


def _lay(view: View, legal: LegalLays, rng: random.Random) -> LayTile:
    """Put springs together if this seat places first and can take the best field, else apart."""
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
    """Return how unevenly springs can be reached from fields."""
    return sum(spring_influence(layout, field) ** 2 for field in layout.hexes)
