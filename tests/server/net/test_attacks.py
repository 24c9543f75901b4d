"""Attacks, one at a time: the other tables play on, and the server keeps nothing of the attacker."""

import asyncio
import contextlib
import gc
import random
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from protocol.codec import encode
from protocol.limits import VERSIONS
from protocol.messages import Hello, JoinTable, Leave, OpenTable, Ping, TableState
from server.app import Running, running
from server.config import Config, Limits
from server.conversation import Conversation
from server.net.connections.limited_connection import LimitedConnection
from server.net.session import Session
from server.tables.table import Table
from tests.server.peer import (
    TIMEOUT,
    UPGRADE,
    Peer,
    check_views,
    connected,
    eventually,
    exchange,
    frame,
    game,
    memory_server,
    play_on,
    table_of,
)

KEPT_TYPES = {LimitedConnection, Conversation, Session, Table, asyncio.Task}


def count_objects(*, in_cycles: bool = True) -> Counter[str]:
    """Count the objects that the server keeps for each client and table; some are in cycles not yet found."""
    if not in_cycles:
        gc.collect()
    return Counter(type(each).__name__ for each in gc.get_objects() if type(each) in KEPT_TYPES)


@contextlib.asynccontextmanager
async def under_attack(**limits: float) -> AsyncIterator[tuple[Running, list[Peer]]]:
    """Serve a game that must not be disturbed; fail if the attack leaves anything behind."""
    limits = {"close_seconds": 0.1, **limits}
    async with memory_server(**limits) as server, game(server.port, 2) as players:
        await play_on(players, random.Random(1), moves=2)
        before = count_objects(in_cycles=False)
        yield server, players
        await play_on(players, random.Random(2))
        check_views(table_of(server, players), players)
        await eventually(lambda: list(server.lobby.tables) == [players[0].code])
        await eventually(lambda: count_objects(in_cycles=False) == before)


def reset(writer: asyncio.StreamWriter) -> None:
    """End a connection without a goodbye."""
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


HELLO = frame(0x2, encode(Hello(list(VERSIONS), "attacker")))


async def test_an_unfinished_request_or_message_ends_the_connection() -> None:
    """Requests and messages that are never completed time out: no hello, a frame's head, or its beginning."""
    async with under_attack(hello_seconds=0.2) as (server, _), asyncio.TaskGroup() as tasks:
        for rest in (b"", b"\x82", b"\x82\xfe\x20\x00" + bytes(1000)):
            tasks.create_task(exchange(server.port, UPGRADE + rest))
        tasks.create_task(exchange(server.port, UPGRADE[:40]))


async def test_a_half_open_connection_is_closed() -> None:
    """A player whose connection vanishes without closing answers no ping, and is shown as away."""
    async with (
        under_attack(ping_seconds=0.2, seat_grace_seconds=0.0) as (server, _),
        connected(server.port) as host,
    ):
        await host.open(2)
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        join = JoinTable(1, host.code, "Vanished")
        writer.write(UPGRADE + HELLO + frame(0x2, encode(join)))
        for here in (True, False):
            while (await host.until(TableState)).seats[1].here is not here:
                pass
        writer.transport.abort()


async def test_the_seat_of_a_connection_that_is_reset_is_away_at_once() -> None:
    """Though it has sent what would be read for minutes."""
    async with under_attack(rate=0.01, seat_grace_seconds=0.0) as (server, _), connected(server.port) as host:
        await host.open(2)
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        join = JoinTable(1, host.code, "Reset")
        pings = frame(0x2, encode(Ping(2))) * 300
        writer.write(UPGRADE + HELLO + frame(0x2, encode(join)) + pings)
        while not (await host.until(TableState)).seats[1].here:
            pass
        reset(writer)
        while (await host.until(TableState)).seats[1].here:
            pass
        await host.done(Leave(3))


async def test_a_closed_connection_does_not_wait_for_its_answer() -> None:
    """A wrong password is answered late, and the server's task ends with the connection."""
    config = Config(password="right", limits=Limits(wrong_password_seconds=TIMEOUT * 5))  # noqa: S106 - a test's own
    async with running(config) as server:
        before = count_objects(in_cycles=False)
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(UPGRADE + frame(0x2, encode(Hello(list(VERSIONS), "guess", "wrong"))))
        await eventually(lambda: count_objects(in_cycles=False)[Conversation.__name__] == 1)
        reset(writer)
        await eventually(lambda: count_objects(in_cycles=False) == before)


BEGINNINGS = [
    *(b"", b"no HTTP\r\n", UPGRADE, UPGRADE + b"\xff" * 20, b"GET / HTTP/1.1\r\nHost: here\r\n"),
    *(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n", UPGRADE + HELLO + frame(0x2, encode(OpenTable(1, 2, "Anna")))),
]


@pytest.mark.parametrize("said", BEGINNINGS, ids=range(len(BEGINNINGS)))
async def test_a_connection_that_ends_is_freed_without_a_search_for_cycles(said: bytes) -> None:
    """Python would find it late, and its memory would pile up in the meantime."""
    async with memory_server(seat_grace_seconds=0.0, close_seconds=0.1) as server:
        before = count_objects(in_cycles=False)
        gc.disable()
        try:
            for end in (reset, asyncio.StreamWriter.close):
                for _ in range(3):
                    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                    writer.write(said)
                    if said:
                        with contextlib.suppress(TimeoutError):  # half a request has no answer
                            async with asyncio.timeout(0.05):
                                await reader.read(1)
                    end(writer)
            del reader, writer
            await eventually(lambda: count_objects() == before)
        finally:
            gc.enable()
