"""Whole games over real sockets: every peer's fold is what its seat may know, event by event."""

import asyncio
import random

import pytest

from engine.events import Placed, WolfPlaced
from engine.redaction import redacted, snapshot
from engine.view import eyes_of, folded
from protocol.events import event_of
from protocol.messages import Events, Snapshot, StartGame, TableState
from tests.server.peer import (
    all_caught_up,
    check_views,
    connected,
    full_table,
    game,
    memory_server,
    peer_on_turn,
    play_on,
    table_of,
)


@pytest.mark.parametrize("random_layout", [True, False], ids=["random layout", "laid by players"])
@pytest.mark.parametrize("players", [2, 3, 4, 5])
async def test_every_peer_folds_what_its_seat_may_know(players: int, random_layout: bool) -> None:
    """After every event, each player's and the spectator's view equals the server's own, redacted."""
    chooser = random.Random(players)
    async with (
        memory_server() as server,
        game(server.port, players, watched=True, random_layout=random_layout, starting=None) as peers,
    ):
        table = table_of(server, peers)
        check_views(table, peers)
        while (mover := peer_on_turn(peers)) is not None:
            await mover.done(mover.random_move(chooser))
            await all_caught_up(peers, mover.seq)
            check_views(table, peers)
        for peer in peers:
            assert peer.view is not None
            assert peer.view.result is not None
            assert (await peer.until(TableState)).stage == "over"


async def test_many_tables_play_at_once_without_mixing() -> None:
    """Each table's peers receive only their own game."""

    async def play_one_game(port: int, number: int) -> None:
        async with game(port, 2 + number % 4) as peers:
            await play_on(peers, random.Random(number))
            check_views(table_of(server, peers), peers)
            assert {message.table for message in peers[0].received if isinstance(message, TableState)} == {
                peers[0].code
            }

    async with memory_server() as server, asyncio.TaskGroup() as tables:
        for number in range(8):
            tables.create_task(play_one_game(server.port, number))


async def test_legal_moves_are_sent_to_the_seat_on_turn_only() -> None:
    """Others and spectators never receive `legal`, which would reveal a hand."""
    async with memory_server() as server, game(server.port, 3, watched=True, random_layout=False) as peers:
        await play_on(peers, random.Random(3))
        for peer in peers:
            for message in _events(peer):
                assert (message.legal is not None) == (message.turn is not None and message.turn == peer.seat)
        assert sum(message.legal is not None for peer in peers for message in _events(peer)) == 6 + 36


async def test_the_kind_of_a_wolf_is_sent_to_its_owner_only() -> None:
    """The others receive its people and its field."""
    async with memory_server() as server, game(server.port, 2, watched=True) as peers:
        await play_on(peers, random.Random(4))
        for peer in peers:
            events = [event_of(event) for message in _events(peer) for event in message.events]
            own = [event for event in events if isinstance(event, Placed) and event.piece.wolf]
            hidden = [event for event in events if isinstance(event, WolfPlaced)]
            assert {event.seat for event in own} == (set() if peer.seat is None else {peer.seat})
            assert {event.seat for event in hidden} == {0, 1} - {peer.seat}


async def test_a_late_spectator_sees_the_same_game() -> None:
    """At any moment a spectator gets a snapshot and goes on from it."""
    async with memory_server() as server, game(server.port, 2, random_layout=False) as peers:
        table = table_of(server, peers)
        chooser = random.Random(5)
        while peer_on_turn(peers) is not None:
            async with connected(server.port) as late:
                await late.watch(peers[0].code)
                await late.until(Snapshot)
                check_views(table, [late])
                await play_on(peers, chooser, moves=2)
                await late.caught_up(peers[0].seq)
                check_views(table, [late])


async def test_a_disconnected_player_resumes_the_game() -> None:
    """Only the missing events are sent, and the game goes on."""
    async with memory_server() as server, game(server.port, 2) as peers:
        table = table_of(server, peers)
        chooser = random.Random(6)
        await play_on(peers, chooser, moves=3)
        gone = peers[1]
        await gone.socket.close()
        await play_on(peers[:1], chooser, moves=1)
        async with connected(server.port) as again:
            again.view, again.seq, again.seat = gone.view, gone.seq, gone.seat
            await again.resume(gone.code, gone.token, after=gone.seq)
            await again.caught_up(peers[0].seq)
            if again.legal is None and peers[0].legal is None:
                await again.until(Events)
            await play_on([peers[0], again], chooser)
            check_views(table, [peers[0], again])


async def test_a_move_costs_each_seat_less_than_100_bytes() -> None:
    """This is the average, without the start and the scoring."""
    async with memory_server() as server, game(server.port, 4, watched=True) as peers:
        before = [len(peer.frames) for peer in peers]
        await play_on(peers, random.Random(7), moves=28)
        for peer, start in zip(peers, before, strict=True):
            sizes = [len(frame) for frame in peer.frames[start:]]
            assert sum(sizes) / len(sizes) < 100


async def test_views_are_folds_of_the_events_on_the_server() -> None:
    """Folding the server's own events, redacted, gives each seat's view: no more was sent."""
    async with memory_server() as server, full_table(server.port, 2, random_layout=True) as peers:
        await peers[0].done(StartGame(peers[0].next_id()))
        await all_caught_up(peers, peers[0].seq)
        await play_on(peers, random.Random(8), moves=9)
        server_game = table_of(server, peers).state.game
        assert server_game is not None
        for peer in peers:
            assert peer.seat is not None
            eyes = eyes_of(peer.seat)
            assert peer.view == folded([redacted(event, eyes) for event in server_game.events], eyes)
            assert peer.view == snapshot(server_game.view, eyes)


def _events(peer: object) -> list[Events]:
    return [message for message in getattr(peer, "received", []) if isinstance(message, Events)]
