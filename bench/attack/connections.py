"""Attacks on the connections: before a seat is taken, and most of them before a hello."""

import asyncio
import contextlib
import random
import socket
import ssl
import struct
from collections.abc import Callable
from functools import cache, partial
from typing import Final

from bench.attack.client import TRUSTING, Attack, Mode, Streams, Target, connected, read_all
from bench.load.wire import HANDSHAKE, packed

_HELLO: Final = packed(t="hello", versions=[1], client="attack")
_FRAGMENTS: Final = 4096  # as many as `websockets` puts together by default
_EMPTY_FRAGMENT: Final = b"\x00\x80" + bytes(4)
_FRAGMENTED: Final = b"\x02\x80" + bytes(4) + _EMPTY_FRAGMENT * (_FRAGMENTS - 2) + b"\x80\x80" + bytes(4)
_PINGS: Final = packed(t="ping", id=1) * 1500  # 30 KB, read in more than a minute at the rate
_HEADERS: Final = HANDSHAKE[:-2] + b"".join(
    b"X-%d: %s\r\n" % (at, b"y" * 8100) for at in range(118)
)  # a line short of the end
_TWO_REQUESTS: Final = b"GET / HTTP/1.1\r\nHost: there\r\n\r\n" * 2
_RESET: Final = struct.pack("ii", 1, 0)  # SO_LINGER that ends a connection by a reset

_NETWORKS: Final = 65_536  # of 64 bits, in one of 48


def repeated(attack: Attack) -> Attack:
    """Return what does an attack on many connections at once, again and again."""
    return partial(_repeat, attack)


async def _repeat(attack: Attack, target: Target) -> None:
    async def one() -> None:
        while True:
            with contextlib.suppress(OSError, EOFError, asyncio.IncompleteReadError):
                await attack(target)
            await asyncio.sleep(0.01)  # the server is attacked, not this machine

    await asyncio.gather(*(one() for _ in range(target.connections)))


async def _upgraded(target: Target) -> Streams:
    reader, writer = await connected(target)
    writer.write(HANDSHAKE)
    await reader.readuntil(b"\r\n\r\n")
    return reader, writer


async def fragments(target: Target) -> None:
    """Send messages of thousands of empty fragments, and no hello."""
    _, writer = await _upgraded(target)
    try:
        while True:
            writer.write(_FRAGMENTED)
            await writer.drain()
    finally:
        writer.transport.abort()


async def frames(target: Target) -> None:
    """Say hello, and send small messages as fast as the server takes them."""
    reader, writer = await _upgraded(target)
    reading = asyncio.ensure_future(read_all(reader))
    try:
        writer.write(_HELLO)
        while True:
            writer.write(_PINGS)
            await writer.drain()
    finally:
        reading.cancel()
        writer.transport.abort()


async def visits(target: Target) -> None:
    """Say hello, send 30 KB of messages, and reset the connection."""
    reader, writer = await _upgraded(target)
    writer.write(_HELLO)
    await reader.readexactly(1)
    writer.write(_PINGS)
    await writer.drain()
    await asyncio.sleep(0.2)
    _reset(writer)


def saying(
    what: bytes | Callable[[], bytes] = b"", seconds: float | None = None, *, tls: bool = False
) -> Attack:
    """Return the attack that connects, says something or nothing, and reads to the end, or for so long."""
    return repeated(partial(_say, what, seconds, tls))


async def _say(what: bytes | Callable[[], bytes], seconds: float | None, tls: bool, target: Target) -> None:
    reader, writer = await connected(target, TRUSTING if tls else None)
    try:
        writer.write(what if isinstance(what, bytes) else what())
        await writer.drain()
        async with asyncio.timeout(seconds):
            while await reader.read(2**16):
                pass
    finally:
        writer.transport.abort()


async def resets(target: Target) -> None:
    """Begin a TLS handshake, and reset the connection immediately."""
    _, writer = await connected(target)
    writer.write(_client_hello())
    _reset(writer)


async def hellos(target: Target) -> None:
    """Begin TLS handshakes on many connections in the same moment, without having calculated anything."""
    await together(_client_hello(), target)


async def together(said: bytes, target: Target) -> None:
    """Say the same on many connections at once, again and again."""
    while True:
        opened = await asyncio.gather(
            *(connected(target) for _ in range(target.connections)), return_exceptions=True
        )
        writers = [each[1] for each in opened if not isinstance(each, BaseException)]
        for writer in writers:
            writer.write(said)
        await asyncio.sleep(1.0)
        for writer in writers:
            _reset(writer)


def network() -> bytes:
    """Return a request for a websocket from another network each time; a trusted proxy says so."""
    return _named() + HANDSHAKE


def network_tls() -> bytes:
    """Return the same for a server with TLS, which is begun and no more."""
    return _named() + _client_hello()


def _named() -> bytes:
    """Return a PROXY header with an address of one of the networks."""
    address = f"2001:db8:7:{random.randrange(_NETWORKS):x}::1"
    return f"PROXY TCP6 {address} {address} 4711 7733\r\n".encode()


@cache
def _client_hello() -> bytes:
    """Return what a client of TLS begins with."""
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        TRUSTING.wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    return outgoing.read()


def _reset(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):  # it is reset already
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()


# The attack's first addresses, so that it can name others: a loopback interface has one of IPv6.
_TRUSTED: Final = ("--trust-proxy", "127.0.0.2/31", "--proxy-protocol")

MODES: Final = (
    Mode("fragments", "messages of 4,096 empty fragments, before a hello", repeated(fragments)),
    Mode("frames", "small messages without a pause", repeated(frames)),
    Mode(
        "visits",
        "hello, 30 KB of messages, reset; again and again",
        repeated(visits),
        connections=50,
    ),
    Mode("headers", "a megabyte of header lines without an end", saying(_HEADERS, 5)),
    Mode("silent", "connections that say nothing", saying(), connections=4000),
    Mode("silent-tls", "the same to a server with TLS", saying(), connections=4000, tls=True),
    Mode("silent-tls-4", "the same from four addresses", saying(), connections=4000, tls=True, addresses=4),
    Mode("handshakes", "TLS handshakes and nothing more", saying(seconds=1, tls=True), tls=True),
    Mode("resets", "TLS handshakes begun and reset at once", repeated(resets), tls=True),
    Mode("hellos", "hundreds of TLS handshakes begun in the same moment", hellos, tls=True),
    Mode("hellos-rsa-2048", "the same to a server with such a key", hellos, tls=True, key="rsa:2048"),
    Mode("hellos-rsa-4096", "the same to a server with such a key", hellos, tls=True, key="rsa:4096"),
    Mode("upgrades", "hundreds of requests for a websocket in the same moment", partial(together, HANDSHAKE)),
    Mode("networks", "connections from the networks of a /48", saying(network), 4000, options=_TRUSTED),
    Mode(
        "networks-tls",
        "the same to a server with TLS, with handshakes that end there",
        saying(network_tls),
        4000,
        tls=True,
        options=_TRUSTED,
    ),
    Mode("requests", "two requests for a page in one write", saying(_TWO_REQUESTS), connections=50),
)
