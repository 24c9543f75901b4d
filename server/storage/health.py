"""Whether a journal can store: what its last commits tell, or a trial if there was none lately."""

import asyncio
import logging
import math
from collections.abc import Callable, Coroutine
from typing import Any, Final

from server.failures import RepeatedFailure, start_task
from server.logs import about

_SECONDS_BETWEEN_PROBES: Final = 1.0
_SECONDS_TO_PROBE: Final = 5.0  # then storage that does not answer counts as failing

log = logging.getLogger(__name__)


class Health:
    """Counts what could not be stored, and logs it now and then; `probe` tries to store, and never fails.

    It has to call `settled`, as every commit does.
    """

    def __init__(self, probe: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._probe = probe
        self._probing: asyncio.Task[None] | None = None
        self._probed_at = -math.inf
        self._settled_at = -math.inf
        self._failures = RepeatedFailure()
        self._loop = asyncio.get_running_loop()
        self.last_failed = False

    @property
    def not_stored(self) -> int:
        """Return how many requests could not be stored."""
        return self._failures.count

    def settled(self, *, failed: bool) -> None:
        """Record how a commit has ended."""
        self.last_failed = failed
        self._settled_at = self._loop.time()
        if not failed and (failures := self._failures.works()):
            log.warning("stored again", extra=about(failures=failures))

    def refused(self) -> None:
        """Record that storage has answered, though not by storing what somebody asked for."""
        self._settled_at = self._loop.time()

    def count_failures(self, reason: str, number: int = 1, *, told: bool = False) -> None:
        """Count requests that could not be stored; `told` if the log says already why."""
        if told:
            self._failures.count += number
        elif (failures := self._failures.failed(number)) > 0:
            log.error("not stored", extra=about(failures=failures, reason=reason))

    async def answers(self) -> bool:
        """Return False if a trial is necessary, and storage does not answer it in time."""
        if self._loop.time() < self._settled_at + _SECONDS_BETWEEN_PROBES:
            return True
        if self._probing is None:
            self._probing = start_task(self._probed(), "trying the journal")
            self._probed_at = self._loop.time()
        left = self._probed_at + _SECONDS_TO_PROBE - self._loop.time()
        _, waiting = await asyncio.wait((self._probing,), timeout=max(0.0, left))
        return not waiting

    async def _probed(self) -> None:
        try:
            await self._probe()
        finally:
            self._probing = None

    async def close(self) -> None:
        """Wait for a trial that is under way."""
        if self._probing is not None:
            await asyncio.wait((self._probing,))
