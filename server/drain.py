"""Stopping in good time: no new tables, everybody knows how long is left, and then the server stops."""

import logging
import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Final

from protocol.messages import Stopping
from server.config import Timer, Timers
from server.logs import about
from server.net.session import Clients

log = logging.getLogger(__name__)

REMINDERS: Final = (3600, 1800, 600, 300, 60, 10)  # seconds before the end at which everybody is told again
_SECONDS_AFTER_THE_LAST_GAME: Final = 10.0  # for people who look at its result, or sit in the lobby
_SECONDS_BETWEEN_LOOKS: Final = 1.0


@dataclass(eq=False, repr=False)
class Drain:
    """The time that is left to this server, from `begin` on.

    All `clients` are told; `games_run` returns whether anybody is playing. `stop` is called when the time is
    up, shortly after the last game, or at once if there are no clients; `changed` when it begins or is
    cancelled.
    """

    timers: Timers
    _: KW_ONLY
    clients: Clients
    games_run: Callable[[], bool]
    stop: Callable[[], None]
    changed: Callable[[], None]

    def __post_init__(self) -> None:
        self._due: float | None = None
        self._told = 0  # seconds left when everybody was last told
        self._timer: Timer | None = None

    def seconds_left(self) -> int | None:
        """Return how many seconds are left; None if the server is to run on."""
        if self._due is None:
            return None
        # Rounded first: a sum of floats may be a little more than the seconds that were asked for.
        return max(0, math.ceil(round(self._due - self.timers.time(), 3)))

    def news(self) -> Stopping | None:
        """Return what a newcomer has to know of it."""
        left = self.seconds_left()
        return None if left is None else Stopping(left)

    def begin(self, seconds: float) -> None:
        """Stop in so many seconds, or sooner when no game runs any more."""
        self._due = self.timers.time() + seconds
        log.warning("draining", extra=about(seconds=math.ceil(seconds)))
        self.changed()
        self._bring_forward()
        self._remind()
        self._look_again(0.0)

    def cancel(self) -> None:
        """Run on as if nothing had been said."""
        if (left := self.seconds_left()) is not None:
            self.close()
            log.warning("no longer draining", extra=about(seconds=left))
            self.changed()
            self.clients.broadcast(Stopping())

    def close(self) -> None:
        """Cancel all timers."""
        self._due = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        if self._bring_forward():
            self._remind()
        left = self.seconds_left()
        if left == 0:
            self.stop()
            return
        if left is not None and any(left <= moment < self._told for moment in REMINDERS):
            self._remind()
        self._look_again()

    def _look_again(self, seconds: float = _SECONDS_BETWEEN_LOOKS) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.timers.call_later(seconds, self._look)

    def _bring_forward(self) -> bool:
        """Make the end come sooner if nobody plays any more; return whether it does."""
        soon = self.timers.time() + (_SECONDS_AFTER_THE_LAST_GAME if self.clients else 0.0)
        if self._due is None or self._due <= soon or self.games_run():
            return False
        self._due = soon
        return True

    def _remind(self) -> None:
        left = self._told = self.seconds_left() or 0
        self.clients.broadcast(Stopping(left))
