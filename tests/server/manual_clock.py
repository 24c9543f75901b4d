"""Time that passes only when a test says so."""

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class Call:
    """A call that is still to come."""

    callback: Callable[..., object]
    args: tuple[object, ...]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


class ManualClock:
    """A clock in seconds, for `Config.timers`: calls fall due when a test lets time pass."""

    def __init__(self) -> None:
        self._now = 0.0
        self._calls: list[tuple[float, int, Call]] = []
        self._numbers = itertools.count()

    def time(self) -> float:
        return self._now

    def call_later(self, delay: float, callback: Callable[..., object], /, *args: object) -> Call:
        call = Call(callback, args)
        heapq.heappush(self._calls, (self._now + delay, next(self._numbers), call))
        return call

    def advance(self, seconds: float) -> None:
        """Let so many seconds pass, with every call that falls due meanwhile."""
        end = self._now + seconds
        while self._calls and self._calls[0][0] <= end:
            self._now, _, call = heapq.heappop(self._calls)
            if not call.cancelled:
                call.callback(*call.args)
        self._now = end
