"""The memory of connections that have ended, given back to the system.

The GNU C library keeps what is freed below anything still in use: the buffers of a few hundred TLS
connections, 0.3 MB each, stay with the process although nothing holds them.
"""

import asyncio
import ctypes
from collections.abc import Callable
from typing import Final

_CONNECTIONS: Final = 50  # that have ended: fewer do not hold enough
_SECONDS: Final = 5.0  # for others to end meanwhile; it takes up to 20 ms


class FreedMemory:
    """Counts connections that end, and now and then gives back what they have freed."""

    def __init__(self) -> None:
        self._give_back = _malloc_trim()
        self._ended = 0

    def connection_ended(self) -> None:
        """Record that a connection will hold no memory any more."""
        self._ended += 1
        if self._ended == _CONNECTIONS and self._give_back is not None:
            asyncio.get_running_loop().call_later(_SECONDS, self._begin, self._give_back)

    def _begin(self, give_back: Callable[[int], int]) -> None:
        self._ended = 0
        asyncio.get_running_loop().run_in_executor(None, give_back, 0)


def _malloc_trim() -> Callable[[int], int] | None:
    """Return the C library's function for it, None where there is none."""
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    return found
