"""A brain that looks one move ahead and lies: who reads its motives takes its wolves for the other kind."""

import random
from dataclasses import dataclass

from client.bots.greedy import best_lay, promises
from client.bots.search.worlds import gain_of_next
from engine.events import Command, Place
from engine.legal import Legal, LegalLays
from engine.pieces import Kind
from engine.view import View


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
        pieces = [piece for piece in legal.pieces if piece.kind is kind]
        wanted = [piece for piece in pieces if piece.wolf == bool(lies)]
        return Place(legal.seat, rng.choice(wanted or pieces), field)
