"""Filters multicast traffic before the library sees it, so that nobody can keep this program busy."""

import asyncio
import ipaddress
from collections.abc import Callable
from typing import Any, Final, Protocol

from discovery.interfaces import Interface, is_among

_OF_OURS: Final = b"palatinus"  # in the service's type and in the names of our hosts: in all we care for
_MOST_BYTES: Final = 8 * 1024
_PER_SECOND: Final = 40.0  # packets on one socket
_AT_ONCE: Final = 80


class Behind(Protocol):
    """The library's own protocol of a socket."""

    def datagram_received(self, data: bytes, addrs: Any, /) -> None: ...

    def connection_lost(self, exc: Exception | None, /) -> None: ...


class Guard(asyncio.DatagramProtocol):
    """Stands before the protocol of a multicast socket, and passes on what is short, ours and from near by.

    The library listens on all interfaces and would answer anybody who reaches this computer; `own` are the
    interfaces whose networks may be heard (RFC 6762, 11). `failed` learns what cannot be sent.
    """

    def __init__(
        self,
        behind: Behind,
        own: tuple[Interface, ...],
        clock: Callable[[], float],
        failed: Callable[[OSError], None],
    ) -> None:
        self._behind = behind
        self._own = own
        self._clock = clock
        self._failed = failed
        self._left = float(_AT_ONCE)
        self._since = clock()

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        if self._passes(data, addr):
            self._behind.datagram_received(data, addr)

    def error_received(self, exc: Exception) -> None:
        if isinstance(exc, OSError):
            self._failed(exc)

    def connection_lost(self, exc: Exception | None) -> None:
        self._behind.connection_lost(exc)

    def _passes(self, data: bytes, addr: tuple[Any, ...]) -> bool:
        if len(data) > _MOST_BYTES or _OF_OURS not in data.lower():
            return False
        if not is_among(ipaddress.ip_address(str(addr[0])), self._own):
            return False
        now = self._clock()
        self._left = min(self._left + (now - self._since) * _PER_SECOND, _AT_ONCE)
        self._since = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
