"""Moves: refused ones change nothing, repeated ones count once."""

import random
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from engine.errors import Fault
from engine.game import GameOptions
from protocol import messages
from protocol.codes import CloseCode, Code
from protocol.limits import LARGEST_ID
from protocol.messages import Events
from server.net.session import Session
from server.tables.audience import catch_up
from server.tables.state.answers import Answers, digest
from tests.games import played
from tests.server.peer import connected, eventually
from tests.server.playing import all_caught_up, check_views, game, held_back, memory_server, play_on, table_of
from tests.server.tables.hosted import queued_requests, served


async def test_an_id_is_used_for_one_message_only() -> None:
    async with memory_server() as server, game(server.port, 2) as peers:
        table = table_of(server, peers)
        move = messages.PlacePiece(7, "Em", "A1")
        await peers[0].done(move)
        await all_caught_up(peers, peers[0].seq)
        entries = table.state.entry_count
        early = messages.PlacePiece(8, "Em", "A2")
        refused = await peers[0].refused(early)
        assert (refused.code, refused.rule) == (Fault.NOT_YOUR_TURN, "R4.1")
        for other in (
            *(messages.PlacePiece(7, "Em", "A2"), messages.PlacePiece(7, "Ef", "A1")),
            *(messages.StartGame(7), messages.Lay(7, 1, 0), messages.SayReady(7, on=True)),
        ):
            assert await peers[0].refusal(other) == Code.ID_REUSED
        assert await peers[0].ask(move) == messages.Done(7)
        await peers[1].nothing_but_pong()
        assert table.state.entry_count == entries
        await peers[1].done(messages.PlacePiece(7, "Sm", "A2"))
        await all_caught_up(peers, peers[1].seq)
        assert await peers[0].refused(early) == refused  # though it is legal now
        await play_on(peers, random.Random(5))
        assert await peers[0].ask(move) == messages.Done(7)
        check_views(table, peers)


async def test_a_sync_brings_the_missing_events_or_a_snapshot() -> None:
    async with (
        memory_server(burst=10_000, burst_per_address=10_000) as server,
        game(server.port, 2, watched=True, random_layout=False) as peers,
    ):
        table = table_of(server, peers)
        for moves in (3, 12, 1000):
            await play_on(peers, random.Random(7), moves=moves)
            for peer in peers:
                seen = list(peer.seen)
                for after in (0, 1, peer.seq // 2, peer.seq, peer.seq + 1, LARGEST_ID):
                    legal = peer.legal
                    peer.go_back_to(after, seen)
                    await peer.send(messages.Sync(peer.next_id(), after))
                    check_catching_up(await peer.news(), after, len(seen))
                    check_views(table, [peer])
                    assert peer.legal == legal
                    await peer.until(messages.Done)
                peer.seen = seen


def test_a_request_that_is_done_after_a_refusal_is_answered_so_from_then_on() -> None:
    """As when a game is drawn for, and its host asks for it again."""
    answers, start = Answers(), messages.StartGame(7)
    answers.remember(start, messages.Refused(Code.ALREADY_STARTED, "", 7))
    answers.fold([(7, digest(start))])
    assert answers.find(start) == messages.Done(7)


async def test_who_comes_back_is_told_what_they_have_missed(tmp_path: Path) -> None:
    async with served(tmp_path) as server, game(server.port, 2) as peers:
        await peers[1].done(messages.Leave)
        at = peers[0].seq
        await play_on(peers[:1], random.Random(1), moves=1)
        for left_at in (at, None):
            async with connected(server.port) as back:
                assert (await back.resume(peers[0].code, peers[1].token)).left_at == left_at
    async with served(tmp_path) as server, connected(server.port) as back:
        assert (await back.resume(peers[0].code, peers[1].token)).left_at is None


def check_catching_up(message: messages.Events | messages.Snapshot, after: int, last: int) -> None:
    """Fail unless `message` is exactly what is missing after event `after`."""
    if 0 < after <= last:
        assert isinstance(message, messages.Events)
        assert (message.seq, len(message.events)) == (after + 1, last - after)
    else:
        assert isinstance(message, messages.Snapshot)
        assert message.seq == last


def test_whoever_missed_moves_is_told_which_of_them_were_the_stand_ins() -> None:
    """Not which of those before: the last move that they know of may be one."""
    sent = list[Events]()
    session = cast("Session", SimpleNamespace(seat=None, send=sent.append))
    running = played(GameOptions(2, random_layout=True), 1, 9)
    catch_up(session, running, 5, None, [4, 5, 6, 8], moves=True)
    assert [(each.seq, each.stood_in) for each in sent] == [(6, [6, 8])]


async def test_a_connection_that_was_taken_over_cannot_move() -> None:
    async with memory_server() as server, game(server.port, 2) as peers, connected(server.port) as newer:
        table = table_of(server, peers)
        async with held_back(table._context.lobby.journal, "append") as storing:
            await peers[0].send(messages.PlacePiece(1, "Em", "A1"))
            await storing.wait()
            await newer.send(messages.Resume(1, peers[1].code, peers[1].token))
            await eventually(lambda: queued_requests(table) == 1)
            await peers[1].send(messages.PlacePiece(1, "Sm", "A2"))
            await eventually(lambda: queued_requests(table) == 2)
            entries = table.state.entry_count
        assert (await peers[1].closed())[0] == CloseCode.TAKEN_OVER
        await newer.until(messages.Snapshot)
        assert newer.legal is not None
        await newer.nothing_but_pong()
        await peers[0].until(messages.TableState)
        await peers[0].nothing_but_pong()
        assert all(state.seats[1].here for state in peers[0].told(messages.TableState)[-2:])
        assert (peers[0].seq, table.state.entry_count) == (4, entries + 1)
        await play_on([peers[0], newer], random.Random(9), moves=3)
        check_views(table, [peers[0], newer])


async def test_a_move_costs_each_seat_less_than_100_bytes() -> None:
    async with memory_server() as server, game(server.port, 4, watched=True) as peers:
        before = [len(peer.frames) for peer in peers]
        await play_on(peers, random.Random(7), moves=28)
        for peer, start in zip(peers, before, strict=True):
            sizes = [len(frame) for frame in peer.frames[start:]]
            assert sum(sizes) / len(sizes) < 100
