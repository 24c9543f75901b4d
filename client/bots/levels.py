"""The levels: five opponents for people, the weakest first, each with its temper.

Each beats the one before; `docs/measuring-bots.md` shows how often, and with which command that was measured.
"""

import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from client.bots.brain import Brain
from client.bots.greedy import best_lay, best_place
from client.bots.search.brain import USUAL, SearchBrain
from engine.events import Command, Place
from engine.legal import Legal, LegalLays, random_command
from engine.pieces import Kind, Piece
from engine.view import View

_OVERLOOKED: Final = 0.75  # the share of the fields that a plebeian does not look at


def slave(view: View, legal: Legal, rng: random.Random) -> Command:
    """Place on any field beside an own piece what promises most there; lay tiles at random."""
    if isinstance(legal, LegalLays):
        return random_command(legal, rng)
    own = {field for field, seat in view.owners.items() if seat == legal.seat}
    near = [field for field in legal.fields if own.intersection(view.layout.adjacent(field))]
    kind, field = best_place(view, legal, [rng.choice(near or legal.fields)], legal.pieces, rng)
    return Place(legal.seat, rng.choice(_of_kind(legal.pieces, kind)), field)


def plebeian(view: View, legal: Legal, rng: random.Random) -> Command:
    """Choose like the greedy brain, but overlook many fields and keep the wolves for the end."""
    if isinstance(legal, LegalLays):
        return best_lay(view, legal, rng)
    fields = rng.sample(legal.fields, max(1, round(len(legal.fields) * (1.0 - _OVERLOOKED))))
    kind, field = best_place(view, legal, fields, legal.pieces, rng)
    pieces = _of_kind(legal.pieces, kind)
    return Place(legal.seat, rng.choice([piece for piece in pieces if not piece.wolf] or pieces), field)


def citizen(view: View, legal: Legal, rng: random.Random) -> Command:
    """Choose like the greedy brain, but place wolves first, and soldiers only when they are due."""
    if isinstance(legal, LegalLays):
        return best_lay(view, legal, rng)
    peaceful = [piece for piece in legal.pieces if piece.kind is not Kind.SOLDIER]
    kind, field = best_place(view, legal, legal.fields, peaceful or legal.pieces, rng)
    pieces = _of_kind(legal.pieces, kind)
    return Place(legal.seat, rng.choice([piece for piece in pieces if piece.wolf] or pieces), field)


def _of_kind(pieces: Sequence[Piece], kind: Kind) -> list[Piece]:
    return [piece for piece in pieces if piece.kind is kind]


LEVELS: Final[Mapping[str, Brain]] = MappingProxyType(
    {
        "slave": slave,
        "plebeian": plebeian,
        "citizen": citizen,
        "senator": SearchBrain(1_000, 2.0, USUAL),
        "consul": SearchBrain(30_000, 5.0, USUAL),
    }
)
