"""A clock that only tests advance, and one that is fast."""

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from typing import Final

import pytest

BEGUN: Final = 1_800_000_000  # when the time of day begins that follows a clock
DAY: Final = 86_400


class _Call:
    def __init__(self, callback: Callable[..., object], args: tuple[object, ...]) -> None:
        self.callback = callback
        self.args = args
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class ManualClock:
    """A clock in seconds for `Config.timers` that tests advance; calls without a delay are due at once."""

    def __init__(self) -> None:
        self._now = 0.0
        self._calls: list[tuple[float, int, _Call]] = []
        self._numbers = itertools.count()

    @property
    def waiting(self) -> int:
        return len(self._calls)

    def time(self) -> float:
        return self._now

    def call_later(self, delay: float, callback: Callable[..., object], /, *args: object) -> _Call:
        call = _Call(callback, args)
        heapq.heappush(self._calls, (self._now + delay, next(self._numbers), call))
        if delay <= 0:
            asyncio.get_running_loop().call_soon(self.advance, 0.0)
        return call

    def advance(self, seconds: float) -> None:
        """Let this many seconds pass, and call everything that falls due."""
        end = self._now + seconds
        while self._calls and self._calls[0][0] <= end:
            self._now, _, call = heapq.heappop(self._calls)
            if not call.cancelled:
                call.callback(*call.args)
        self._now = end


def clock_of_day(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    """Return a clock that the time of day follows."""
    clock = ManualClock()
    monkeypatch.setattr(time, "time", lambda: BEGUN + clock.time())
    return clock


class FastClock:
    """The event loop's time, twenty times as fast."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def time(self) -> float:
        return self._loop.time() * 20

    def call_later(
        self, delay: float, callback: Callable[..., object], /, *args: object
    ) -> asyncio.TimerHandle:
        return self._loop.call_later(delay / 20, callback, *args)
