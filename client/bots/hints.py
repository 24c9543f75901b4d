"""Moves for people: what the greedy brain would do, which sees no more than they do."""

import random

from client.bots.greedy import greedy
from client.language import _, counted
from client.suggestion import Suggestion
from engine.events import LayTile, Place
from engine.legal import Legal
from engine.pieces import Kind
from engine.view import View


def _room_to_grow(view: View, command: Place) -> str:
    """Return that a merchant has fields beside it for pieces to come; empty for other pieces."""
    empty = sum(field not in view.placed for field in view.layout.adjacent(command.field))
    if command.piece.kind is not Kind.MERCHANT or not empty:
        return ""
    return counted(
        "{n} field beside it is empty: a piece to come there adds to it.",
        "{n} fields beside it are empty: pieces to come there add to it.",
        empty,
    ).format(n=empty)


def suggested(view: View, legal: Legal) -> Suggestion:
    """Return the move that promises most; of several as good, one at random."""
    command = greedy(view, legal, random.Random())
    if not isinstance(command, LayTile):
        return Suggestion(command, _room_to_grow(view, command))
    if legal.seat == view.start.starting:
        return Suggestion(
            command, _("Springs lie close together there: you place first, and can take the best field.")
        )
    return Suggestion(command, _("Springs lie apart there: whoever places first has less to gain."))
