"""How fast a client is read, and how often something may be done."""

import math
from collections import OrderedDict, deque
from typing import Final, TypeAlias

from server.limits.networks import Networks, has_part_left, shares

Key: TypeAlias = str | Networks

_MINUTE: Final = 60.0  # seconds


class RateLimiter:
    """A token bucket: `burst` messages, or whatever is counted, at once, and `rate` a second after that."""

    __slots__ = ("_burst", "_last", "_left", "_rate")

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
    If it is something that many share, and they say who they are, whoever has had less than an equal part is
    not refused because others have used everything.
    """

    def __init__(self, most: int, seconds: float = _MINUTE) -> None:
        self._most = most
        self._seconds = seconds
        # The latest key comes last.
        self._uses: OrderedDict[str, deque[tuple[float, Networks]]] = OrderedDict()

    def wait(self, key: Key, now: float, sharer: Networks = ()) -> int:
        """Return how many seconds `key` has to wait at time `now`, 0 for none."""
        return max(self._wait(each, most, now, sharer) for each, most in self._shares(key))

    def count(self, key: Key, now: float, sharer: Networks = ()) -> None:
        for each, _ in self._shares(key):
            uses = self._uses.setdefault(each, deque())
            uses.append((now, sharer))
            while uses[0][0] + self._seconds <= now:
                uses.popleft()
            self._uses.move_to_end(each)
        while next(iter(self._uses.values()))[-1][0] + self._seconds <= now:
            self._uses.popitem(last=False)

    def _shares(self, key: Key) -> list[tuple[str, int]]:
        return shares((key,) if isinstance(key, str) else key, self._most)

    def _wait(self, key: str, most: int, now: float, sharer: Networks) -> int:
        uses = self._uses.get(key, ())
        lately = [] if len(uses) < most else [use for use in uses if use[0] + self._seconds > now]
        if len(lately) < most or (sharer and has_part_left(sharer, (each for _, each in lately), most)):
            return 0
        return math.ceil(lately[-most][0] + self._seconds - now)
