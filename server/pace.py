"""How fast a client is read: a token bucket."""


class Pace:
    """A bucket of `burst` messages that refills at `rate` a second."""

    def __init__(self, burst: int, rate: float) -> None:
        self._burst = float(burst)
        self._rate = rate
        self._left = float(burst)
        self._last: float | None = None

    def wait(self, now: float) -> float:
        """Count one message at time `now` in seconds; return how many seconds to wait before reading it."""
        if self._last is not None:
            self._left = min(self._burst, self._left + (now - self._last) * self._rate)
        self._last = now
        self._left -= 1.0
        return max(0.0, -self._left / self._rate)
