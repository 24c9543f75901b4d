"""How much of the gateway guests may use."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

# Times as long as a frame takes: so all such frames together take one of four parts of the time.
_TURN: Final = 4
_WEIGHT_OF_LAST: Final = 0.1
LARGEST_SCREEN: Final = (300, 100)  # columns and rows; what a terminal has beyond them stays empty


@dataclass(frozen=True, slots=True)
class GuestLimits:
    """In counts, bytes and seconds; docs/reference/limits.md explains them."""

    guests: int = 200
    guests_per_address: int = 50
    arrivals_per_minute: int = 1200  # in all
    arrivals_per_address: int = 160  # within a minute
    login_seconds: float = 120.0  # until the terminal is there; people compare fingerprints meanwhile
    password_seconds: float = 60.0
    password_tries: int = 3
    incoming_bytes: int = 128 * 1024  # from a connection at once ...
    incoming_rate: float = 16 * 1024.0  # ... and per second after that; what comes faster is read later
    other_bytes: int = 256 * 1024  # that are neither keys nor sizes, and that ssh may keep ...
    other_rate: float = 256.0  # ... and per second after that; then the connection is closed
    outgoing_bytes: int = 64 * 1024  # waiting for a terminal that does not read; then no more is painted
    stalled_seconds: float = 20.0  # that it may go on not reading
    keepalive_seconds: float = 15.0
    keepalives: int = 3
    wrong_words_per_address: int = 10  # within a minute
    cpu_at_once: float = 0.3  # seconds of a processor that a guest's keys and frames may take ...
    cpu: float = 0.8  # ... and the share of one that all have; each as much, if it is not enough for all
    least_share: int = 10  # guests among whom it is shared at least
    frames_per_second: float = 30.0


class CpuBudget:
    """Time on the processor: so much at once, then a share of it.

    With `common`, that of all guests together, nobody has to rest as long as there is enough for everybody.
    """

    def __init__(
        self,
        at_once: float,
        share: Callable[[], float],
        clock: Callable[[], float],
        common: "CpuBudget | None" = None,
    ) -> None:
        self._at_once, self._share, self._clock = at_once, share, clock
        self._common = common
        self.left, self._last = at_once, clock()

    def spend(self, seconds: float) -> float:
        """Count what something took, for all guests as well; return for how many seconds to rest."""
        self.pay(seconds)
        if self._common is not None:
            self._common.pay(seconds)
            if self._common.left > 0:
                return 0.0
        return max(0.0, -self.left / self._share())

    def pay(self, seconds: float) -> None:
        now = self._clock()
        earned = min(self._at_once, self.left + (now - self._last) * self._share())
        self.left, self._last = max(-self._at_once, earned - seconds), now


class FrameTurns:
    """When screens are drawn again that nobody waits for: in turn, so that most of the time is for others.

    It is time by the clock, and not on the processor: beside other programs that is short as well.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._next = -math.inf
        self._seconds = 0.0  # that a frame takes, as the last ones did

    def took(self, seconds: float) -> None:
        self._seconds += (seconds - self._seconds) * _WEIGHT_OF_LAST

    def wait(self) -> float:
        now = self._clock()
        self._next = max(now, self._next) + _TURN * self._seconds
        return self._next - now
