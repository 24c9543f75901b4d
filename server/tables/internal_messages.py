"""What a table tells itself when it falls due, and how it is delivered."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from msgspec import Struct

from engine.pieces import Seat
from server.timers import Timer, Timers


class FreeIfAway(Struct, frozen=True):
    """A seat whose player is away has been kept for long enough."""

    seat: Seat


class AwayTooLong(Struct, frozen=True):
    """A player of a running game has been away for as long as the absence policy allows."""

    seat: Seat


class TimeUp(Struct, frozen=True):
    """The clock of the turn after so many events has run out."""

    events: int


class MoveDue(Struct, frozen=True):
    """The stand-in makes its move for the turn after so many events now."""

    events: int


class PutAway(Struct, frozen=True):
    """Everybody has been away for long enough: the table can go."""


InternalMessage: TypeAlias = FreeIfAway | AwayTooLong | TimeUp | MoveDue | PutAway


class Scheduler:
    """Delivers a table's internal messages when they fall due, each in a task of its own."""

    def __init__(
        self,
        timers: Timers,
        tasks: asyncio.TaskGroup,
        deliver: Callable[[InternalMessage], Coroutine[Any, Any, None]],
    ) -> None:
        self.time = timers.time
        self._timers = timers
        self._tasks = tasks
        self._deliver = deliver

    def after(self, seconds: float, message: InternalMessage) -> Timer:
        """Deliver `message` after so many seconds, unless the timer is cancelled."""
        return self._timers.call_later(seconds, self._begin, message)

    def _begin(self, message: InternalMessage) -> None:
        self._tasks.create_task(self._deliver(message))
