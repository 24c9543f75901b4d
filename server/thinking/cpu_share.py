"""How much of the processors' time may be used."""

from collections.abc import Callable
from typing import Final

_SAVED_SECONDS: Final = 60.0  # for so long a share that is not used is saved up


class CpuShare:
    """A share of a processor's time, or of several: what was not used lately may be used at once."""

    def __init__(self, share: float, time: Callable[[], float], saved: float = _SAVED_SECONDS) -> None:
        self._share = share
        self._time = time
        self._saved = saved
        self._paid_at = time() - saved  # when all that was used is paid for

    def use(self, seconds: float) -> None:
        """Record that so many seconds of a processor's time were used."""
        self._paid_at = max(self._paid_at, self._time() - self._saved) + seconds / self._share

    def seconds_to_rest(self) -> float:
        """Return how long nothing may be used."""
        return max(0.0, self._paid_at - self._time())
