"""Moves for people: what the greedy brain would do, which sees no more than they do."""

import random

from client.bots.greedy import greedy
from client.language import _
from client.suggestion import Suggestion
from engine.events import LayTile
from engine.legal import Legal
from engine.view import View


def suggested(view: View, legal: Legal) -> Suggestion:
    """Return the move that promises most; of several as good, one at random."""
    command = greedy(view, legal, random.Random())
    if not isinstance(command, LayTile):
        return Suggestion(command)
    if legal.seat == view.start.starting:
        return Suggestion(
            command, _("Springs lie close together there: you place first, and can take the best field.")
        )
    return Suggestion(command, _("Springs lie apart there: whoever places first has less to gain."))
