"""A guest's connection: it is read no faster than allowed, and nothing piles up behind one that stalls.

asyncssh answers whatever comes, and keeps what it cannot send; so this stands between it and the network.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final, cast

import asyncssh

from commands.guests.limits import GuestLimits
from server.net.addresses import UNKNOWN, Remote, remote_of
from server.rate_limits import RateLimiter

_OVERHEAD: Final = 96  # bytes that ssh adds to a message at most


class Line(asyncio.Protocol):
    """The network's end of an ssh connection.

    `arrived` counts it and tells whether it may stay, `left` is called when it has ended; `speak` returns
    what speaks ssh.
    """

    def __init__(
        self,
        limits: GuestLimits,
        *,
        arrived: Callable[["Line"], bool],
        left: Callable[["Line"], None],
        speak: Callable[["Line"], asyncssh.SSHServerConnection],
    ) -> None:
        self.remote: Remote = UNKNOWN
        self._host, self._port = "", 0
        self._limits = limits
        self._arrived, self._left, self._speak = arrived, left, speak
        self._incoming = RateLimiter(limits.incoming_bytes, limits.incoming_rate)
        self._counted = False
        self._transport: asyncio.Transport | None = None
        self._ssh: asyncssh.SSHServerConnection | None = None
        self._reading_again: asyncio.TimerHandle | None = None
        self._other = RateLimiter(limits.other_bytes, limits.other_rate)
        self._used = 0  # bytes of those being read that were keys, or the like
        self._given = 0  # bytes that were given to ssh since it sent something

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.remote = remote_of(transport)
        self._host, self._port = transport.get_extra_info("sockname")[:2]
        self._counted = self._arrived(self)
        if not self._counted:
            self._transport.abort()
            return
        self._ssh = self._speak(self)
        self._ssh.connection_made(_Wire(self._transport, self._sent))

    def way_in(self, word: str | None = None) -> str:
        """Return the command that leads here, or back here with a guest's word."""
        user = "" if word is None else f"{word}@"
        return f"ssh -p {self._port} {user}{self._host}"

    def data_received(self, data: bytes) -> None:
        if self._ssh is None or self._transport is None:
            return
        loop = asyncio.get_running_loop()
        wait = self._incoming.wait(loop.time(), len(data))
        if wait > 0 and self._reading_again is None and not self._transport.is_closing():
            self._transport.pause_reading()
            self._reading_again = loop.call_later(wait, self._read_again)
        self._used = 0
        self._ssh.data_received(data)
        if self._other.wait(loop.time(), max(0, len(data) - self._used)) > 0:
            self._transport.abort()

    def eof_received(self) -> None:
        if self._ssh is not None:
            self._ssh.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._reading_again is not None:
            self._reading_again.cancel()
        if self._ssh is not None:
            self._ssh.connection_lost(exc)
            self._ssh = None
        self._stop_counting()

    def use(self, size: int) -> None:
        """Record that a message of so many bytes is one that guests may send as often as they like."""
        self._used += size + _OVERHEAD

    def give(self, size: int) -> None:
        """Record that ssh was given so many bytes to send."""
        self._given += size

    @property
    def unsent(self) -> int:
        """Return how many bytes wait for the network, or in ssh for the end of an exchange of keys."""
        waiting = 0 if self._transport is None else self._transport.get_write_buffer_size()
        return self._given + waiting

    def abort(self) -> None:
        """End the connection at once; its place is free."""
        self._stop_counting()
        if self._transport is not None:
            self._transport.abort()

    def _stop_counting(self) -> None:
        if self._counted:
            self._counted = False
            self._left(self)

    def _sent(self) -> None:
        self._given = 0

    def _read_again(self) -> None:
        self._reading_again = None
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()


class _Wire(asyncio.Transport):
    """The transport that ssh writes to; it tells `sent` each time."""

    def __init__(self, transport: asyncio.Transport, sent: Callable[[], None]) -> None:
        super().__init__()
        self._transport, self._sent = transport, sent

    def write(self, data: Any) -> None:
        self._transport.write(data)
        self._sent()

    def abort(self) -> None:
        self._transport.abort()

    def close(self) -> None:
        self._transport.close()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)
