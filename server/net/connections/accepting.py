"""A connection from the moment it is accepted: it is counted, and agrees on TLS if that is spoken."""

import asyncio
import errno
import os
import socket
import ssl
from typing import cast

from server.config import Limits
from server.failures import start_task
from server.net.addresses import Remote, remote_of
from server.net.connections.connection_limits import ConnectionLimits, RefusedFor
from server.net.connections.limited_connection import LimitedConnection
from server.net.connections.open_files import is_last_file
from server.net.connections.proxy_header import BadProxyHeader, proxy_header
from server.net.connections.tracebacks import drop_traceback
from server.net.proxies import TrustedProxies


class AcceptedConnection(asyncio.Protocol):
    """Reads for `connection` until that can; it is counted before TLS, whose buffers are large."""

    def __init__(
        self,
        connection: LimitedConnection,
        connection_limits: ConnectionLimits,
        tls: ssl.SSLContext | None,
        proxies: TrustedProxies,
        limits: Limits,
    ) -> None:
        self._connection = connection
        self._connection_limits = connection_limits
        self._tls = tls
        self._proxies = proxies
        self._limits = limits
        self._early = bytearray()  # came before TLS began, or with the end of its handshake
        self._lost = False
        self._header_deadline: asyncio.TimerHandle | None = None  # while a PROXY header is awaited

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast("asyncio.Transport", transport)
        # asyncio does so itself only for sockets that name their protocol, which create_server's do not;
        # without it a move waits up to 40 ms for the acknowledgement of the one before.
        accepted = transport.get_extra_info("socket")
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if is_last_file(accepted.fileno()):
            # uvloop tells nobody about those that it cannot accept: it closes them.
            error = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            what = {"message": "no more connections can be accepted", "exception": error}
            asyncio.get_running_loop().call_exception_handler(what)
        self._transport = transport
        if not self._connection_limits.opened(self._connection, transport, self._proxies):
            transport.abort()
        elif self._proxies.header and self._proxies.trusts(remote_of(transport).address):
            loop = asyncio.get_running_loop()
            self._header_deadline = loop.call_later(self._limits.hello_seconds, transport.abort)
        else:
            self._begin(transport)

    def _begin(self, transport: asyncio.Transport) -> None:
        if self._tls is None:
            self._hand_over(transport)
        else:
            self._handshake = start_task(self._agree_on(self._tls, transport), "TLS handshake")
            # In the turn after the task's first one: then TLS has begun, and nothing has been read since.
            loop = asyncio.get_running_loop()
            loop.call_soon(loop.call_soon, self._hand_to_tls, transport)

    def data_received(self, data: bytes) -> None:
        self._early += data
        if self._header_deadline is not None:
            self._read_header(self._header_deadline)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._lost = True
        if self._header_deadline is not None:
            self._header_deadline.cancel()
            self._connection_limits.closed(self._connection)

    def _read_header(self, deadline: asyncio.TimerHandle) -> None:
        """Go on if the PROXY header is there."""
        try:
            header = proxy_header(bytes(self._early))
        except BadProxyHeader:
            self._connection_limits.no_proxy_header(self._connection)
            self._transport.abort()
            return
        if header is None:
            return
        if header.source is not None:
            remote = Remote.at(*header.source)
            if not self._connection_limits.forwarded(self._connection, remote):
                self._transport.abort()
                return
        deadline.cancel()
        self._header_deadline = None
        del self._early[: header.size]
        self._begin(self._transport)

    async def _agree_on(self, tls: ssl.SSLContext, transport: asyncio.Transport) -> None:
        encrypted = None
        try:
            encrypted = await asyncio.get_running_loop().start_tls(
                transport,
                self,
                tls,
                server_side=True,
                ssl_handshake_timeout=self._limits.hello_seconds,
                ssl_shutdown_timeout=self._limits.close_seconds,
            )
        except OSError as error:  # it spoke something else, was too slow, or has gone
            drop_traceback(error)
        finally:
            if encrypted is None:
                self._connection_limits.refused[RefusedFor.TLS] += 1
            if encrypted is None or self._lost:
                self._connection_limits.closed(self._connection)
            else:
                self._hand_over(encrypted)

    def _hand_to_tls(self, transport: asyncio.Transport) -> None:
        """Let TLS read what came before it began: uvloop reads sooner than a task can begin."""
        tls = cast("asyncio.BufferedProtocol", transport.get_protocol())
        while self._early and not transport.is_closing():
            buffer = cast("memoryview", tls.get_buffer(len(self._early)))
            size = min(len(buffer), len(self._early))
            buffer[:size] = self._early[:size]
            del self._early[:size]
            tls.buffer_updated(size)

    def _hand_over(self, transport: asyncio.Transport) -> None:
        transport.set_protocol(self._connection)
        self._connection.connection_made(transport)
        if self._early:
            self._connection.data_received(bytes(self._early))
