"""A connection from hello to close; browsers, scanners and floods, and what they can do to it."""

import asyncio
import contextlib
import ipaddress
import itertools
import logging
import socket
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any
from unittest.mock import AsyncMock, Mock

import msgpack
import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection
from websockets.frames import Frame, Opcode

from protocol.codec import encode
from protocol.codes import CloseCode, CloseReason, Code
from protocol.limits import CLIENT_FRAME_BYTES, VERSIONS
from protocol.messages import Hello, ListTables, Ping, Pong, Refused, Say, TableState, Watch
from server.app import Running, running
from server.config import Config, Limits
from server.limits.banned import BannedNetworks
from server.net.access import AccessControl
from server.net.addresses import UNKNOWN
from server.net.connections import connection_limits as freeing
from server.net.connections.connection_limits import ConnectionLimits
from server.net.connections.limited_connection import ReceivedMessages
from server.net.event_loop import new_loop
from server.net.listener import listening_socket, websocket_server
from server.net.proxies import TrustedProxies
from server.net.session import in_frame
from server.net.tokens import new_code
from tests.server.peer import (
    TIMEOUT,
    UPGRADE,
    Peer,
    all_connected,
    client_that_never_reads,
    connected,
    connected_without_hello,
    eventually,
    exchange,
    frame,
    upgrade_status,
)
from tests.server.playing import full_table, game, memory_server, table_of


def pack(**fields: Any) -> bytes:
    content: bytes = msgpack.packb(fields)
    return content


@pytest.mark.parametrize(
    ("first", "code", "reason"),
    [
        (encode(Hello([998, 999], "test")), Code.NO_COMMON_VERSION, CloseReason.NO_COMMON_VERSION),
        (encode(Ping(5)), Code.HELLO_FIRST, ""),
        (pack(t="hello", versions=[True], client="test"), Code.BAD_MESSAGE, ""),
        (encode(Hello(list(VERSIONS), "test")), Code.PASSWORD_NEEDED, ""),
        (encode(Hello(list(VERSIONS), "test", "")), Code.BAD_PASSWORD, ""),
        (encode(Hello(list(VERSIONS), "test", "opem")), Code.BAD_PASSWORD, ""),
    ],
)
async def test_without_a_valid_hello_and_the_password_nobody_comes_in(
    first: bytes, code: Code, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    config = Config(password="open", limits=Limits(wrong_password_seconds=0))  # noqa: S106 - a test's own
    async with running(config) as server, connected_without_hello(server.port) as peer:
        await peer.socket.send(first)
        refused = await peer.receive()
        assert isinstance(refused, Refused)
        assert refused.code == code
        assert refused.versions == (list(VERSIONS) if code == Code.NO_COMMON_VERSION else None)
        closed = await peer.closed()
        assert (closed[0], reason in closed[1]) == (CloseCode.POLICY_VIOLATION, True)
    assert not [record for record in caplog.records if record.levelname in {"WARNING", "ERROR"}]


async def test_who_is_silent_is_disconnected_unless_at_a_table() -> None:
    """Before a hello, and in the lobby; even a busy machine opens a table in that time."""
    async with (
        memory_server(hello_seconds=0.5, lobby_idle_seconds=0.5) as server,
        connected(server.port) as peer,
    ):
        await peer.open(2)
        async with connected(server.port) as idle, connected_without_hello(server.port) as silent:
            assert (await idle.closed())[0] == CloseCode.NORMAL
            assert await silent.closed() == (CloseCode.POLICY_VIOLATION, CloseReason.NO_HELLO)
        await peer.until(TableState)
        await peer.nothing_but_pong()


async def test_a_message_may_come_in_fragments_and_not_as_text_or_too_long() -> None:
    async with memory_server() as server, connected(server.port) as peer, connected(server.port) as other:
        whole = pack(t="ping", id=7)
        await peer.socket.send([whole[:3], whole[3:5], whole[5:]])
        assert await peer.receive() == Pong(7)
        await peer.socket.send([b"\xc1" * 5000, b"\xc1" * 5000])
        assert (await peer.closed())[0] == 1009
        other.socket.transport.write(b"\x02" + frame(0x2)[1:] + frame(0x2, whole))
        assert (await other.closed())[0] == 1002
        async with connected(server.port) as one, connected(server.port) as large:
            await one.send(Hello(list(VERSIONS), "again"))
            assert (await one.until(Refused)).code == Code.HELLO_TWICE
            await one.nothing_but_pong()
            await one.socket.send('{"t": "ping", "id": 1}')
            assert (await one.closed())[0] == CloseCode.UNSUPPORTED_DATA
            await large.socket.send(b"\xc1" * CLIENT_FRAME_BYTES)
            assert isinstance(await large.receive(), Refused)
            await large.socket.send(b"\xc1" * (CLIENT_FRAME_BYTES + 1))
            assert (await large.closed())[0] == 1009


@pytest.mark.parametrize("fragments", [17, 8000])
async def test_too_many_fragments(caplog: pytest.LogCaptureFixture, fragments: int) -> None:
    empty = frame(0x0)[1:]
    async with (
        memory_server(close_seconds=0.1) as server,
        connected_without_hello(server.port) as peer,
        connected(server.port) as other,
    ):
        peer.socket.transport.write(b"\x02" + empty + (b"\x00" + empty) * (fragments - 2) + b"\x80" + empty)
        assert await peer.closed() == (1009, "too many fragments")
        await other.nothing_but_pong()
    assert not [record for record in caplog.records if record.levelname in {"WARNING", "ERROR"}]


async def test_connections_from_one_address_share_a_rate() -> None:
    limits = {"burst_per_address": 10, "rate_per_address": 100.0}
    async with memory_server(**limits) as server, all_connected(server.port, 2) as (one, other):
        loop = asyncio.get_running_loop()
        began = loop.time()
        for number in range(30):
            await one.send(Ping(number))
            await other.send(Ping(number))
        for peer in (one, other):
            assert [await peer.receive() for _ in range(30)] == [Pong(number) for number in range(30)]
        assert loop.time() - began >= 0.45


class ReadingStops(asyncio.Transport):
    """A transport that only knows whether it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = True

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True


async def test_messages_that_nobody_reads_stop_the_reading_and_are_not_lost() -> None:
    transport = ReadingStops()
    received = ReceivedMessages(transport)
    first = asyncio.create_task(received.get())
    await asyncio.sleep(0)
    first.cancel()
    for number in range(16):
        received.add(bytes([number]))
        assert transport.reads
    received.put(Frame(Opcode.TEXT, b"\xff"))
    assert not transport.reads
    received.close()
    assert [await received.get() for _ in range(16)] == [bytes([number]) for number in range(16)]
    with pytest.raises(UnicodeDecodeError):
        await received.get()
    assert transport.reads
    with pytest.raises(EOFError):
        await received.get()


async def test_ten_malformed_frames_end_the_connection() -> None:
    async with memory_server() as server, connected(server.port) as peer, connected(server.port) as other:
        for malformed in (b"\xc1", pack(t="ping", id=7, more=1)) * 5:
            await peer.socket.send(malformed)
        refusals = [await peer.receive() for _ in range(10)]
        assert [getattr(each, "code", None) for each in refusals] == [Code.BAD_MESSAGE] * 10
        assert [getattr(each, "id", 0) for each in refusals] == [None, 7] * 5
        assert await peer.closed() == (CloseCode.POLICY_VIOLATION, CloseReason.TOO_MANY_BAD_MESSAGES)
        await other.nothing_but_pong()


@pytest.mark.parametrize("fragments", [0, 3])
async def test_a_flood_is_slowed_without_loss_and_delays_nobody_else(fragments: int) -> None:
    async with memory_server(burst=10, rate=100.0) as server, game(server.port, 2) as (flooder, other):
        loop = asyncio.get_running_loop()
        began, many = loop.time(), 12 if fragments else 60
        for number in range(many):
            whole = pack(t="ping", id=number)
            await flooder.socket.send([whole[:1], *[b""] * fragments, whole[1:]] if fragments else whole)
        await other.nothing_but_pong()
        others_wait = loop.time() - began
        assert [await flooder.receive() for _ in range(many)] == [Pong(number) for number in range(many)]
        took = loop.time() - began
        assert took >= 0.45  # 50 frames beyond the burst, or a few less for what refilled: 100 a second
        assert others_wait < took


async def test_connections_beyond_the_limit_get_a_polite_503() -> None:
    async with memory_server(connections=2) as server, connected(server.port) as staying:
        async with connected(server.port):
            answer = await exchange(server.port, UPGRADE)
            assert answer.startswith(b"HTTP/1.1 503 ")
            assert b"no room" in answer
        while await upgrade_status(server.port) != 101:  # the server may not have noticed yet
            pass
        await staying.nothing_but_pong()


MOST_QUEUED = 20_000  # bytes for one client
MANY_MESSAGES = dict.fromkeys(("burst", "burst_per_address", "chat_per_table", "chat_per_address"), 10**6)


async def test_a_client_that_never_reads_is_dropped_and_delays_nobody() -> None:
    async with (
        memory_server(outgoing_bytes=MOST_QUEUED, **MANY_MESSAGES) as server,
        full_table(server.port, 2, watched=True) as peers,
        client_that_never_reads(server.port, Watch(1, peers[0].code)),
    ):
        host = peers[0]
        assert (await host.until(TableState)).spectators == 2
        audience = table_of(server, peers)._context.audience
        clock = asyncio.get_running_loop().time
        slowest = 0.0
        while len(audience.spectators) == 2:
            began = clock()
            await host.done(Say, "x" * 200)
            slowest = max(slowest, clock() - began)
            for spectator in audience.spectators:
                assert spectator.connection.transport.get_write_buffer_size() < MOST_QUEUED + 1000
        assert slowest < TIMEOUT / 4
        for peer in peers:
            while peer.told(TableState)[-1].spectators != 1:
                await peer.receive()


@pytest.mark.slow
async def test_a_client_that_never_reads_does_not_delay_the_shutdown() -> None:
    clock = asyncio.get_running_loop().time
    async with contextlib.AsyncExitStack() as clients:
        async with memory_server(**MANY_MESSAGES, ping_seconds=1000.0, close_seconds=0.1) as server:
            host, _ = await clients.enter_async_context(full_table(server.port, 2))
            await clients.enter_async_context(client_that_never_reads(server.port, Watch(1, host.code)))
            assert (await host.until(TableState)).spectators == 1
            watching = table_of(server, [host])._context.audience.spectators
            # Until much is queued for them, or a slow machine has dropped them.
            while any(each.connection.transport.get_write_buffer_size() < 100_000 for each in watching):
                await host.done(Say, "x" * 200)
            began = clock()
        assert clock() - began < TIMEOUT / 2


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65_535, 65_536])
def test_a_frame_is_what_the_library_would_send(size: int) -> None:
    payload = b"x" * size
    assert in_frame(payload) == Frame(Opcode.BINARY, payload).serialize(mask=False)


def test_a_code_is_given_to_one_table() -> None:
    class Taken:
        def __contains__(self, code: object) -> bool:
            return not str(code).startswith("B")

    assert new_code(Taken(), private=False).startswith("B")


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
        for _ in range(20):  # two that come together are answered once
            answer = await exchange(server.port, GET * 2)
            assert answer.count(b"HTTP/1.1 ") == 1
            assert answer.startswith(b"HTTP/1.1 426 ")
        # An Origin header means a web page, which could play with its visitor's seat.
        assert await upgrade_status(server.port, origin="http://evil.example") == 403


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
    async with (
        undisturbed_server(caplog, hello_seconds=0.2, close_seconds=0.1) as (server, _),
        asyncio.TaskGroup() as tasks,
    ):
        for pieces in GARBAGE:
            tasks.create_task(exchange(server.port, *pieces))


@pytest.mark.parametrize("line", [b"y" * 100_000, b"X: " + b"y" * 900 + b"\r\n"], ids=["one line", "lines"])
async def test_a_long_request_is_refused_early(caplog: pytest.LogCaptureFixture, line: bytes) -> None:
    async with undisturbed_server(caplog, hello_seconds=TIMEOUT * 5, close_seconds=0.1) as (server, _):
        answer = await exchange(server.port, b"GET / HTTP/1.1\r\n" + line * 10)
        assert answer.startswith(b"HTTP/1.1 431 ")


async def test_a_client_that_is_too_fast_is_disconnected(caplog: pytest.LogCaptureFixture) -> None:
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
    given_back: list[bool] = []
    monkeypatch.setattr(freeing, "_SECONDS_FOR_OTHERS", 0.0)
    monkeypatch.setattr(freeing, "give_memory_back", lambda: given_back.append(True))
    async with memory_server() as server:
        for _ in range(120):
            await exchange(server.port, GET)
        await eventually(lambda: given_back == [True, True])


@pytest.mark.parametrize("loop_factory", [asyncio.new_event_loop, new_loop], ids=["Python's", "the server's"])
def test_a_flood_leaves_the_loop_time_for_all(loop_factory: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """In each turn of the loop only few are accepted: asyncio alone would take all that wait."""
    flood = 200

    async def accepted_in_each_turn() -> list[int]:
        connection_limits = ConnectionLimits(Limits(), BannedNetworks())
        with contextlib.ExitStack() as clients, listening_socket(Config()) as listener:
            for _ in range(flood):
                clients.enter_context(socket.create_connection(listener.getsockname()))
            counts = []
            async with websocket_server(
                listener, AccessControl(None, None), connection_limits, AsyncMock(side_effect=AssertionError)
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
    connection_limits = ConnectionLimits(Limits(), BannedNetworks())
    here = (ipaddress.ip_network("127.0.0.1"),)
    proxies = TrustedProxies(here, header=True) if header else TrustedProxies()

    def read() -> int:
        if header:
            return sum(connection.forwarded for connection in connection_limits._open)
        return sum(connection.request is not None for connection in connection_limits._open)

    with contextlib.ExitStack() as clients, listening_socket(Config()) as listener:
        for _ in range(60):
            client = clients.enter_context(socket.create_connection(listener.getsockname()))
            client.sendall(header + UPGRADE)
        async with websocket_server(
            listener, AccessControl(None, None, proxies), connection_limits, ServerConnection.wait_closed
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
    connection_limits, read = ConnectionLimits(Limits(), BannedNetworks()), list[int]()

    def add_others() -> None:
        for number in range(40):
            connection_limits.read_in_turn(Mock(remote=UNKNOWN), partial(read.append, number))

    connection_limits.read_in_turn(Mock(remote=UNKNOWN), add_others)
    counts = [0]
    while counts[-1] < 40:
        await asyncio.sleep(0)
        counts.append(len(read))
    assert max(after - before for before, after in itertools.pairwise(counts)) == 4


async def test_connections_that_come_while_the_server_stops_are_cut() -> None:
    """Some are accepted before it has stopped listening, and could wait for long."""
    limits = Limits(hello_seconds=TIMEOUT * 5)
    connection_limits = ConnectionLimits(limits, BannedNetworks())
    with listening_socket(Config()) as listener:
        async with websocket_server(
            listener, AccessControl(None, None), connection_limits, AsyncMock(side_effect=AssertionError)
        ):
            connection_limits.stop()
            assert await exchange(listener.getsockname()[1]) == b""


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
    "flood", [frame(0x9), frame(0xA, b"x"), frame(0x2, b"\xc1")], ids=["pings", "pongs", "malformed messages"]
)
async def test_who_floods_and_never_reads_is_cut_off(caplog: pytest.LogCaptureFixture, flood: bytes) -> None:
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
