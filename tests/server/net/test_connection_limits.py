"""Browsers, scanners and floods get a short polite answer, and disturb nobody."""

import asyncio
import contextlib
import ipaddress
import itertools
import logging
import socket
from collections.abc import AsyncIterator, Callable
from functools import partial
from unittest.mock import Mock

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection

from protocol.codec import encode
from protocol.messages import Hello, ListTables
from server.app import Running
from server.config import Config, Limits
from server.net.access import AccessControl
from server.net.addresses import UNKNOWN
from server.net.connections import connection_limits as freeing
from server.net.connections.connection_limits import ConnectionLimits
from server.net.event_loop import new_loop
from server.net.listener import listening_socket, websocket_server
from server.net.proxies import TrustedProxies
from tests.server.peer import (
    TIMEOUT,
    UPGRADE,
    Peer,
    connected,
    eventually,
    exchange,
    frame,
    memory_server,
    upgrade_status,
)

TLS_HELLO = bytes.fromhex("16030100d2010000ce0303") + bytes(200)


@contextlib.asynccontextmanager
async def undisturbed_server(
    caplog: pytest.LogCaptureFixture, **limits: float
) -> AsyncIterator[tuple[Running, Peer]]:
    """Serve with a player who must not be disturbed; fail if the server logs a warning or a traceback."""
    caplog.set_level(logging.DEBUG)
    async with memory_server(**limits) as server, connected(server.port) as player:
        yield server, player
        await player.nothing_but_pong()
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING or record.exc_info]


GET = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


async def test_plain_http_is_answered_with_how_to_play(caplog: pytest.LogCaptureFixture) -> None:
    """A client that is not a game client learns what this server is and how to play."""
    async with undisturbed_server(caplog) as (server, _):
        for method, rest in (
            *(("GET", "\r\n"), ("GET", "User-Agent: Mozilla/5.0\r\nAccept: */*\r\n\r\n")),
            *(("OPTIONS", "\r\n"), ("POST", "Content-Length: 0\r\n\r\n")),
            ("POST", "Content-Length: 5\r\n\r\nhello"),
            ("POST", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
            *(("GET", "Upgrade: h2c\r\n\r\n"), ("GET", "Upgrade: h2c\r\nUpgrade: h2c\r\n\r\n")),
            ("GET", "Connection: keep-alive\r\nConnection: close\r\n\r\n"),
            *(("GET", "X-Forwarded-Proto: https\r\n\r\n"), ("HEAD", "\r\n")),
        ):
            answer = await exchange(server.port, f"{method} / HTTP/1.1\r\nHost: here\r\n{rest}".encode())
            assert answer.startswith((b"HTTP/1.1 426 ", b"HTTP/1.1 400 "))
            assert len(answer) < 1000
            scheme = b"wss" if "https" in rest else b"ws"
            assert (b"Palatinus game server" in answer) == (method != "HEAD")
            assert (b"palatinus join %s://" % scheme in answer) == (method != "HEAD"), rest


GARBAGE = [
    [b""],
    [b"\r\n\r\n"],
    [bytes(range(256)) * 40],
    [TLS_HELLO],
    [b"SSH-2.0-scanner\r\n"],
    [b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 5000],
    [b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n"],
    [b"GET / HTTP/1.1\r\nX: " + b"y" * 100_000],
    [b"GET / HTTP/9.9\r\n\r\n"],
    [UPGRADE.replace(b"Upgrade: websocket", b"Upgrade: websocket\r\nUpgrade: websocket")],
    [UPGRADE.replace(b"Version: 13", b"Version: 12")],
    [UPGRADE.replace(b"Sec-WebSocket-Key: ", b"Sec-WebSocket-Key: !")],
    [UPGRADE.replace(b"GET", b"POST")],
    [UPGRADE, b"\xff" * 1000],
    [UPGRADE, frame(0x3, b"reserved")],
    [UPGRADE, b"\x82\x05hello"],  # not masked
    [UPGRADE, frame(0x0, b"no beginning")],
    [UPGRADE, frame(0x8, b"\x03\xe8\xff\xfe")],  # a reason that is not UTF-8
    [UPGRADE, frame(0x8, b"\x00\x01")],  # no close code
    [UPGRADE, b"\x82\xff" + b"\xff" * 12],  # a frame of 2**64 bytes
    [UPGRADE, b"\xc2\x80\x00\x00\x00\x00"],  # compressed, though nobody agreed to that
]


async def test_garbage_disturbs_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """Malformed bytes end their connection, and no error is logged."""
    async with (
        undisturbed_server(caplog, hello_seconds=0.2, close_seconds=0.1) as (server, _),
        asyncio.TaskGroup() as tasks,
    ):
        for pieces in GARBAGE:
            tasks.create_task(exchange(server.port, *pieces))


async def test_two_requests_at_once_are_answered_once(caplog: pytest.LogCaptureFixture) -> None:
    """What follows a request is read when it has been answered, however both come."""
    async with undisturbed_server(caplog) as (server, _):
        for _ in range(20):
            answer = await exchange(server.port, GET * 2)
            assert answer.count(b"HTTP/1.1 ") == 1
            assert answer.startswith(b"HTTP/1.1 426 ")


@pytest.mark.parametrize("line", [b"y" * 100_000, b"X: " + b"y" * 900 + b"\r\n"], ids=["one line", "lines"])
async def test_a_long_request_is_refused_early(caplog: pytest.LogCaptureFixture, line: bytes) -> None:
    """What comes before a hello is small."""
    async with undisturbed_server(caplog, hello_seconds=TIMEOUT * 5, close_seconds=0.1) as (server, _):
        answer = await exchange(server.port, b"GET / HTTP/1.1\r\n" + line * 10)
        assert answer.startswith(b"HTTP/1.1 431 ")


async def test_a_client_that_is_too_fast_is_disconnected(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its frames are queued up to a limit, whatever they contain."""
    async with undisturbed_server(caplog, incoming_bytes=10_000, rate=0.01) as (server, _):
        await exchange(server.port, UPGRADE + frame(0x9) * 3000)
    assert [record for record in caplog.records if record.getMessage() == "dropped: it sends too fast"]


@pytest.mark.parametrize("sent", [b"", frame(0x2, encode(Hello([1], "flood")))], ids=["no hello", "hello"])
async def test_queued_messages_do_not_delay_the_shutdown(sent: bytes) -> None:
    """The server closes every connection within the closing time."""
    clock = asyncio.get_running_loop().time
    limits = {"burst": 3, "rate": 0.01, "close_seconds": 0.1, "hello_seconds": TIMEOUT * 5}
    async with memory_server(**limits) as server, connected(server.port) as player:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(UPGRADE + sent + frame(0x2, encode(ListTables(1))) * 100)
        await player.nothing_but_pong()
        began = clock()
    assert clock() - began < TIMEOUT / 2
    writer.close()


async def test_what_many_connections_have_freed_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for many of them, after they have ended."""
    given_back: list[bool] = []
    monkeypatch.setattr(freeing, "_SECONDS_FOR_OTHERS", 0.0)
    monkeypatch.setattr(freeing, "give_memory_back", lambda: given_back.append(True))
    async with memory_server() as server:
        for _ in range(120):
            await exchange(server.port, GET)
        await eventually(lambda: given_back == [True, True])


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, new_loop], ids=["Python's", "the server's"])
def test_a_flood_leaves_the_loop_time_for_all(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """In each turn of the loop only few are accepted: asyncio alone would take all that wait."""
    flood = 200

    async def accepted_in_each_turn() -> list[int]:
        connection_limits = ConnectionLimits(Limits())
        with contextlib.ExitStack() as clients, listening_socket(Config()) as listener:
            for _ in range(flood):
                clients.enter_context(socket.create_connection(listener.getsockname()))
            counts = []
            async with websocket_server(
                listener, AccessControl(None, None), connection_limits, converse_with_nobody
            ):
                async with asyncio.timeout(TIMEOUT):
                    while len(connection_limits) < flood:
                        counts.append(len(connection_limits))
                        await asyncio.sleep(0)
                counts.append(len(connection_limits))
                connection_limits.stop()
        return [after - before for before, after in itertools.pairwise(counts)]

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        accepted = runner.run(accepted_in_each_turn())
    assert sum(accepted) == flood
    assert max(accepted) <= 20


@pytest.mark.parametrize("header", [b"", b"PROXY TCP4 203.0.113.7 203.0.113.8 4711 7733\r\n"])
async def test_requests_that_come_together_leave_the_loop_time_for_all_else(header: bytes) -> None:
    """In each turn of the loop only few are read: each costs as much as several messages."""
    connection_limits = ConnectionLimits(Limits())
    proxies = (
        TrustedProxies((ipaddress.ip_network("127.0.0.1"),), header=True) if header else TrustedProxies()
    )

    def read() -> int:
        if header:
            return sum(known.forwarded for known in connection_limits._open.values())
        return sum(connection.request is not None for connection in connection_limits._open)

    with contextlib.ExitStack() as clients, listening_socket(Config()) as listener:
        for _ in range(60):
            client = clients.enter_context(socket.create_connection(listener.getsockname()))
            client.sendall(header + UPGRADE)
        async with websocket_server(
            listener,
            AccessControl(None, None, proxies),
            connection_limits,
            ServerConnection.wait_closed,
        ):
            counts = [0]
            async with asyncio.timeout(TIMEOUT):
                while counts[-1] < 60:
                    await asyncio.sleep(0)
                    counts.append(read())
            clients.close()
    assert max(after - before for before, after in itertools.pairwise(counts)) <= 8


async def test_a_reader_that_adds_others_leaves_the_loop_its_time() -> None:
    """The first one to be read adds the others when nobody else waits, as a PROXY header's reader may."""
    connection_limits, read = ConnectionLimits(Limits()), list[int]()

    def add_others() -> None:
        for number in range(40):
            connection_limits.read_in_turn(Mock(remote=UNKNOWN), partial(read.append, number))

    connection_limits.read_in_turn(Mock(remote=UNKNOWN), add_others)
    counts = [0]
    while counts[-1] < 40:
        await asyncio.sleep(0)
        counts.append(len(read))
    assert max(after - before for before, after in itertools.pairwise(counts)) == 4


async def converse_with_nobody(_: ServerConnection) -> None:
    raise AssertionError


async def test_connections_that_come_while_the_server_stops_are_cut() -> None:
    """Some are accepted before it has stopped listening, and could wait for long."""
    limits = Limits(hello_seconds=TIMEOUT * 5)
    connection_limits = ConnectionLimits(limits)
    with listening_socket(Config()) as listener:
        async with websocket_server(
            listener, AccessControl(None, None), connection_limits, converse_with_nobody
        ):
            connection_limits.stop()
            assert await exchange(listener.getsockname()[1]) == b""


async def test_a_web_page_is_refused() -> None:
    """An Origin header means a web page, which could play with its visitor's seat."""
    async with memory_server() as server:
        assert await upgrade_status(server.port, origin="http://evil.example") == 403


async def test_frames_are_neither_held_back_nor_compressed() -> None:
    """Nagle's algorithm would delay each move by 40 ms, and a compressed bomb could expand."""
    async with (
        memory_server() as server,
        connect(f"ws://127.0.0.1:{server.port}", compression="deflate", proxy=None) as client,
    ):
        assert not client.protocol.extensions
        await Peer(client).hello()
        (session,) = server.clients
        accepted = session.connection.transport.get_extra_info("socket")
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(
    "flood",
    [frame(0x9), frame(0xA, b"x"), frame(0x2, b"\xc1")],
    ids=["pings", "pongs", "malformed messages"],
)
async def test_who_floods_and_never_reads_is_cut_off(caplog: pytest.LogCaptureFixture, flood: bytes) -> None:
    """Megabytes of tiny frames end their connection, and no warning is logged."""
    hello = encode(Hello([1], "flood"))
    async with undisturbed_server(caplog, close_seconds=0.1, rate=1000.0) as (server, player):
        async with asyncio.timeout(TIMEOUT):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(UPGRADE + frame(0x2, hello))
            with contextlib.suppress(ConnectionError):
                while not writer.is_closing():
                    writer.write(flood * (100_000 // len(flood)))
                    await writer.drain()
                    await player.nothing_but_pong()
            writer.close()
            with contextlib.suppress(ConnectionError):
                await reader.read()
                await writer.wait_closed()
