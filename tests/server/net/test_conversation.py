"""A connection from hello to close, and what a misbehaving client can do to it."""

import asyncio
import contextlib
from typing import Any

import msgpack
import pytest
from websockets.frames import Frame, Opcode

from protocol.codec import encode
from protocol.codes import CloseCode, CloseReason, Code
from protocol.limits import CLIENT_FRAME_BYTES, VERSIONS
from protocol.messages import Hello, Ping, Pong, Refused, Say, TableState, Watch
from server.app import running
from server.config import Config, Limits
from server.net.connections.limited_connection import ReceivedMessages
from server.net.session import in_frame
from server.net.tokens import new_code
from server.tables.table import Table
from tests.server.peer import (
    TIMEOUT,
    UPGRADE,
    Peer,
    client_that_never_reads,
    connected,
    connected_without_hello,
    exchange,
    frame,
    full_table,
    game,
    memory_server,
    table_of,
    upgrade_status,
)


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
    """The refusal lists the versions if none is common; the connection ends, and no error is logged."""
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


async def test_hello_is_sent_only_once() -> None:
    """A second hello is refused and changes nothing."""
    async with memory_server() as server, connected(server.port) as peer:
        await peer.send(Hello(list(VERSIONS), "again"))
        assert (await peer.until(Refused)).code == Code.HELLO_TWICE
        await peer.nothing_but_pong()


async def test_a_client_that_sends_no_hello_is_disconnected() -> None:
    """A silent connection ends after the hello time, in which even a busy machine opens it."""
    async with memory_server(hello_seconds=0.5) as server, connected_without_hello(server.port) as peer:
        assert await peer.closed() == (CloseCode.POLICY_VIOLATION, CloseReason.NO_HELLO)


async def test_a_client_at_a_table_may_be_idle() -> None:
    """The lobby's idle time does not apply at a table."""
    async with memory_server(lobby_idle_seconds=0.5) as server, connected(server.port) as peer:
        await peer.open(2)
        async with connected(server.port) as idle:
            assert (await idle.closed())[0] == CloseCode.NORMAL
        await peer.until(TableState)
        await peer.nothing_but_pong()


async def test_frames_that_end_the_connection() -> None:
    """One with text, and one that is a byte longer than the largest, which is read."""
    async with memory_server() as server, connected(server.port) as one, connected(server.port) as other:
        await one.socket.send('{"t": "ping", "id": 1}')
        assert (await one.closed())[0] == CloseCode.UNSUPPORTED_DATA
        await other.socket.send(b"\xc1" * CLIENT_FRAME_BYTES)
        assert isinstance(await other.receive(), Refused)
        await other.socket.send(b"\xc1" * (CLIENT_FRAME_BYTES + 1))
        assert (await other.closed())[0] == 1009


async def test_a_message_may_come_in_fragments() -> None:
    """Fragments are joined; nothing comes between, and together they do not exceed the size of a frame."""
    async with memory_server() as server, connected(server.port) as peer, connected(server.port) as other:
        whole = pack(t="ping", id=7)
        await peer.socket.send([whole[:3], whole[3:5], whole[5:]])
        assert await peer.receive() == Pong(7)
        await peer.socket.send([b"\xc1" * 5000, b"\xc1" * 5000])
        assert (await peer.closed())[0] == 1009
        other.socket.transport.write(b"\x02" + frame(0x2)[1:] + frame(0x2, whole))
        assert (await other.closed())[0] == 1002


@pytest.mark.parametrize("fragments", [17, 8000])
async def test_too_many_fragments(caplog: pytest.LogCaptureFixture, fragments: int) -> None:
    """Empty ones count too, even before a hello. No error is logged."""
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
    """However many they are, they are read no faster together."""
    limits = {"burst_per_address": 10, "rate_per_address": 100.0}
    async with (
        memory_server(**limits) as server,
        connected(server.port) as one,
        connected(server.port) as other,
    ):
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
    """Each is refused, with its id if it could be read; the tenth ends that connection alone."""
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
    """Messages beyond the burst are read in order at the permitted rate, and each fragment counts as one."""
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
    """A connection that ends makes room for another."""
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
    """Chat goes on without delay while frames pile up, and the others learn that the client is gone."""
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


async def fill_queues(table: Table, host: Peer) -> None:
    """Chat until much is queued for the spectators, or until a slow machine has dropped them."""
    audience = table._context.audience
    while any(each.connection.transport.get_write_buffer_size() < 100_000 for each in audience.spectators):
        await host.done(Say, "x" * 200)


async def test_a_client_that_never_reads_does_not_delay_the_shutdown() -> None:
    """The server closes the connection and does not wait for the client to read."""
    clock = asyncio.get_running_loop().time
    async with contextlib.AsyncExitStack() as clients:
        async with memory_server(**MANY_MESSAGES, ping_seconds=1000.0, close_seconds=0.1) as server:
            host, _ = await clients.enter_async_context(full_table(server.port, 2))
            await clients.enter_async_context(client_that_never_reads(server.port, Watch(1, host.code)))
            assert (await host.until(TableState)).spectators == 1
            await fill_queues(table_of(server, [host]), host)
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
