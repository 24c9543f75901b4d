"""Attacks one by one: after each the other tables play on, and nothing of the attacker is left."""

import asyncio
import contextlib
import gc
import random
import struct
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from protocol.codec import encode
from protocol.codes import Code
from protocol.limits import CLIENT_FRAME_BYTES, VERSIONS
from protocol.messages import (
    ClientMessage,
    Hello,
    JoinTable,
    Leave,
    ListTables,
    OpenTable,
    Ping,
    PlacePiece,
    Resume,
    Say,
    StartGame,
    Sync,
    TableState,
    Watch,
)
from server.app import Running
from server.net.conversation import Conversation
from server.net.limited_connection import LimitedConnection
from server.net.session import Session
from server.tables.table import Table
from tests.server.peer import (
    TIMEOUT,
    UPGRADE,
    Peer,
    check_views,
    connected,
    connected_without_hello,
    eventually,
    frame,
    game,
    memory_server,
    play_on,
    table_of,
)

KEPT = {LimitedConnection, Conversation, Session, Table, asyncio.Task}


def census() -> Counter[str]:
    """Count what the server keeps for each client and table."""
    gc.collect()
    return Counter(type(each).__name__ for each in gc.get_objects() if type(each) in KEPT)


@contextlib.asynccontextmanager
async def besieged(**limits: float) -> AsyncIterator[tuple[Running, list[Peer]]]:
    """Serve a game that must go on as if nothing happened; fail if anything else is left in the end."""
    limits = {"close_seconds": 0.1, **limits}
    async with memory_server(**limits) as server, game(server.port, 2) as players:
        await play_on(players, random.Random(1), moves=2)
        before = census()
        yield server, players
        await play_on(players, random.Random(2))
        check_views(table_of(server, players), players)
        await eventually(lambda: list(server.lobby.tables) == [players[0].code])
        await eventually(lambda: census() == before)


MESSAGES: list[ClientMessage] = [
    Hello(list(VERSIONS), "fuzz"),
    OpenTable(1, 2, "Anna"),
    JoinTable(2, "AAAA", "Bruno"),
    Resume(3, "AAAA", "x" * 43, 5),
    Watch(4, "AAAA"),
    StartGame(5),
    PlacePiece(6, "Em*", "A1"),
    Sync(7, 3),
    Say(8, "hm"),
    ListTables(9),
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A message with some bytes changed, left out or put in; or nothing but bytes."""
    content = bytearray(encode(draw(st.sampled_from(MESSAGES))))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, max(0, len(content) - 1)))
        content[at : at + draw(st.integers(0, 2))] = draw(st.binary(max_size=3))
    return bytes(content)


@settings(max_examples=10)
@given(st.lists(mutated() | st.binary(max_size=200), min_size=20, max_size=60))
def test_whatever_the_frames_the_other_tables_play_on(frames: list[bytes]) -> None:
    """Random and mutated frames, from the lobby and at a table."""

    async def attack() -> None:
        async with (
            besieged(bad_messages=1000, seat_grace_seconds=0.0) as (server, _),
            connected(server.port) as attacker,
        ):
            with contextlib.suppress(ConnectionClosed):
                await attacker.open(2, "Mallory")
                for content in frames:
                    await attacker.socket.send(content)
                await attacker.ask(Ping(attacker.next_id()))

    asyncio.run(attack())


async def test_one_byte_at_a_time_is_read_as_it_comes() -> None:
    """A slow writer costs nobody anything: its messages are answered when they are whole."""
    async with besieged() as (server, (player, _)):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        said = UPGRADE + frame(0x2, encode(MESSAGES[0])) + frame(0x2, encode(ListTables(9)))
        for byte in said:
            writer.write(bytes((byte,)))
            await writer.drain()
            if byte % 16 == 0:
                await player.nothing_but_pong()
        async with asyncio.timeout(TIMEOUT):
            await reader.readuntil(b"welcome")
            await reader.readuntil(b"tables")
        writer.close()


@pytest.mark.parametrize(
    "begun",
    [UPGRADE[:40], UPGRADE, UPGRADE + b"\x82", UPGRADE + b"\x82\xfe\x20\x00" + bytes(1000)],
    ids=["a request", "no hello", "a frame's head", "a frame's beginning"],
)
async def test_what_is_begun_and_never_ended_ends(begun: bytes) -> None:
    """Slow requests, and messages whose last byte never comes, are given their time and no more."""
    async with besieged(hello_seconds=0.2) as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(begun)
        async with asyncio.timeout(TIMEOUT):
            while await reader.read(1000):
                pass
        writer.close()


async def test_whoever_vanishes_without_a_word_is_missed() -> None:
    """A half-open connection at a table: no end comes, no pong comes, and its seat is shown as away."""
    async with (
        besieged(ping_seconds=0.2, seat_grace_seconds=0.0) as (server, _),
        connected(server.port) as host,
    ):
        await host.open(2)
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        join = JoinTable(1, host.code, "Vanished")
        writer.write(UPGRADE + frame(0x2, encode(MESSAGES[0])) + frame(0x2, encode(join)))
        for here in (True, False):
            while (await host.until(TableState)).seats[1].here is not here:
                pass
        writer.transport.abort()


async def test_a_flood_of_connections_leaves_nothing() -> None:
    """Beyond its share an address is turned away; those who are in play on."""
    async with besieged(connections_per_address=20) as (server, (player, _)):

        async def come() -> bool:
            try:
                async with connected_without_hello(server.port) as attacker:
                    await attacker.hello()
                    return True
            except (InvalidHandshake, ConnectionClosed, OSError, EOFError):
                return False

        async def play() -> None:
            for _ in range(20):
                await player.nothing_but_pong()

        came = await asyncio.gather(*(come() for _ in range(100)), play())
        assert False in came


async def test_pieces_of_huge_messages_are_not_kept() -> None:
    """Fragments that never end are refused as soon as they are too many."""
    async with besieged() as (server, _), connected(server.port) as attacker:
        piece = struct.pack("!BBH4x", 0x02, 0xFE, 4000) + b"\xc1" * 4000
        attacker.socket.transport.write(piece)
        for _ in range(CLIENT_FRAME_BYTES // 4000 + 1):
            attacker.socket.transport.write(b"\x00" + piece[1:])
        assert (await attacker.closed())[0] == 1009


async def test_a_table_s_code_gives_no_seat_and_no_secret() -> None:
    """Who knows the code of a game may watch it, and do nothing more."""
    async with besieged() as (server, players), connected(server.port) as thief:
        code = players[0].code
        assert (await thief.refused(JoinTable(1, code, "Thief"))).code == Code.GAME_RUNNING
        for number, token in enumerate(("0", code, "Player 0")):
            assert (await thief.refused(Resume(10 + number, code, token))).code == Code.BAD_TOKEN
        await thief.watch(code)
        assert players[0].legal is not None
        for message in (StartGame(20), players[0].random_move(random.Random(3))):
            assert (await thief.refused(message)).code == Code.NOT_A_PLAYER


async def test_a_recorded_move_is_worth_nothing_elsewhere() -> None:
    """Sent again on another connection, or from another seat, it is refused; on its own it counts once."""
    async with besieged() as (server, players):
        mover = players[0]
        other = players[1]
        move = mover.random_move(random.Random(4))
        async with connected(server.port) as attacker:
            assert (await attacker.refused(move)).code == Code.NOT_AT_A_TABLE
            await attacker.watch(mover.code)
            assert (await attacker.refused(move)).code == Code.NOT_A_PLAYER
        assert (await other.refused(move)).code == "not-your-turn"
        await mover.done(move)
        await other.caught_up(mover.seq)
        assert (await other.refused(move)).code in {"not-in-hand", Code.ID_REUSED, "not-your-turn"}
        await mover.done(move)


async def test_a_recorded_coming_back_is_worth_nothing_after_the_seat_was_given_up() -> None:
    """A token that was overheard dies with its seat."""
    async with besieged() as (server, _), connected(server.port) as host, connected(server.port) as owner:
        code = (await host.open(2)).table
        token = (await owner.join(code, "Owner")).token or ""
        recorded = Resume(1, code, token)
        await owner.socket.close()
        async with connected(server.port) as again:
            await again.resume(code, token)
            await again.done(Leave(3))
        async with connected(server.port) as thief:
            assert (await thief.refused(recorded)).code == Code.BAD_TOKEN
        await host.done(Leave(99))
