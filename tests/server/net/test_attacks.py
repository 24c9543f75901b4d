"""Attacks and strangers at a player's own address: others play on, and the server keeps nothing of them."""

import asyncio
import contextlib
import gc
import random
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator
from typing import cast

import pytest
from websockets.exceptions import InvalidStatus

from protocol.codec import encode
from protocol.codes import Code
from protocol.limits import VERSIONS
from protocol.messages import Hello, JoinTable, Leave, OpenTable, Ping, Snapshot, TableState
from server.app import Running, running
from server.config import Config, Limits
from server.conversation import Conversation
from server.net.connections import address
from server.net.connections.address import FairRate, SharingConnection
from server.net.connections.limited_connection import LimitedConnection
from server.net.session import Session
from server.tables.table import Table
from tests.server.peer import (
    HERE,
    TIMEOUT,
    UPGRADE,
    Peer,
    connected,
    connected_without_hello,
    eventually,
    exchange,
    frame,
)
from tests.server.playing import check_views, full_table, game, memory_server, play_on, table_of

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
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


HELLO = frame(0x2, encode(Hello(list(VERSIONS), "attacker")))


async def test_an_unfinished_request_or_message_ends_the_connection() -> None:
    async with under_attack(hello_seconds=0.2) as (server, _), asyncio.TaskGroup() as tasks:
        for rest in (b"", b"\x82", b"\x82\xfe\x20\x00" + bytes(1000)):
            tasks.create_task(exchange(server.port, UPGRADE + rest))
        tasks.create_task(exchange(server.port, UPGRADE[:40]))


@pytest.mark.parametrize(
    ("limits", "pings"), [({"ping_seconds": 0.2}, 0), ({"rate": 0.01}, 300)], ids=["half open", "reset"]
)
async def test_the_seat_of_a_connection_that_vanishes_is_away(limits: dict[str, float], pings: int) -> None:
    """It answers no ping; or it is reset, though it has sent what would be read for minutes."""
    async with (
        under_attack(waiting_seat_seconds=0.0, **limits) as (server, _),
        connected(server.port) as host,
    ):
        await host.open(2)
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        join = frame(0x2, encode(JoinTable(1, host.code, "Vanished")))
        writer.write(UPGRADE + HELLO + join + frame(0x2, encode(Ping(2))) * pings)
        while not (await host.until(TableState)).seats[1].here:
            pass
        if pings:
            reset(writer)
        while (await host.until(TableState)).seats[1].here:
            pass
        writer.transport.abort()


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
    async with memory_server(waiting_seat_seconds=0.0, close_seconds=0.1) as server:
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


Stranger = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextlib.asynccontextmanager
async def strangers(
    port: int, number: int, said: bytes = UPGRADE, source: str = HERE
) -> AsyncIterator[list[Stranger]]:
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
    async with asyncio.timeout(TIMEOUT):
        with contextlib.suppress(ConnectionError):
            while await stranger[0].read(65536):
                pass


async def test_a_player_does_not_wait_for_strangers_at_the_same_address() -> None:
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


async def test_a_player_comes_back_among_strangers(monkeypatch: pytest.MonkeyPatch) -> None:
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


FRAMES = 160


class Waiting:
    """Stands in line, once or always again, and writes down whose turn it was."""

    def __init__(
        self, name: str, rate: FairRate, turns: list[str], *, greedy: bool = False, seated: bool = False
    ) -> None:
        self.name = name
        self.place = 0
        self.seated = seated
        self._rate = rate
        self._turns = turns
        self._greedy = greedy
        rate.add(cast("SharingConnection", self))

    def stand_in_line(self) -> None:
        if self._rate.take(cast("SharingConnection", self)):
            self.read_in_turn()

    def read_in_turn(self) -> None:
        self._turns.append(self.name)
        if self._greedy:
            asyncio.get_running_loop().call_soon(self.stand_in_line)


async def turns_taken(turns: list[str], frames: int) -> None:
    async with asyncio.timeout(TIMEOUT):
        while len(turns) < frames:  # noqa: ASYNC110 - nothing else tells of turns
            await asyncio.sleep(0.001)


def crowded_rate(*, seated: bool = False) -> tuple[FairRate, list[str]]:
    """Return a rate at which a crowd stands in line, and the turns that are taken."""
    rate, turns = FairRate(1, 20_000.0), list[str]()
    crowd(rate, turns, seated=seated)
    return rate, turns


def crowd(rate: FairRate, turns: list[str], *, seated: bool = False) -> None:
    """Let 40 connections that never stop stand in line."""
    for each in [Waiting(f"greedy {n}", rate, turns, greedy=True, seated=seated) for n in range(40)]:
        each.stand_in_line()


async def test_a_connection_that_sends_little_comes_before_all_that_never_stop() -> None:
    """However long the others have waited; but a silence does not pay for many frames at once."""
    rate, turns = crowded_rate()
    await turns_taken(turns, FRAMES)
    newcomer = Waiting("newcomer", rate, turns)
    for _ in range(2):  # hello and resume come after a turn of each of the others
        taken = len(turns)
        newcomer.stand_in_line()
        await turns_taken(turns, taken + 2 * 41)
        assert "newcomer" in turns[taken:]
    await turns_taken(turns, len(turns) + FRAMES)
    for _ in range(10):
        newcomer.stand_in_line()
    taken = len(turns)
    await turns_taken(turns, taken + 10)
    assert turns[taken] == "newcomer"
    assert turns[taken : taken + 10].count("newcomer") < 5


async def test_a_player_gets_more_than_others_who_all_get_the_same() -> None:
    rate, turns = crowded_rate()
    Waiting("player", rate, turns, greedy=True, seated=True).stand_in_line()
    await turns_taken(turns, 5 * 42)
    counted = Counter(turns)
    assert 8 <= counted.pop("player") <= 13
    assert len(counted) == 40
    assert max(counted.values()) - min(counted.values()) <= 1


async def test_new_connections_one_after_another_keep_nobody_waiting() -> None:
    rate, turns = crowded_rate()
    Waiting("constant", rate, turns, greedy=True).stand_in_line()
    for _ in range(15):
        for _ in range(20):
            Waiting("new", rate, turns).stand_in_line()
        await turns_taken(turns, len(turns) + 20)
    assert turns.count("constant") >= 2


async def test_who_used_all_that_was_left_is_not_ahead_afterwards() -> None:
    """What was read while nobody had to wait counts too."""
    rate = FairRate(50, 20_000.0)
    turns: list[str] = []
    hasty = Waiting("hasty", rate, turns)
    for _ in range(50):
        hasty.stand_in_line()
    crowd(rate, turns)
    hasty.stand_in_line()
    await turns_taken(turns, 91)
    assert "hasty" not in turns[50:90]


async def test_networks_inside_one_take_turns_for_its_rate() -> None:
    """Forty connections of one of them have as many turns as two of another, and none is left out."""
    around = FairRate(1, 20_000.0)
    crowded, other = (FairRate(100, 20_000.0, around) for _ in range(2))
    turns: list[str] = []
    crowd(crowded, turns)
    for name in ("first", "second"):
        Waiting(name, other, turns, greedy=True).stand_in_line()
    await turns_taken(turns, FRAMES)
    counted = Counter(turns[:FRAMES])
    assert len(counted) == 42
    assert abs(counted["first"] + counted["second"] - FRAMES / 2) <= 4
    assert abs(counted["first"] - counted["second"]) <= 1


async def test_a_connection_that_ends_leaves_the_line() -> None:
    rate = FairRate(1, 200.0)
    turns: list[str] = []
    first, gone, last = (Waiting(name, rate, turns) for name in ("first", "gone", "last"))
    for each in (first, gone, last):
        each.stand_in_line()
    rate.leave(cast("SharingConnection", gone))
    await turns_taken(turns, 2)
    await asyncio.sleep(0.02)
    assert turns == ["first", "last"]
