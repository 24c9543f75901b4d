"""The deadlines of a table."""

import enum
from collections.abc import Callable, Coroutine
from typing import Any, Final

from server.config import Timer, Timers
from server.errors import JournalError
from server.monitoring.counts import Counts
from server.monitoring.failures import Tasks

RETRY_SECONDS: Final = 1.0  # until a failed commit is tried again


class Due(enum.Enum):
    """Work that a table does without a request; of the first three, one may be pending for each seat."""

    SEAT_FREE = enum.auto()  # a seat was kept for long enough for a player who is away
    AWAY_TOO_LONG = enum.auto()  # a player of a running game was away for as long as the policy allows
    ROOM = enum.auto()  # what a room has set a moment for, by room and seat
    HOST_AWAY = enum.auto()  # the host was away for so long that a present player becomes host
    TIME_UP = enum.auto()  # the clock of the turn runs out
    CLOCK = enum.auto()  # a clock that runs for long is stored, so that a restart loses little of it
    MOVE = enum.auto()  # the stand-in moves
    SHARES = enum.auto()  # the clients had their time to show their shares in a draw
    UNATTENDED = enum.auto()  # nobody was here for so long that the table is archived or forgotten
    FOLLOW = enum.auto()  # what follows from a change could not be stored
    STATE = enum.auto()  # so much has changed that not everybody was sent it yet
    DELIVERED = enum.auto()  # a letter has arrived, or has not


AT_SEATS: Final = {Due.SEAT_FREE, Due.AWAY_TOO_LONG, Due.ROOM}


class Deadlines:
    """Calls `carry_out` for each piece of a table's own work when it is due, in a task of its own.

    It is passed what is due and what that is about. At most one of each kind is pending, or one per seat if
    it concerns a seat. What cannot be stored falls due again.
    """

    __slots__ = ("_counts", "_running", "_tasks", "_timers", "carry_out", "stopped", "time")

    def __init__(
        self,
        timers: Timers,
        tasks: Tasks,
        counts: Counts,
        carry_out: Callable[..., Coroutine[Any, Any, None]],
    ) -> None:
        self.time = timers.time
        self._timers = timers
        self._tasks = tasks
        self._counts = counts
        self.carry_out = carry_out
        self._running: dict[tuple[Due, object], Timer] = {}
        self.stopped = False

    def set(self, due: Due, seconds: float, *about: object) -> None:
        """Set a deadline in this many seconds, in place of a pending one of its kind.

        `about` begins with the seat if it concerns one.
        """
        key = due, about[0] if due in AT_SEATS else None
        self.cancel(*key)
        if not self.stopped:
            self._running[key] = self._timers.call_later(seconds, self._begin, key, about)

    def is_set(self, due: Due, seat: object = None) -> bool:
        return (due, seat) in self._running

    def cancel(self, due: Due, seat: object = None) -> None:
        """Cancel the deadline of this kind, or the one that concerns a seat."""
        if (timer := self._running.pop((due, seat), None)) is not None:
            timer.cancel()

    def stop(self) -> None:
        """Cancel all deadlines and accept no more; tasks that have begun end with the server."""
        self.stopped = True
        for timer in self._running.values():
            timer.cancel()
        self._running.clear()

    def _begin(self, key: tuple[Due, object], about: tuple[object, ...]) -> None:
        del self._running[key]
        self._tasks.start(self._do(key[0], about), key[0].name)

    async def _do(self, due: Due, about: tuple[object, ...]) -> None:
        try:
            await self.carry_out(due, *about)
        except JournalError as error:
            self._counts.journal_failed(error)
            self.set(due, RETRY_SECONDS, *about)
