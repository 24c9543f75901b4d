"""A connection from the moment it is accepted: it is counted, and agrees on TLS if that is spoken."""

import asyncio
import errno
import os
import socket
import sys
from dataclasses import dataclass
from functools import partial
from typing import Final, cast

from server.limits.fair_thread import FairThread
from server.net.access import AccessControl
from server.net.addresses import RemoteEnd, remote_of
from server.net.connections.address import RefusedFor
from server.net.connections.connection_limits import ConnectionLimits
from server.net.connections.limited_connection import LimitedConnection, drop_traceback
from server.net.connections.tls import Tls
from server.net.proxies import BadProxyHeader, proxy_header

_STEPS: Final = 16  # of a handshake; most have two, and no more than there are packets


@dataclass(eq=False, repr=False)
class AcceptedConnection(asyncio.Protocol):
    """Reads for `connection` until that can; it is counted before TLS, which takes memory and time.

    Handshakes are calculated in the thread `handshakes`, by turns.
    """

    connection: LimitedConnection
    connection_limits: ConnectionLimits
    access: AccessControl
    handshakes: FairThread[bool]

    def __post_init__(self) -> None:
        self._early = bytearray()  # has come and is not read
        self._deadline: asyncio.TimerHandle | None = None
        self._header_awaited = False
        self._tls: Tls | None = None
        self._step: asyncio.Future[bool] | None = None  # of the handshake, that waits for its turn or has it
        self._steps = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast("asyncio.Transport", transport)
        # asyncio does so itself only for sockets that name their protocol, which create_server's do not;
        # without it a move waits up to 40 ms for the acknowledgement of the one before.
        accepted = transport.get_extra_info("socket")
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if _is_last_file(accepted.fileno()):
            # uvloop tells nobody about those that it cannot accept: it closes them.
            error = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            what = {"message": "no more connections can be accepted", "exception": error}
            asyncio.get_running_loop().call_exception_handler(what)
        self._transport, self._loop = transport, asyncio.get_running_loop()
        proxies = self.access.proxies
        if not self.connection_limits.admit(self.connection, transport, proxies):
            transport.abort()
            return
        self._header_awaited = proxies.header and proxies.trusts(remote_of(transport).address)
        if self._header_awaited or self.access.certificate is not None:
            self._deadline = self._loop.call_later(
                self.connection_limits.limits.hello_seconds, transport.abort
            )
        else:
            self._hand_over()

    def data_received(self, data: bytes) -> None:
        self._early += data
        if len(self._early) > self.connection_limits.limits.incoming_bytes:
            self._transport.abort()
        elif not self._header_awaited:
            self._shake_hands()
        else:
            self.connection_limits.read_in_turn(self.connection, self._read_header)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        if self._step is not None:
            self._step.cancel()
        if self._deadline is None:
            return  # it was refused
        self._deadline.cancel()
        self.connection_limits.forget(self.connection)
        if not self._header_awaited:
            self.connection_limits.refused[RefusedFor.TLS] += 1

    def _read_header(self) -> None:
        """Go on if the PROXY header is there."""
        if self._transport.is_closing():
            return
        try:
            header = proxy_header(bytes(self._early))
        except BadProxyHeader:
            self.connection_limits.no_proxy_header(self.connection)
            self._transport.abort()
            return
        if header is None:
            return
        if header.source is not None:
            remote = RemoteEnd.at(*header.source)
            if not self.connection_limits.admit_client(self.connection, remote):
                self._transport.abort()
                return
        self._header_awaited = False
        del self._early[: header.size]
        if self.access.certificate is None:
            self._hand_over()
        else:
            self._shake_hands()

    def _shake_hands(self) -> None:
        """Go on with the handshake, when it is the turn of the client's address."""
        if not self._early or self._step is not None:
            return
        self._steps += 1
        if self._steps > _STEPS:
            self._transport.abort()
            return
        data = bytes(self._early)
        self._early.clear()
        self._step = self.handshakes.do(partial(self._do_step, data), self.connection.remote.counted_as)
        self._step.add_done_callback(self._go_on)

    def _do_step(self, data: bytes) -> bool:
        """Do a step of the handshake, in the thread for that; return whether it is complete."""
        if self._tls is None:
            assert self.access.certificate is not None  # noqa: S101 - it is TLS that is spoken
            self._tls = Tls(
                self.access.certificate.context, self._transport, self.connection_limits.limits, self._loop
            )
        return self._tls.shake_hands(data)

    def _go_on(self, step: "asyncio.Future[bool]") -> None:
        self._step = None
        # Asked for even if the client has gone: asyncio logs an exception for which nobody asks.
        error = None if step.cancelled() else step.exception()
        if self._transport.is_closing() or self._tls is None:
            return
        self._tls.send()
        if error is not None:  # it spoke something else
            drop_traceback(error)
            self._transport.close()
        elif step.result():
            self._hand_over(self._tls)
        else:
            self._shake_hands()

    def _hand_over(self, tls: Tls | None = None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if tls is not None:
            tls.begin(self.connection, bytes(self._early))
            return
        self._transport.set_protocol(self.connection)
        self.connection.connection_made(self._transport)
        if self._early:
            self.connection.data_received(bytes(self._early))


def _is_last_file(number: int) -> bool:
    """Return whether no more files may be open than are now: the system gives each the lowest free number."""
    if sys.platform == "win32":
        return False
    import resource  # noqa: PLC0415 - Windows has none

    return number + 1 == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
