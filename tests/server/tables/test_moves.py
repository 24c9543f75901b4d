"""Moves one by one: refused ones change nothing, repeated ones count once, missed ones are told later."""

import asyncio
import contextlib
import random
from collections.abc import Sequence

from engine.errors import Fault
from engine.pieces import Seat
from protocol.codes import CloseCode, CloseReason, Code
from protocol.limits import LARGEST_ID
from protocol.messages import (
    Done,
    Events,
    Lay,
    PlacePiece,
    Places,
    Resume,
    Say,
    Snapshot,
    StartGame,
    Sync,
    TableState,
)
from server.app import Running
from server.storage.entries import Entry
from tests.server.peer import (
    Peer,
    all_caught_up,
    check_views,
    connected,
    eventually,
    fields_in,
    full_table,
    game,
    memory_server,
    play_on,
    queued_requests,
    table_of,
)


async def check_refused(
    server: Running,
    peers: list[Peer],
    seat: int,
    why: tuple[str, str | None],
    *moves: Lay | PlacePiece | StartGame,
) -> None:
    """Send `moves` as `seat`: each must be refused so, tell nobody else and change nothing."""
    table = table_of(server, peers)
    for move in moves:
        entries = table.state.entry_count
        refused = await peers[seat].refused(move)
        assert (refused.code, refused.rule) == why, refused
        assert refused.text.endswith((".", f"({refused.rule})"))
        for peer in peers:
            await peer.nothing_but_pong()
        assert table.state.entry_count == entries
        check_views(table, peers)


async def test_before_the_game_there_are_no_moves() -> None:
    """Nothing can be laid or placed at a table that has not begun."""
    async with memory_server() as server, full_table(server.port, 2) as (host, other):
        assert (await host.refused(Lay(host.next_id(), 1, 0))).code == Code.NOT_STARTED
        assert (await host.refused(PlacePiece(host.next_id(), "Em", "A1"))).code == Code.NOT_STARTED
        await other.nothing_but_pong()


async def test_the_game_is_started_once() -> None:
    """A second start is refused, to the host and to others."""
    async with memory_server() as server, game(server.port, 2) as peers:
        for seat in (0, 1):
            await check_refused(
                server, peers, seat, (Code.ALREADY_STARTED, None), StartGame(peers[seat].next_id())
            )


async def test_moves_out_of_turn_are_refused() -> None:
    """While tiles are laid and while pieces are placed."""
    async with (
        memory_server() as server,
        game(server.port, 2, random_layout=False) as laying,
        game(server.port, 2) as placing,
    ):
        why = (Fault.NOT_YOUR_TURN, "R3.3")
        await check_refused(server, laying, 1, why, Lay(7, 1, 0), PlacePiece(8, "Em", "A1"))
        why = (Fault.NOT_YOUR_TURN, "R4.1")
        await check_refused(server, placing, 1, why, PlacePiece(7, "Sm", "A1"), Lay(8, 1, 0))


async def test_moves_of_the_other_phase_are_refused() -> None:
    """No piece is placed before the tiles lie, no tile is laid after that."""
    async with (
        memory_server() as server,
        game(server.port, 2, random_layout=False) as laying,
        game(server.port, 2) as placing,
    ):
        await check_refused(server, laying, 0, (Fault.TILES_NOT_LAID, "R3.3"), PlacePiece(7, "Em", "A1"))
        await check_refused(server, placing, 0, (Fault.ALL_TILES_LAID, "R4.1"), Lay(7, 1, 0))


async def test_tiles_are_laid_only_where_the_rules_allow() -> None:
    """Not on another tile, and not apart from the others."""
    async with memory_server() as server, game(server.port, 2, random_layout=False) as peers:
        await peers[0].done(Lay(peers[0].next_id(), 1, 0))
        await all_caught_up(peers, peers[0].seq)
        await check_refused(server, peers, 1, (Fault.POSITION_TAKEN, "R3.3"), Lay(peers[1].next_id(), 1, 5))
        await check_refused(server, peers, 1, (Fault.POSITION_APART, "R3.3"), Lay(peers[1].next_id(), 3, 0))


async def test_nobody_lays_the_tile_of_another() -> None:
    """Whoever just laid cannot lay the next one too."""
    async with memory_server() as server, game(server.port, 2, random_layout=False) as peers:
        await peers[0].done(Lay(peers[0].next_id(), 1, 0))
        await all_caught_up(peers, peers[0].seq)
        await check_refused(server, peers, 0, (Fault.NOT_YOUR_TURN, "R3.3"), Lay(peers[0].next_id(), 2, 0))


async def test_pieces_come_from_the_own_hand() -> None:
    """Another people's piece, or one that has been used up, cannot be placed."""
    async with memory_server() as server, game(server.port, 5) as peers:
        why = (Fault.NOT_IN_HAND, "R4.1")
        await check_refused(server, peers, 0, why, PlacePiece(7, "Sm", "A1"), PlacePiece(8, "Lf*", "A1"))
        await peers[0].done(PlacePiece(peers[0].next_id(), "Em*", "A1"))
        await all_caught_up(peers, peers[0].seq)
        await play_on(peers, random.Random(1), moves=4)
        await check_refused(server, peers, 0, why, PlacePiece(9, "Em*", "B1"))  # R3.5: five players have one


async def test_a_field_holds_one_piece() -> None:
    """One's own or another's."""
    async with memory_server() as server, game(server.port, 2) as peers:
        await peers[0].done(PlacePiece(peers[0].next_id(), "Em", "C4"))
        await all_caught_up(peers, peers[0].seq)
        await check_refused(server, peers, 1, (Fault.FIELD_TAKEN, "R4.1"), PlacePiece(7, "Sm", "C4"))


async def test_soldiers_are_placed_in_time() -> None:
    """When only a soldier may be placed, the refusal of anything else says so (R4.3)."""
    async with memory_server() as server, game(server.port, 5) as peers:
        chooser = random.Random(2)
        for _ in range(3):
            for peer in peers:
                assert isinstance(peer.legal, Places)
                civil = [piece for piece in peer.legal.pieces if piece[1] != "s"]
                field = chooser.choice(fields_in(peer.legal))
                await peer.done(PlacePiece(peer.next_id(), civil[0], field))
                await all_caught_up(peers, peer.seq)
        legal = peers[0].legal
        assert isinstance(legal, Places)
        assert legal.pieces == ["Es"]
        assert peers[0].view is not None
        hand = [str(piece) for piece in peers[0].view.hands[Seat(0)] if piece != "Es"]
        field = fields_in(legal)[0]
        moves = [PlacePiece(number, piece, field) for number, piece in enumerate(hand)]
        assert moves
        await check_refused(server, peers, 0, (Fault.SOLDIER_DUE, "R4.3"), *moves)


async def test_after_the_end_there_are_no_moves() -> None:
    """The result stands."""
    async with memory_server() as server, game(server.port, 2) as peers:
        await play_on(peers, random.Random(3))
        for peer in peers:
            refused = await peer.refused(PlacePiece(peer.next_id(), "Em", "A1"))
            assert (refused.code, refused.rule) == (Fault.GAME_OVER, "R4.4")


async def test_a_repeated_move_is_answered_and_counts_once() -> None:
    """The second answer is Done; nobody else hears of it."""
    async with memory_server() as server, game(server.port, 2) as peers:
        table = table_of(server, peers)
        move = peers[0].random_move(random.Random(4))
        await peers[0].done(move)
        await all_caught_up(peers, peers[0].seq)
        entries = table.state.entry_count
        assert await peers[0].ask(move) == Done(move.id)
        await peers[1].nothing_but_pong()
        assert table.state.entry_count == entries
        await play_on(peers, random.Random(5))
        assert await peers[0].ask(move) == Done(move.id)
        check_views(table, peers)


async def test_a_refused_move_stays_refused_under_its_id() -> None:
    """The same message gets the same refusal, even when it would be legal by now."""
    async with memory_server() as server, game(server.port, 2) as peers:
        early = PlacePiece(peers[1].next_id(), "Sm", "A1")
        first = await peers[1].refused(early)
        await peers[0].done(PlacePiece(peers[0].next_id(), "Em", "A2"))
        await all_caught_up(peers, peers[0].seq)
        assert await peers[1].refused(early) == first
        await peers[1].done(PlacePiece(peers[1].next_id(), "Sm", "A1"))


async def test_an_id_is_not_used_for_two_things() -> None:
    """Another message with a used id is refused and changes nothing; each seat has ids of its own."""
    async with memory_server() as server, game(server.port, 2) as peers:
        await peers[0].done(PlacePiece(7, "Em", "A1"))
        await all_caught_up(peers, peers[0].seq)
        await check_refused(
            server,
            peers,
            0,
            (Code.ID_REUSED, None),
            PlacePiece(7, "Em", "A2"),
            PlacePiece(7, "Ef", "A1"),
            StartGame(7),
            Lay(7, 1, 0),
        )
        assert (await peers[0].refused(Say(7, "seven"))).code == Code.ID_REUSED
        await peers[1].done(PlacePiece(7, "Sm", "A2"))


async def test_what_was_said_under_an_id_is_said_once() -> None:
    """A repeated sentence is answered and not told again."""
    async with memory_server() as server, full_table(server.port, 2) as (host, other):
        await host.done(Say(7, "hello"))
        await other.receive()
        await host.done(Say(7, "hello"))
        await other.nothing_but_pong()


async def test_a_move_repeated_over_a_new_connection_counts_once() -> None:
    """The answer that was lost with the connection is given again."""
    async with memory_server() as server, game(server.port, 2) as peers:
        table = table_of(server, peers)
        move = peers[0].random_move(random.Random(6))
        await peers[0].send(move)
        await peers[0].socket.close()
        await peers[1].caught_up(peers[1].seq + 1)
        async with connected(server.port) as again:
            await again.resume(peers[1].code, peers[0].token)
            await again.until(Snapshot)
            assert await again.ask(move) == Done(move.id)
            check_views(table, [again, peers[1]])


async def test_from_any_event_a_sync_brings_the_rest_or_everything() -> None:
    """Missing events follow gaplessly on what is there; from 0, or from beyond the last, comes a snapshot."""
    async with (
        memory_server(burst=10_000) as server,
        game(server.port, 2, watched=True, random_layout=False) as peers,
    ):
        table = table_of(server, peers)
        for moves in (3, 12, 1000):
            await play_on(peers, random.Random(7), moves=moves)
            for peer in peers:
                seen = list(peer.seen)
                for after in starts(peer):
                    legal = peer.legal
                    peer.go_back_to(after, seen)
                    await peer.send(Sync(peer.next_id(), after))
                    check_catching_up(await peer.news(), after, len(seen))
                    check_views(table, [peer])
                    assert peer.legal == legal
                    await peer.until(Done)
                peer.seen = seen


async def test_from_any_event_a_resume_brings_the_rest_or_everything() -> None:
    """As with sync; each resume takes the seat over from the one before."""
    async with (
        memory_server(burst=10_000) as server,
        game(server.port, 2, watched=True, random_layout=False) as (host, other, _),
        contextlib.AsyncExitStack() as connections,
    ):
        table = table_of(server, [host])
        for moves in (3, 12):
            await play_on([host, other], random.Random(8), moves=moves)
            seen, legal = list(host.seen), host.legal
            for after in starts(host):
                again = await connections.enter_async_context(connected(server.port))
                again.seat = host.seat
                again.go_back_to(after, seen)
                await again.resume(host.code, host.token, after)
                check_catching_up(await again.news(), after, len(seen))
                check_views(table, [again])
                assert again.legal == legal
                assert await host.closed() == (
                    CloseCode.TAKEN_OVER,
                    CloseReason.TAKEN_OVER,
                )
                again.token, again.seen = host.token, seen
                host = again  # noqa: PLW2901 - whoever has the seat


def starts(peer: Peer) -> list[int]:
    """Return event numbers to catch up from: all there are, and some there are not."""
    return [*range(peer.seq + 2), LARGEST_ID]


def check_catching_up(message: Events | Snapshot, after: int, last: int) -> None:
    """Fail unless `message` is what is missing after event `after`, and no more."""
    if 0 < after <= last:
        assert isinstance(message, Events)
        assert (message.seq, len(message.events)) == (after + 1, last - after)
    else:
        assert isinstance(message, Snapshot)
        assert message.seq == last


async def test_a_takeover_closes_the_older_connection_alone() -> None:
    """The seat goes on with the newer one; the others only see that its player is here."""
    async with memory_server() as server, game(server.port, 2) as peers, connected(server.port) as newer:
        await newer.resume(peers[0].code, peers[0].token)
        assert (await peers[0].closed())[0] == CloseCode.TAKEN_OVER
        await newer.until(Snapshot)
        await play_on([newer, peers[1]], random.Random(9), moves=3)
        check_views(table_of(server, peers), [newer, peers[1]])
        assert all(state.seats[0].here for state in peers[1].received if isinstance(state, TableState))


async def test_a_connection_that_was_taken_over_cannot_move() -> None:
    """What it sent when the takeover was under way already is not played."""
    async with memory_server() as server, game(server.port, 2) as peers, connected(server.port) as newer:
        table = table_of(server, peers)
        storing, may_store = asyncio.Event(), asyncio.Event()
        append = table._context.journal.append

        async def slowly(code: str, first: int, entries: Sequence[Entry]) -> None:
            storing.set()
            await may_store.wait()
            await append(code, first, entries)

        table._context.journal.append = slowly  # type: ignore[method-assign]
        await peers[0].send(PlacePiece(1, "Em", "A1"))
        await storing.wait()
        await newer.send(Resume(1, peers[1].code, peers[1].token))
        await eventually(lambda: queued_requests(table) == 1)
        await peers[1].send(PlacePiece(1, "Sm", "A2"))
        await eventually(lambda: queued_requests(table) == 2)
        entries = table.state.entry_count
        may_store.set()
        assert (await peers[1].closed())[0] == CloseCode.TAKEN_OVER
        await newer.until(Snapshot)
        assert newer.legal is not None
        await newer.nothing_but_pong()
        await peers[0].until(TableState)
        await peers[0].nothing_but_pong()
        assert peers[0].seq == 4
        assert table.state.entry_count == entries + 1
