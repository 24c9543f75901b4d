"""The memory of connections that have ended, given back to the system.

The GNU C library keeps what is freed below anything still in use: the buffers of a few hundred TLS
connections, 0.3 MB each, stay with the process although nothing holds them.
"""

import asyncio
from typing import Final

_CONNECTIONS: Final = 50  # that have ended: fewer do not hold enough
_SECONDS: Final = 5.0  # for others to end meanwhile; it takes up to 20 ms


class FreedMemory:
    """Counts connections that end, and now and then gives back what they have freed."""

    def __init__(self) -> None:
        self._ended = 0

    def connection_ended(self) -> None:
        """Record that a connection will hold no memory any more."""
        self._ended += 1
        if self._ended == _CONNECTIONS:
            asyncio.get_running_loop().call_later(_SECONDS, self._begin)

    def _begin(self) -> None:
        self._ended = 0
        asyncio.get_running_loop().run_in_executor(None, give_back)


def give_back() -> None:
    """Return to the system what is free, where the C library has a function for it."""
    import ctypes  # noqa: PLC0415 - 0.3 MiB

    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return
