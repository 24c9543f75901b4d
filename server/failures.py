"""Failures that repeat: a full disk fails every request, and must not fill the log as well."""

import math
import time
from collections.abc import Callable
from typing import Final

_SECONDS_BETWEEN_LINES: Final = 60.0


class RepeatedFailure:
    """Says when to log a failure: the first at once, later ones together, once a minute at most.

    `count` is the number of failures so far.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.count = 0
        self._now = now
        self._next_line = -math.inf
        self._untold = 0
        self._told = False  # that it fails

    def failed(self, number: int = 1) -> int:
        """Count so many failures; return how many to log now, 0 if there was a line lately."""
        self.count += number
        self._untold += number
        if (now := self._now()) < self._next_line:
            return 0
        self._next_line = now + _SECONDS_BETWEEN_LINES
        self._told = True
        told, self._untold = self._untold, 0
        return told

    def works(self) -> tuple[bool, int]:
        """Return whether to log that it works again, and how many failures no line has told of."""
        if not self._told:
            return False, 0
        untold, self._told, self._untold = self._untold, False, 0
        return True, untold
