"""What falls due at a table, as messages to itself."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from msgspec import Struct

from engine.pieces import Seat
from server.config import Timer, Timers
from server.failures import Tasks


class FreeIfAway(Struct, frozen=True):
    """A seat whose player is away has been kept for long enough."""

    seat: Seat


class AwayTooLong(Struct, frozen=True):
    """A player of a running game has been away for as long as the absence policy allows."""

    seat: Seat


class HostAway(Struct, frozen=True):
    """The host has been away so long that a present player becomes host."""


class TimeUp(Struct, frozen=True):
    """The clock of the turn after this many events has run out."""

    events: int


class MoveDue(Struct, frozen=True):
    """It is time for the stand-in's move in the turn after this many events."""

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
_Key: TypeAlias = tuple[type[InternalMessage], Seat | None]


class Deadlines:
    """Delivers a table's internal messages when they fall due, each in its own task.

    At most one of each kind is pending, or one per seat if it concerns a seat.
    """

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
        self._running: dict[_Key, Timer] = {}
        self._stopped = False

    def set(self, message: InternalMessage, seconds: float) -> None:
        """Deliver `message` after this many seconds; it replaces a pending one of its kind."""
        key = _key_of(message)
        self.cancel(*key)
        if not self._stopped:
            self._running[key] = self._timers.call_later(seconds, self._begin, message)

    def is_set(self, kind: type[InternalMessage]) -> bool:
        """Return whether a message of this kind is pending."""
        return (kind, None) in self._running

    def cancel(self, kind: type[InternalMessage], seat: Seat | None = None) -> None:
        """Deliver nothing of this kind, or of this kind about a seat."""
        if (timer := self._running.pop((kind, seat), None)) is not None:
            timer.cancel()

    def stop(self) -> None:
        """Deliver nothing more: the tasks end with the server, and time may go on after it."""
        self._stopped = True
        for timer in self._running.values():
            timer.cancel()
        self._running.clear()

    def _begin(self, message: InternalMessage) -> None:
        del self._running[_key_of(message)]
        self._tasks.start(self._deliver(message), type(message).__name__)


def _key_of(message: InternalMessage) -> _Key:
    return type(message), message.seat if isinstance(message, FreeIfAway | AwayTooLong) else None
