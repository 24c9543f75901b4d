"""The clock of the tables, passed in so that a test can let hours pass at once."""

from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A call that is still to come."""

    def cancel(self) -> None: ...


class Timers(Protocol):
    """A clock, in seconds, that calls back; an event loop is one."""

    def time(self) -> float: ...

    def call_later(self, delay: float, callback: Callable[..., object], /, *args: object) -> Timer: ...
