"""Draining: no more tables, everybody knows how long is left, and the server stops automatically."""

import random
from pathlib import Path

import pytest

from protocol.codes import Code
from protocol.messages import OpenTable, Rematch, Resume, Stopping
from tests.server.manual_clock import ManualClock
from tests.server.peer import (
    Peer,
    connected,
    connected_without_hello,
    eventually,
    game,
    play_on,
    timed_server,
)


async def told(peer: Peer) -> int | None:
    return (await peer.until(Stopping)).seconds


async def test_newcomers_are_told_directly_after_their_welcome() -> None:
    """Not before: they might still have to give the password. The seconds are those that were asked for."""
    clock = ManualClock()
    clock.advance(757.1179785105686)  # where their sum is rounded up
    async with timed_server(clock) as server, game(server.port, 2), connected(server.port) as before:
        await before.nothing_but_pong()
        async with connected_without_hello(server.port) as stranger:
            server.drain.begin(600)
            assert await told(before) == 600
            await stranger.hello()
            assert [type(message).__name__ for message in stranger.received] == ["Welcome"]
        clock.advance(1.5)
        async with connected(server.port) as late:
            assert await late.receive() == Stopping(599)


async def test_everybody_is_told_at_once_and_as_the_end_comes_closer() -> None:
    """Players, spectators and people in the lobby alike; at the end the server stops automatically."""
    clock = ManualClock()
    async with (
        timed_server(clock) as server,
        game(server.port, 2, watched=True) as peers,
        connected(server.port) as visitor,
    ):
        everybody = [*peers, visitor]
        server.drain.begin(400)
        assert [await told(peer) for peer in everybody] == [400] * 4
        clock.advance(99)
        await visitor.nothing_but_pong()
        for left in (300, 60, 10):
            clock.advance((server.drain.seconds_left() or 0) - left)
            assert [await told(peer) for peer in everybody] == [left] * 4
        assert not server.stop.is_set()
        clock.advance(10)
        assert [await peer.closed() for peer in everybody] == [(1001, "stopping")] * 4
        await server.stop.wait()


async def test_no_table_is_opened_or_brought_back(tmp_path: Path) -> None:
    """The refusal has the seconds left; players come back to a game, and to an archived one afterwards."""
    clock = ManualClock()
    async with timed_server(clock, tmp_path, over_seconds=1) as server:
        async with game(server.port, 2) as gone:
            await play_on(gone, random.Random(1))
        await eventually(lambda: len(server.clients) == 0)
        clock.advance(2)
        await eventually(lambda: not server.lobby.tables)
        async with game(server.port, 2) as playing, game(server.port, 2) as over:
            await play_on(over, random.Random(2))
            server.drain.begin(600)
            clock.advance(1)
            async with connected(server.port) as peer:
                for request in (OpenTable(7, 2, "Anna"), Resume(8, gone[0].code, gone[0].token)):
                    refused = await peer.refused(request)
                    assert refused.code == Code.SERVER_STOPPING
                    assert refused.about == {"seconds": "599"}
                await peer.resume(playing[0].code, playing[0].token)
            assert await over[0].refusal(Rematch) == Code.SERVER_STOPPING
            server.drain.cancel()
            async with connected(server.port) as peer:
                await peer.resume(gone[0].code, gone[0].token)


async def test_the_server_stops_soon_after_the_last_game() -> None:
    """Ten seconds later, for people who look at the result; they are told."""
    clock = ManualClock()
    async with timed_server(clock) as server, game(server.port, 2) as peers:
        server.drain.begin(600)
        assert await told(peers[0]) == 600
        await play_on(peers, random.Random(1))
        clock.advance(1)
        assert await told(peers[0]) == 10
        clock.advance(9)
        assert not server.stop.is_set()
        clock.advance(1)
        assert await peers[0].closed() == (1001, "stopping")
        await server.stop.wait()


async def test_a_game_that_everybody_has_left_does_not_keep_the_server() -> None:
    """It would wait for an hour for people who are not coming."""
    clock = ManualClock()
    async with timed_server(clock) as server:
        async with game(server.port, 2):
            pass
        await eventually(lambda: len(server.clients) == 0)
        server.drain.begin(600)
        await server.stop.wait()


@pytest.mark.parametrize(("first", "second"), [(600, 30), (30, 600)])
async def test_the_last_drain_counts(first: int, second: int) -> None:
    clock = ManualClock()
    async with timed_server(clock) as server, game(server.port, 2) as peers:
        server.drain.begin(first)
        server.drain.begin(second)
        assert [await told(peers[0]), await told(peers[0])] == [first, second]
        clock.advance(second - 1)
        assert not server.stop.is_set()
        clock.advance(1)
        await server.stop.wait()
