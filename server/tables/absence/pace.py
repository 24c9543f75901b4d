"""How long bots take for a move, as everybody sees it."""

import random
from typing import Final

from engine.board import FIELDS
from engine.view import Phase, View

# Of the time that a stand-in takes: people would call such a move considered, not slow.
_LEAST: Final = 1.5
_MOST_TO_LAY: Final = 3.0
_MOST_TO_PLACE: Final = 4.0  # on an empty board; the fewer fields are left, the less there is to choose from


class Pace:
    """Draws how long a move takes, so that the time reveals neither the hand nor the thinking.

    Among people a `human` bot takes its time; otherwise it takes exactly this many `seconds`.
    """

    def __init__(self, seconds: float, seed: int | None, *, human: bool) -> None:
        self._seconds = seconds
        self._human = human
        self._rng = random.SystemRandom() if seed is None else random.Random(f"{seed} pace")

    def pause(self, view: View, *, among_people: bool) -> float:
        """Return how many seconds a bot's move takes; only public parts of the view may affect this."""
        if not (self._human and among_people):
            return self._seconds
        return self._draw(view)

    def pause_when_late(self, view: View, *, among_people: bool) -> float:
        """Return how many seconds to wait before making a move that was not chosen in time.

        Making it immediately would reveal when it was chosen.
        """
        return self._draw(view) if self._human and among_people else 0.0

    def _draw(self, view: View) -> float:
        if view.phase is Phase.LAYING:
            return self._seconds * self._rng.uniform(_LEAST, _MOST_TO_LAY)
        free = 1.0 - len(view.placed) / len(FIELDS)
        return self._seconds * self._rng.uniform(_LEAST, _LEAST + (_MOST_TO_PLACE - _LEAST) * free)
