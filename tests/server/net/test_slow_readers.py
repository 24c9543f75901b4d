"""Clients that do not read are dropped once too much is queued for them, and delay nobody."""

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
            await host.done(Say(host.next_id(), "x" * 200))
            slowest = max(slowest, clock() - began)
            for spectator in audience.spectators:
                assert spectator.connection.transport.get_write_buffer_size() < MOST_QUEUED + 1000
        assert slowest < TIMEOUT / 4
        for peer in peers:
            while _spectators(peer) != 1:
                await peer.receive()


def _spectators(peer: Peer) -> int:
    return [message.spectators for message in peer.received if isinstance(message, TableState)][-1]


async def test_a_client_that_never_reads_its_answers_is_dropped() -> None:
    """Answers to the client's own requests count towards its limit."""
    async with (
        memory_server(outgoing_bytes=MOST_QUEUED, **MANY_MESSAGES) as server,
        connected(server.port) as other,
        client_that_never_reads(server.port, OpenTable(1, 2, "Anna")) as writer,
    ):
        list_of_tables = frame(0x2, encode(ListTables(1)))
        async with asyncio.timeout(TIMEOUT):
            while not writer.transport.is_closing():
                writer.write(list_of_tables * 100)
                await asyncio.sleep(0)
                await other.nothing_but_pong()


async def fill_queues(table: Table, host: Peer) -> None:
    """Chat until much is queued for the spectators, or until a slow machine has dropped them."""
    audience = table._context.audience
    while any(each.connection.transport.get_write_buffer_size() < 100_000 for each in audience.spectators):
        await host.done(Say(host.next_id(), "x" * 200))


async def test_a_client_that_never_reads_is_dropped_without_pongs() -> None:
    """It is dropped below the limit of its queue, as it does not answer pings."""
    async with (
        memory_server(**MANY_MESSAGES, ping_seconds=0.3, close_seconds=0.1) as server,
        full_table(server.port, 2) as (host, other),
        client_that_never_reads(server.port, Watch(1, host.code)),
    ):
        assert (await host.until(TableState)).spectators == 1
        await fill_queues(table_of(server, [host]), host)
        while _spectators(host) != 0:
            await host.receive()
        await other.done(Say(other.next_id(), "still here"))


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
