"""A stranger at a player's own address, behind the same router or proxy, does not shut the player out."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest
from websockets.exceptions import InvalidStatus

from protocol.codec import encode
from protocol.codes import Code
from protocol.messages import Hello, Leave, OpenTable, Ping, Snapshot, TableState
from server.net.connections import address
from tests.server.peer import (
    HERE,
    TIMEOUT,
    UPGRADE,
    Peer,
    connected,
    connected_without_hello,
    eventually,
    frame,
    full_table,
    game,
    memory_server,
)

Stranger = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextlib.asynccontextmanager
async def strangers(
    port: int, number: int, said: bytes = UPGRADE, source: str = HERE
) -> AsyncIterator[list[Stranger]]:
    """Open connections and say the same on each."""
    opened = []
    for _ in range(number):
        opened.append(await asyncio.open_connection(HERE, port, local_addr=(source, 0)))
        opened[-1][1].write(said)
        if said:
            await opened[-1][0].readuntil(b"\r\n\r\n")
    yield opened
    for _, writer in opened:
        writer.transport.abort()


async def cut(stranger: Stranger) -> None:
    """Wait until the server has cut the connection."""
    async with asyncio.timeout(TIMEOUT):
        with contextlib.suppress(ConnectionError):
            while await stranger[0].read(65536):
                pass


async def test_a_player_does_not_wait_for_strangers_at_the_same_address() -> None:
    """Ten of them fill what their address may send; a player's message is read next."""
    flood = UPGRADE + frame(0x2, encode(Hello([1], "flood"))) + frame(0x2, encode(Ping(1))) * 90
    async with (
        memory_server(burst_per_address=100, rate_per_address=40.0) as server,
        game(server.port, 2) as players,
        strangers(server.port, 10, flood),
    ):
        counts = server.lobby.counts
        await eventually(lambda: counts.messages > 90)  # so that from now on everyone waits
        before = counts.messages
        for _ in range(8):
            for player in players:
                await player.nothing_but_pong()
        assert counts.messages - before < 16 + 60, "the strangers' turns came first"


async def test_a_player_comes_back_among_strangers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The stranger's connection that was there longest is cut; those of players are not."""
    async with (
        memory_server(connections_per_address=10, hello_seconds=TIMEOUT * 5) as server,
        game(server.port, 2) as (gone, other),
    ):
        await gone.socket.close()
        async with strangers(server.port, 9) as opened:
            with pytest.raises(InvalidStatus):  # strangers too have a moment to sit down
                async with connected_without_hello(server.port):
                    pass
            monkeypatch.setattr(address, "_SECONDS_TO_SIT_DOWN", 0.0)
            async with connected(server.port) as back:
                await cut(opened[0])
                await back.resume(gone.code, gone.token)
                while not (await other.until(TableState)).seats[0].here:
                    pass
                await back.until(Snapshot)
                async with strangers(server.port, 20):
                    for player in (back, other):
                        await player.nothing_but_pong()


async def test_seats_do_not_use_up_all_connections_of_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some stay for those who come back; the one who came back first makes room for the next."""
    monkeypatch.setattr(address, "_SECONDS_TO_SIT_DOWN", 0.0)
    async with (
        memory_server(connections_per_address=8) as server,
        game(server.port, 3) as first,
        game(server.port, 3) as second,
        connected(server.port) as another,
    ):
        assert await another.refusal(OpenTable(1, 2, "Seventh")) == Code.TOO_MANY_SEATS
        away = [first[0], second[0]]
        for peer in away:
            await peer.socket.close()
        await eventually(lambda: len(server.lobby.tables[second[0].code]._context.audience) == 2)
        async with full_table(server.port, 2):
            returned: list[Peer] = []
            async with contextlib.AsyncExitStack() as stack:
                for peer in away:
                    back = await stack.enter_async_context(connected(server.port))
                    await back.resume(peer.code, peer.token)
                    returned.append(back)
                async with connected(server.port) as newcomer:
                    await newcomer.nothing_but_pong()
                    await returned[0].closed()
                await returned[1].done(Leave)
            for peer in (*first[1:], *second[1:]):
                await peer.done(Leave)


async def test_a_full_server_makes_room_at_the_address_with_the_most_connections() -> None:
    """At once, however new its connections are; and nobody else's is cut."""
    async with (
        memory_server(connections=6, hello_seconds=TIMEOUT * 5) as server,
        strangers(server.port, 1, source="127.0.0.2") as ((reader, writer),),
        strangers(server.port, 5) as opened,
        strangers(server.port, 1, source="127.0.0.3"),
    ):
        await cut(opened[0])
        writer.write(frame(0x2, encode(Hello([1], "first"))))
        async with asyncio.timeout(TIMEOUT):
            await reader.readuntil(b"welcome")


async def test_those_who_wait_to_be_refused_take_nobodys_place() -> None:
    """A newcomer gets the place of a connection that was cut for it, however many wait beyond the limit."""
    async with (
        memory_server(connections=6, connections_per_address=4, hello_seconds=TIMEOUT * 5) as server,
        contextlib.AsyncExitStack() as stack,
    ):
        for number in range(60):
            source = (f"127.0.0.{2 + number % 2}", 0)
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), TIMEOUT, source))
        async with connected(server.port) as newcomer:
            await newcomer.nothing_but_pong()


async def test_a_full_server_keeps_no_more_connections_that_it_could_not_serve() -> None:
    """Wherever they come from: those that are silent have not even asked for a websocket."""
    async with memory_server(connections=10, hello_seconds=TIMEOUT * 5) as server:
        opened = [
            await asyncio.open_connection("127.0.0.1", server.port, local_addr=(f"127.0.1.{last}", 0))
            for last in range(1, 101)
        ]
        waiting = {asyncio.create_task(reader.read()) for reader, _ in opened}
        async with asyncio.timeout(TIMEOUT):
            while len(waiting) > 74:
                _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for _, writer in opened:
        writer.transport.abort()
    await asyncio.wait(waiting)
