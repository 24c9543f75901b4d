"""How fast a client is read, and how often something may be done."""

import math
from collections import OrderedDict, deque
from typing import Final

_MINUTE: Final = 60.0  # seconds


class RateLimiter:
    """A token bucket: `burst` messages at once, and `rate` a second after that."""

    def __init__(self, burst: int, rate: float) -> None:
        self._burst = float(burst)
        self._rate = rate
        self._left = float(burst)
        self._last: float | None = None

    def wait(self, now: float, amount: float = 1.0) -> float:
        """Count a message, or another `amount`, at time `now` in seconds; return how many seconds to wait."""
        if self._last is not None:
            self._left = min(self._burst, self._left + (now - self._last) * self._rate)
        self._last = now
        self._left -= amount
        return max(0.0, -self._left / self._rate)


class PerMinuteLimit:
    """At most `most` times within any minute, for each of many keys."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._times: OrderedDict[str, deque[float]] = OrderedDict()  # the latest key comes last

    def wait(self, key: str, now: float) -> int:
        """Return how many seconds `key` has to wait at time `now`, 0 for none."""
        times = self._times.get(key)
        if times is None or len(times) < self._most:
            return 0
        return max(0, math.ceil(times[0] + _MINUTE - now))

    def count(self, key: str, now: float) -> None:
        """Count one time for `key` at time `now`."""
        self._times.setdefault(key, deque(maxlen=self._most)).append(now)
        self._times.move_to_end(key)
        while next(iter(self._times.values()))[-1] + _MINUTE <= now:
            self._times.popitem(last=False)
