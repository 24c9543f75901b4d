"""What the server counts while it plays: plain numbers, since some change with every move."""

import logging
import time
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from protocol.codes import Code
from server.errors import JournalError, NotStored, TableLost
from server.monitoring.failures import RepeatedFailure

log = logging.getLogger(__name__)

ILLEGAL_MOVE: Final = "illegal-move"
_CODES: Final[frozenset[str]] = frozenset(Code)
COMMIT_SECONDS: Final = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.01, 0.05, 0.25, 1.0)


@dataclass(slots=True)
class Counts:
    """Sums over all connections and tables, and for all time."""

    messages: int = 0
    moves: int = 0
    games: int = 0
    resumes: int = 0
    slow_readers: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    unreadable: RepeatedFailure = field(default_factory=RepeatedFailure)

    def resumed(self) -> None:
        self.resumes += 1

    def count_refusal(self, code: str) -> None:
        """Count a refusal; not which rule a move broke, which may depend on a hidden hand."""
        self.refusals[code if code in _CODES else ILLEGAL_MOVE] += 1

    def journal_failed(self, error: JournalError) -> None:
        """Log what could not be read; the journal logs what it has not stored, or lost with the lease."""
        if not isinstance(error, NotStored | TableLost):
            self.unreadable.log(log.error, "not read", reason=str(error))


@dataclass(slots=True)
class Durations:
    """How many commits took at most so long: one count for each of COMMIT_SECONDS, one for the rest.

    `last` is when one last succeeded, in seconds since 1970.
    """

    counts: list[int] = field(default_factory=lambda: [0] * (len(COMMIT_SECONDS) + 1))
    seconds: float = 0.0
    last: float | None = None

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(COMMIT_SECONDS, seconds)] += 1
        self.seconds += seconds
        self.last = time.time()
