"""What falls due at a table, and when."""

import enum
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeAlias

from engine.pieces import Seat
from server.config import Timer, Timers
from server.errors import JournalError
from server.monitoring.counts import Counts
from server.monitoring.failures import Tasks

Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
RETRY_SECONDS: Final = 1.0  # until a failed commit is tried again


class Due(enum.Enum):
    """What may fall due; of the first four, at each seat."""

    SEAT_FREE = enum.auto()  # a seat was kept for long enough for a player who is away
    AWAY_TOO_LONG = enum.auto()  # a player of a running game was away for as long as the policy allows
    NOTICE = enum.auto()  # a player who is away is to be called
    HOLIDAY_OVER = enum.auto()  # a player may have no days of holiday left
    HOST_AWAY = enum.auto()  # the host was away for so long that a present player becomes host
    TIME_UP = enum.auto()  # the clock of the turn runs out
    CLOCK = enum.auto()  # a clock that runs for long is stored, so that a restart loses little of it
    MOVE = enum.auto()  # the stand-in moves
    PAUSE_OVER = enum.auto()  # the game was paused for as long as it can be
    SHARES = enum.auto()  # the clients had their time to show their shares in a draw
    UNATTENDED = enum.auto()  # nobody was here for so long that the table is archived or forgotten
    STATE = enum.auto()  # so much has changed that not everybody was sent it yet


class Deadlines:
    """Hands a table's own work to `carry_out` when it falls due, each in its own task.

    At most one of each kind is pending, or one per seat if it concerns a seat. What cannot be stored falls
    due again.
    """

    def __init__(
        self,
        timers: Timers,
        tasks: Tasks,
        counts: Counts,
        carry_out: Callable[[Work], Coroutine[Any, Any, None]],
    ) -> None:
        self.time = timers.time
        self._timers = timers
        self._tasks = tasks
        self._counts = counts
        self.carry_out = carry_out
        self._running: dict[tuple[Due, Seat | None], Timer] = {}
        self.stopped = False

    def set(self, due: Due, seconds: float, work: Work, seat: Seat | None = None) -> None:
        """Have `work` done after this many seconds, in place of what is pending of its kind."""
        self.cancel(due, seat)
        if not self.stopped:
            self._running[due, seat] = self._timers.call_later(seconds, self._begin, due, work, seat)

    def is_set(self, due: Due) -> bool:
        return (due, None) in self._running

    def cancel(self, due: Due, seat: Seat | None = None) -> None:
        """Do nothing of this kind, or of this kind about a seat."""
        if (timer := self._running.pop((due, seat), None)) is not None:
            timer.cancel()

    def stop(self) -> None:
        """Do nothing more: the tasks end with the server, and time may go on after it."""
        self.stopped = True
        for timer in self._running.values():
            timer.cancel()
        self._running.clear()

    def _begin(self, due: Due, work: Work, seat: Seat | None) -> None:
        del self._running[due, seat]
        self._tasks.start(self._do(due, work, seat), due.name)

    async def _do(self, due: Due, work: Work, seat: Seat | None) -> None:
        try:
            await self.carry_out(work)
        except JournalError as error:
            self._counts.journal_failed(error)
            self.set(due, RETRY_SECONDS, work, seat)
