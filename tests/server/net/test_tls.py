"""TLS: handshakes take turns, and nothing is left of connections that have ended."""

import asyncio
import contextlib
import gc
import logging
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

from server.app import Running, running
from server.config import Config, Limits
from server.net.connections.tls import Tls
from server.net.event_loop import new_loop
from tests.server.peer import TIMEOUT, UPGRADE, Peer, eventually

RESET = struct.pack("ii", 1, 0)
LOOPS = pytest.mark.parametrize(
    "loop_factory", [asyncio.new_event_loop, new_loop], ids=["Python's", "the server's"]
)


@contextlib.asynccontextmanager
async def serving(certificate: Path, **limits: float) -> AsyncIterator[Running]:
    config = Config(tls_cert=certificate, limits=Limits(**limits))  # type: ignore[arg-type]
    async with asyncio.timeout(TIMEOUT), running(config) as server:
        yield server


def client_hello(trusting: ssl.SSLContext) -> bytes:
    """Return what a client begins with; whoever has it needs to calculate nothing."""
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        trusting.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="127.0.0.1").do_handshake()
    return outgoing.read()


@contextlib.contextmanager
def begun(port: int, number: int, hello: bytes, source: str = "127.0.0.2") -> Iterator[list[socket.socket]]:
    """Connect, and send the same immediately."""
    with contextlib.ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), TIMEOUT, (source, 0)))
            for _ in range(number)
        ]
        for each in sockets:
            each.sendall(hello)
        yield sockets


def answered(each: socket.socket) -> bool:
    each.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        return bool(each.recv(1))
    return False


async def test_handshakes_take_turns_address_by_address(certificate: Path, trusting: ssl.SSLContext) -> None:
    """Whoever comes after dozens of one address waits for a few of them."""
    hello = client_hello(trusting)
    async with serving(certificate, handshakes_cpu=0.01) as server:
        with begun(server.port, 60, hello) as strangers:
            await asyncio.to_thread(strangers[0].recv, 1, socket.MSG_PEEK)
            async with connect(f"wss://127.0.0.1:{server.port}", ssl=trusting, proxy=None) as client:
                assert sum(map(answered, strangers)) < 30
                await Peer(client).hello()


async def test_connections_beyond_a_limit_are_cut_before_their_handshake(certificate: Path) -> None:
    """All but the few that may learn why they are refused."""
    async with serving(certificate, connections_per_address=1, hello_seconds=TIMEOUT * 5) as server:
        with begun(server.port, 18, b"") as (*_, last):
            assert await asyncio.to_thread(last.recv, 1) == b""


@LOOPS
@pytest.mark.parametrize("spoken", [0, 1, 2], ids=["hello", "handshake", "websocket"])
def test_nothing_is_left_of_connections_that_were_reset(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
    spoken: int,
    certificate: Path,
    trusting: ssl.SSLContext,
) -> None:
    """At once, and not when Python looks for cycles, which is the rarer the longer the server runs."""
    trusting.check_hostname = False

    async def reset_some() -> None:
        async with serving(certificate) as server:
            gc.collect()
            gc.disable()
            for _ in range(5):
                if spoken == 0:
                    with begun(server.port, 1, client_hello(trusting)) as (each,):
                        await asyncio.to_thread(each.recv, 1)
                        each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                    continue
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=trusting)
                if spoken == 2:
                    writer.write(UPGRADE)
                    await reader.readuntil(b"\r\n\r\n")
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                writer.transport.abort()
            await eventually(lambda: not any(type(each) is Tls for each in gc.get_objects()))

    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            runner.run(reset_some())
    finally:
        gc.enable()


@LOOPS
def test_what_speaks_no_tls_is_told_so_and_disturbs_nobody(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
    certificate: Path,
    trusting: ssl.SSLContext,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whether it is cut, ends in the middle, or goes while it waits for its turn."""
    caplog.set_level(logging.WARNING)
    hello = client_hello(trusting)

    async def speak_otherwise() -> None:
        async with serving(certificate, hello_seconds=0.3) as server:
            for said in (b"", UPGRADE, hello[:100], hello + UPGRADE, hello[:60] + bytes(100_000)):
                with begun(server.port, 1, said) as (each,), contextlib.suppress(ConnectionError):
                    while await asyncio.to_thread(each.recv, 4096):
                        pass
            with begun(server.port, 30, hello) as strangers:
                for each in strangers:
                    each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            async with connect(f"wss://127.0.0.1:{server.port}", ssl=trusting, proxy=None) as client:
                await Peer(client).hello()

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(speak_otherwise())
    assert not caplog.records


async def test_what_tls_adds_to_messages_is_limited_too(certificate: Path, trusting: ssl.SSLContext) -> None:
    """A record for each byte of a message has no turn, and would cost as much as a message."""
    async with serving(certificate, incoming_bytes=20_000) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=trusting)
        writer.write(UPGRADE)
        await reader.readuntil(b"\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            for each in b"\x82\xfe\x10\x00" + bytes(4000):  # of a frame with 4,096
                writer.write(bytes([each]))
                await writer.drain()
            assert not await reader.read()
        writer.close()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()
