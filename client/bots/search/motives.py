"""Why a wolf was placed where it stands: what its owner could hope for at that moment tells of its kind.

A player who looks at least one move ahead places a piece where it promises more than another one would. So
the odds of a wolf's kind follow the outlook of its owner just before it was placed (like the inference of
Cowling, Whitehouse and Powley, "Emergent Bluffing and Inference with Monte Carlo Tree Search", IEEE CIG 2015,
but from the play so far, and before the search begins).
"""

from collections.abc import Mapping
from dataclasses import replace

from client.bots.outlook import Outlook
from client.bots.search.tuning import CLEAR_MOTIVE, MOST_MOTIVE, MOTIVE
from engine.board import Field
from engine.pieces import Kind, Piece, Seat, Wolf
from engine.terrain import NUMBERS
from engine.view import View


def motives(view: View) -> Mapping[int, float]:
    """Return, by field number, the logarithm of how much likelier than by chance a hidden wolf is a farmer.

    What is hidden from its owner counts as unknown, and the owner's own wolves before it are taken for what
    they are likelier to be, if that is clear.
    """
    found: dict[int, float] = {}
    guesses: dict[Field, Piece] = {}
    seen = replace(view, placed={}, owners={}, remaining=[sum(hand.values()) for hand in view.start.hands])
    for field, piece in view.placed.items():
        owner = view.owners[field]
        if isinstance(piece, Wolf):
            before = replace(seen, placed=_as_seen_by(owner, seen, guesses))
            outlook = Outlook(before, owner)
            gain = outlook.after(field, Kind.FARMER) - outlook.after(field, Kind.MERCHANT)
            exponent = max(-MOST_MOTIVE, min(MOST_MOTIVE, MOTIVE * gain))
            found[NUMBERS[field]] = exponent
            if abs(exponent) >= CLEAR_MOTIVE:
                kind = Kind.FARMER if gain > 0 else Kind.MERCHANT
                guesses[field] = Piece.of(piece.people, kind, wolf=True)
        seen.placed[field], seen.owners[field] = piece, owner
        seen.remaining[owner] -= 1
    return found


def _as_seen_by(owner: Seat, view: View, guesses: Mapping[Field, Piece]) -> dict[Field, Piece | Wolf]:
    """Return what is placed: the owner's wolves as they are guessed, and all others hidden."""
    placed = {**view.placed, **guesses}
    for field, piece in placed.items():
        if view.owners[field] != owner and isinstance(piece, Piece) and piece.wolf:
            placed[field] = Wolf.of(piece.people)
    return placed
