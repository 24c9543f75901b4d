"""How long bots take for a move when people wait for it."""

import random
from typing import Final

from engine.board import FIELDS
from engine.pieces import SOLDIER, Wolf
from engine.view import Phase, View

LEAST_SECONDS: Final = 0.8
_MOST_TO_LAY: Final = 1.6
_MOST_TO_PLACE: Final = 1.6  # on a full board; the more fields are empty, the more there is to choose from
_MORE_ON_EMPTY_BOARD: Final = 1.2
_MORE_TO_ANSWER: Final = 1.2
MOST_SECONDS: Final = _MOST_TO_PLACE + _MORE_ON_EMPTY_BOARD + _MORE_TO_ANSWER


def seconds_to_move(view: View, rng: random.Random) -> float:
    """Draw how many seconds the next move takes; only what everybody sees affects this.

    A bot is quick with tiles and when few fields are left. It takes its time for the first piece, and to
    answer a soldier or a wolf.
    """
    if view.phase is Phase.LAYING:
        return rng.uniform(LEAST_SECONDS, _MOST_TO_LAY)
    latest = next(reversed(view.placed.values()), None)
    # Whoever sees the wolf's kind must not see more than others.
    demanding = latest is None or isinstance(latest, Wolf) or latest.wolf or latest.kind is SOLDIER
    empty = 1.0 - len(view.placed) / len(FIELDS)
    most = _MOST_TO_PLACE + _MORE_ON_EMPTY_BOARD * empty + _MORE_TO_ANSWER * demanding
    return rng.uniform(LEAST_SECONDS, most)
