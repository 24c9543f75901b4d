"""Brains that look one move ahead, and the levels: opponents for people, the weakest first.

Each level beats the one before; `docs/measuring-bots.md` shows how often.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from client.bots.brain import Brain
from client.bots.greedy import best_lay, best_place, promises
from client.bots.search.brain import USUAL, SearchBrain
from client.bots.search.worlds import gain_of_next
from engine.board import Field
from engine.events import Command, Place
from engine.legal import Legal, LegalLays, LegalPlaces, random_command
from engine.pieces import Kind
from engine.view import View

_OVERLOOKED: Final = 0.75  # the share of the fields that a plebeian does not look at


def slave(view: View, legal: Legal, rng: random.Random) -> Command:
    """Place on any field beside an own piece what promises most there; lay tiles at random."""
    if isinstance(legal, LegalLays):
        return random_command(legal, rng)
    own = {field for field, seat in view.owners.items() if seat == legal.seat}
    near = [field for field in legal.fields if own.intersection(view.layout.adjacent(field))]
    kind, field = best_place(view, legal, [rng.choice(near or legal.fields)], legal.pieces, rng)
    return _place(legal, kind, field, rng)


def plebeian(view: View, legal: Legal, rng: random.Random) -> Command:
    """Choose like the greedy brain, but overlook many fields and keep the wolves for the end."""
    if isinstance(legal, LegalLays):
        return best_lay(view, legal, rng)
    fields = rng.sample(legal.fields, max(1, round(len(legal.fields) * (1.0 - _OVERLOOKED))))
    kind, field = best_place(view, legal, fields, legal.pieces, rng)
    return _place(legal, kind, field, rng, wolf=False)


def citizen(view: View, legal: Legal, rng: random.Random) -> Command:
    """Choose like the greedy brain, but place wolves first, and soldiers only when they are due."""
    if isinstance(legal, LegalLays):
        return best_lay(view, legal, rng)
    peaceful = [piece for piece in legal.pieces if piece.kind is not Kind.SOLDIER]
    kind, field = best_place(view, legal, legal.fields, peaceful or legal.pieces, rng)
    return _place(legal, kind, field, rng, wolf=True)


@dataclass(frozen=True, slots=True)
class Bluffer:
    """Chooses like the greedy brain, but pays up to `price` points for a wolf of the unexpected kind."""

    price: float

    def __call__(self, view: View, legal: Legal, rng: random.Random, /) -> Command:
        """Choose the best lie, or else the best move."""
        if isinstance(legal, LegalLays):
            return best_lay(view, legal, rng)
        promised = promises(view, legal.seat, legal.fields, legal.pieces)
        gain = gain_of_next(view, legal.seat)
        best = max(promised, key=promised.__getitem__)
        wolves = {piece.kind for piece in legal.pieces if piece.wolf}
        lies = [
            (kind, field)
            for (kind, field), promise in promised.items()
            if kind in wolves
            and promised[best] - promise <= self.price
            and (gain(field) < 0.0) == (kind is Kind.FARMER)
        ]
        kind, field = max(lies, key=promised.__getitem__, default=best)
        return _place(legal, kind, field, rng, wolf=bool(lies))


def _place(
    legal: LegalPlaces, kind: Kind, field: Field, rng: random.Random, *, wolf: bool | None = None
) -> Place:
    """Return the placement of a piece of this kind, with the wolf or without it if that can be chosen."""
    pieces = [piece for piece in legal.pieces if piece.kind is kind]
    return Place(
        legal.seat, rng.choice([each for each in pieces if wolf in {None, each.wolf}] or pieces), field
    )


LEVELS: Final[Mapping[str, Brain]] = MappingProxyType(
    {
        "slave": slave,
        "plebeian": plebeian,
        "citizen": citizen,
        "senator": SearchBrain(1_000, 2.0, USUAL),
        "consul": SearchBrain(30_000, 5.0, USUAL),
    }
)
