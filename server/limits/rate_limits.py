"""How fast a client is read, and how often something may be done."""

import math
from collections import OrderedDict, deque
from typing import Final, TypeAlias

from server.limits.networks import Networks, has_part_left, shares

Key: TypeAlias = str | Networks

_MINUTE: Final = 60.0  # seconds


class RateLimiter:
    """A token bucket: `burst` messages, or whatever is counted, at once, and `rate` a second after that."""

    def __init__(self, burst: float, rate: float) -> None:
        self._burst = burst
        self._rate = rate
        self._left = burst
        self._last: float | None = None

    def wait(self, now: float, amount: float = 1.0) -> float:
        """Count one, or another `amount`, at time `now` in seconds; return how many seconds to wait."""
        if self._last is not None:
            left = self._left + (now - self._last) * self._rate
            self._left = self._burst if left > self._burst else left  # noqa: FURB136 - min is a slow call
        self._last = now
        self._left -= amount
        return 0.0 if self._left >= 0 else -self._left / self._rate


class PerMinuteLimit:
    """At most `most` times within any minute, or as many `seconds`, for each of many keys.

    If the key is what an address counts as, all addresses of a wider network together have a multiple of it.
    """

    def __init__(self, most: int, seconds: float = _MINUTE) -> None:
        self._most = most
        self._seconds = seconds
        self._times: OrderedDict[str, deque[float]] = OrderedDict()  # the latest key comes last

    def wait(self, key: Key, now: float) -> int:
        """Return how many seconds `key` has to wait at time `now`, 0 for none."""
        return max(self._wait(each, most, now) for each, most in self._shares(key))

    def count(self, key: Key, now: float) -> None:
        for each, most in self._shares(key):
            self._times.setdefault(each, deque(maxlen=most)).append(now)
            self._times.move_to_end(each)
        while next(iter(self._times.values()))[-1] + self._seconds <= now:
            self._times.popitem(last=False)

    def _shares(self, key: Key) -> list[tuple[str, int]]:
        return shares((key,) if isinstance(key, str) else key, self._most)

    def _wait(self, key: str, most: int, now: float) -> int:
        times = self._times.get(key)
        if times is None or len(times) < most:
            return 0
        return max(0, math.ceil(times[0] + self._seconds - now))


class SharedPerMinuteLimit:
    """At most `most` times within any minute for all who share something, by keys.

    Whoever has had less than an equal part is not refused because others have used everything.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        # The latest key comes last.
        self._uses: OrderedDict[str, deque[tuple[float, Networks]]] = OrderedDict()

    def wait(self, key: str, networks: Networks, now: float) -> int:
        """Return how many seconds an address has to wait at time `now`, 0 for none."""
        uses = self._uses.get(key, ())
        lately = [(when, each) for when, each in uses if when + _MINUTE > now]
        if len(lately) < self._most or has_part_left(networks, (each for _, each in lately), self._most):
            return 0
        return math.ceil(lately[-self._most][0] + _MINUTE - now)

    def count(self, key: str, networks: Networks, now: float) -> None:
        uses = self._uses.setdefault(key, deque())
        uses.append((now, networks))
        while uses[0][0] + _MINUTE <= now:
            uses.popleft()
        self._uses.move_to_end(key)
        while next(iter(self._uses.values()))[-1][0] + _MINUTE <= now:
            self._uses.popitem(last=False)
