"""Timers that fire at a table, as messages to itself."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from msgspec import Struct

from engine.pieces import Seat
from server.failures import Tasks
from server.timers import Timer, Timers


class FreeIfAway(Struct, frozen=True):
    """A seat whose player is away has been kept for long enough."""

    seat: Seat


class AwayTooLong(Struct, frozen=True):
    """A player of a running game has been away for as long as the absence policy allows."""

    seat: Seat


class HostAway(Struct, frozen=True):
    """The host has been away for so long that somebody who is here becomes host."""


class TimeUp(Struct, frozen=True):
    """The clock of the turn after so many events has run out."""

    events: int


class MoveDue(Struct, frozen=True):
    """It is time for the stand-in's move in the turn after so many events."""

    events: int


class PauseOver(Struct, frozen=True):
    """The game has been paused for as long as it can be; `number` counts its pauses."""

    number: int


class SharesDue(Struct, frozen=True):
    """The clients have had their time to show their shares in the draw with this commitment."""

    commitment: str


class Unattended(Struct, frozen=True):
    """Nobody has been at the table for so long that it can be archived or forgotten."""


class StateDue(Struct, frozen=True):
    """So much has changed that not everybody was sent it yet."""


InternalMessage: TypeAlias = (
    FreeIfAway | AwayTooLong | HostAway | TimeUp | MoveDue | PauseOver | SharesDue | Unattended | StateDue
)


class Scheduler:
    """Delivers a table's internal messages when they fall due, each in a task of its own."""

    def __init__(
        self,
        timers: Timers,
        tasks: Tasks,
        deliver: Callable[[InternalMessage], Coroutine[Any, Any, None]],
    ) -> None:
        self.time = timers.time
        self._timers = timers
        self._tasks = tasks
        self._deliver = deliver
        self._stopped = False

    def after(self, seconds: float, message: InternalMessage) -> Timer:
        """Deliver `message` after so many seconds, unless the timer is cancelled."""
        timer = self._timers.call_later(seconds, self._begin, message)
        if self._stopped:
            timer.cancel()
        return timer

    def stop(self) -> None:
        """Deliver nothing more: the task group ends with the server, and time may go on after it."""
        self._stopped = True

    def _begin(self, message: InternalMessage) -> None:
        if not self._stopped:
            self._tasks.start(self._deliver(message), type(message).__name__)
