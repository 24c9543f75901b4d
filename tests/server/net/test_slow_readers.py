"""Clients that do not read: dropped once too much waits for them, and nobody is delayed."""

import asyncio
import contextlib

from protocol.codec import encode
from protocol.messages import ListTables, OpenTable, Say, TableState, Watch
from server.tables.table import Table
from tests.server.peer import (
    TIMEOUT,
    Peer,
    client_that_never_reads,
    connected,
    frame,
    full_table,
    memory_server,
    table_of,
)

MOST = 20_000  # bytes that may wait for a client


async def test_a_client_that_never_reads_is_dropped_and_delays_nobody() -> None:
    """The talk goes on at once while frames pile up for it; then it is gone, and the others are told."""
    async with (
        memory_server(outgoing_bytes=MOST, burst=10**6) as server,
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
            await host.done(Say(host.next_id(), "x" * 200))
            slowest = max(slowest, clock() - began)
            for spectator in audience.spectators:
                assert spectator.connection.transport.get_write_buffer_size() < MOST + 1000
        assert slowest < TIMEOUT / 4
        for peer in peers:
            while _spectators(peer) != 1:
                await peer.receive()


def _spectators(peer: Peer) -> int:
    return [message.spectators for message in peer.received if isinstance(message, TableState)][-1]


async def test_a_client_that_asks_much_and_reads_nothing_is_dropped() -> None:
    """Answers that it asked for itself count too."""
    async with (
        memory_server(outgoing_bytes=MOST, burst=10**6) as server,
        connected(server.port) as other,
        client_that_never_reads(server.port, OpenTable(1, 2, "Deaf")) as deaf_one,
    ):
        list_of_tables = frame(0x2, encode(ListTables(1)))
        async with asyncio.timeout(TIMEOUT):
            while not deaf_one.transport.is_closing():
                deaf_one.write(list_of_tables * 100)
                await asyncio.sleep(0)
                await other.nothing_but_pong()


async def fill(table: Table, host: Peer) -> None:
    """Talk until much, but not too much, waits for who watches; on a slow machine they may be gone before."""
    audience = table._context.audience
    while any(each.connection.transport.get_write_buffer_size() < 100_000 for each in audience.spectators):
        await host.done(Say(host.next_id(), "x" * 200))


async def test_a_client_that_never_reads_is_missed_by_its_pongs() -> None:
    """Though less waits for it than it may let wait: it answers no ping."""
    async with (
        memory_server(burst=10**6, ping_seconds=0.3, close_seconds=0.1) as server,
        full_table(server.port, 2) as (host, other),
        client_that_never_reads(server.port, Watch(1, host.code)),
    ):
        assert (await host.until(TableState)).spectators == 1
        await fill(table_of(server, [host]), host)
        while _spectators(host) != 0:
            await host.receive()
        await other.done(Say(other.next_id(), "still here"))


async def test_a_client_that_never_reads_does_not_delay_the_end() -> None:
    """The server says goodbye and does not wait for it to be read."""
    clock = asyncio.get_running_loop().time
    async with contextlib.AsyncExitStack() as clients:
        async with memory_server(burst=10**6, ping_seconds=1000.0, close_seconds=0.1) as server:
            host, _ = await clients.enter_async_context(full_table(server.port, 2))
            await clients.enter_async_context(client_that_never_reads(server.port, Watch(1, host.code)))
            assert (await host.until(TableState)).spectators == 1
            await fill(table_of(server, [host]), host)
            began = clock()
        assert clock() - began < TIMEOUT / 2
