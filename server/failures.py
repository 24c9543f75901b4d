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
        self._in_all = 0  # since a line said that it works
        self._told = False  # that it fails

    def failed(self, number: int = 1) -> int:
        """Count so many failures; return how many to log now, 0 if there was a line lately."""
        self.count += number
        self._untold += number
        self._in_all += number
        if (now := self._now()) < self._next_line:
            return 0
        self._next_line = now + _SECONDS_BETWEEN_LINES
        self._told = True
        told, self._untold = self._untold, 0
        return told

    def works(self) -> int:
        """Return how many failures to log in all now that it works again, 0 if no line has told of any."""
        if not self._told:
            return 0
        failures, self._told, self._untold, self._in_all = self._in_all, False, 0, 0
        return failures
