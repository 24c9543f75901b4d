"""Playing again: the players of a finished game find each other at the next table, in the same seats."""

import contextlib
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from protocol.codes import CloseCode, Code
from protocol.messages import JoinTable, OpenTable, Refused, Rematch, Say, Seated, StartGame, TableState
from server.app import Running, running
from server.config import Config, Limits
from server.storage.sqlite_journal import SqliteJournal
from tests.server.peer import Peer, connected, eventually, game, memory_server, play_on


@contextlib.asynccontextmanager
async def finished(server: Running, players: int, **options: Any) -> AsyncIterator[list[Peer]]:
    """Seat peers at a table whose game they have played to its end."""
    async with game(server.port, players, **options) as peers:
        await play_on(peers, random.Random(1))
        for peer in peers:
            await state_where(peer, lambda state: state.stage == "over")
        yield peers


async def state_where(peer: Peer, fits: Callable[[TableState], bool]) -> TableState:
    """Return the first state of the table from now on that fits."""
    state = await peer.until(TableState)
    while not fits(state):
        state = await peer.until(TableState)
    return state


async def again(peer: Peer) -> Seated:
    """Play again; the peer knows nothing of the new game yet."""
    answer = await peer.ask(Rematch(peer.next_id()))
    assert isinstance(answer, Seated), answer
    peer.view, peer.seq, peer.seen, peer.legal = None, 0, [], None
    return answer


async def test_everybody_comes_to_the_same_seat_of_a_table_like_the_one_before() -> None:
    """The others are told where and who; the next seat begins; the tokens of before hold the new seats."""
    async with memory_server() as server, finished(server, 3, starting=2, watched=True) as peers:
        before = peers[0].code
        seated = await again(peers[1])
        assert (seated.seat, seated.token) == (1, None)
        assert seated.table != before
        state = await peers[1].until(TableState)
        assert [(seat.name, seat.here, seat.kept) for seat in state.seats] == [
            ("Player 0", False, True), ("Player 1", True, False), ("Player 2", False, True),
        ]  # fmt: skip
        assert (state.host, state.random_layout, state.stage) == (1, True, "gathering")
        for peer in (peers[0], peers[2], peers[3]):
            state = await state_where(peer, lambda state: state.seats[1].again)
            assert (state.table, state.next) == (before, seated.table)
            assert [(seat.here, seat.again) for seat in state.seats] == [
                (True, False), (False, True), (True, False),
            ]  # fmt: skip
        refused = await peers[1].refused(StartGame(peers[1].next_id()))
        assert (refused.code, "Player 0" in refused.text) == (Code.SEAT_KEPT, True)
        for peer in (peers[0], peers[2]):
            assert (await again(peer)).table == seated.table
        await peers[0].done(StartGame(peers[0].next_id()))
        for peer in peers[:3]:
            await peer.caught_up(peers[0].seq)
        assert peers[0].view is not None
        assert peers[0].view.turn == 0
        await play_on(peers[:3], random.Random(2), moves=3)
        async with connected(server.port) as back:
            await back.resume(seated.table, peers[2].token)
            assert (await peers[2].closed())[0] == CloseCode.TAKEN_OVER


async def test_who_watches_or_still_plays_does_not_play_again() -> None:
    async with memory_server() as server, game(server.port, 2, watched=True) as peers:
        assert (await peers[0].refused(Rematch(peers[0].next_id()))).code == Code.NOT_OVER
        assert (await peers[2].refused(Rematch(peers[2].next_id()))).code == Code.NOT_A_PLAYER
        await play_on(peers, random.Random(1))
        assert (await peers[2].refused(Rematch(peers[2].next_id()))).code == Code.NOT_A_PLAYER
        async with connected(server.port) as stranger:
            assert (await stranger.refused(Rematch(stranger.next_id()))).code == Code.NOT_AT_A_TABLE


async def test_a_seat_is_kept_for_its_player_and_then_free_for_others() -> None:
    """Nobody else can sit there meanwhile; who comes too late takes what is free, or stays where they are."""
    async with memory_server(rematch_grace_seconds=0.3) as server, finished(server, 3) as peers:
        code = (await again(peers[0])).table
        async with connected(server.port) as late, connected(server.port) as later:
            assert (await late.refused(JoinTable(late.next_id(), code, "Late"))).code == Code.TABLE_FULL
            await state_where(peers[0], lambda state: state.seats[1].name is None)
            await state_where(peers[0], lambda state: state.seats[2].name is None)
            assert (await late.join(code, "Late", 1)).seat == 1
            assert (await again(peers[1])).seat == 2
            refused = await peers[2].refused(Rematch(peers[2].next_id()))
            assert refused.code == Code.TABLE_FULL
            await peers[2].done(Say(peers[2].next_id(), "then not"))  # at the old table still
            await later.watch(code)


async def test_nobody_comes_and_the_table_is_closed() -> None:
    """The one who asked goes, the seats become free, and the next who asks opens another table."""
    async with (
        memory_server(rematch_grace_seconds=0.1, seat_grace_seconds=0.1) as server,
        finished(server, 2) as peers,
    ):
        code = (await again(peers[0])).table
        await peers[0].socket.close()
        await eventually(lambda: code not in server.lobby.tables)
        other = await again(peers[1])
        assert (other.table != code, other.seat) == (True, 1)


async def test_asking_again_after_a_lost_answer_leads_to_the_same_seat() -> None:
    """Whoever lost the line comes back to the old table, asks again, and takes the seat over from before."""
    async with memory_server() as server, finished(server, 2) as peers:
        old = peers[0].code
        first = await again(peers[0])
        async with connected(server.port) as back:
            await back.resume(old, peers[0].token)
            second = await again(back)
            assert (second.table, second.seat) == (first.table, first.seat)
            assert (await peers[0].closed())[0] == CloseCode.TAKEN_OVER


async def test_a_restart_keeps_who_comes_and_who_is_waited_for(tmp_path: Path) -> None:
    """Also where the next table is: the second player finds it after the restart."""
    async with running(Config(data=tmp_path)) as server, finished(server, 3) as peers:
        old, code = peers[0].code, (await again(peers[0])).table
    async with (
        running(Config(data=tmp_path)) as server,
        connected(server.port) as first,
        connected(server.port) as second,
        connected(server.port) as third,
    ):
        await first.resume(code, peers[0].token)
        state = await first.until(TableState)
        assert [(seat.name, seat.kept) for seat in state.seats] == [
            ("Player 0", False), ("Player 1", True), ("Player 2", True),
        ]  # fmt: skip
        await second.resume(old, peers[1].token)
        assert (await second.until(TableState)).next == code
        second.view = None
        assert (await again(second)).table == code
        await third.resume(code, peers[2].token)  # straight to the seat that is kept
        await first.done(StartGame(first.next_id()))


async def test_a_next_table_in_the_archive_is_found_there(tmp_path: Path) -> None:
    """Who still sits at the old one comes back to the game that everybody left."""
    limits = Limits(unattended_seconds=0.05)
    async with running(Config(data=tmp_path, limits=limits)) as server, finished(server, 2) as peers:
        old, code = peers[0].code, (await again(peers[0])).table
        await again(peers[1])
        await peers[0].done(StartGame(peers[0].next_id()))
        async with connected(server.port) as back:
            await back.resume(old, peers[1].token)
            for peer in peers:
                await peer.socket.close()
            await eventually(lambda: code not in server.lobby.tables)
            assert (await again(back)).table == code
            assert (await back.until(TableState)).stage == "playing"


async def test_the_next_table_and_where_it_is_are_stored_together(tmp_path: Path) -> None:
    """Or neither: no table is left behind that nobody finds."""
    async with running(Config(data=tmp_path)) as server, finished(server, 2) as peers:
        journal = server.lobby._journal
        assert isinstance(journal, SqliteJournal)
        journal._database.execute(
            "CREATE TEMP TRIGGER full BEFORE INSERT ON entry WHEN NEW.body LIKE '%continued%' "
            "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
        )
        assert (await peers[0].refused(Rematch(peers[0].next_id()))).code == Code.NOT_STORED
        old = peers[0].code
        assert list(server.lobby.tables) == [old] == list(journal.tables())
        journal._database.execute("DROP TRIGGER full")
        code = (await again(peers[0])).table
        assert list(journal.tables()) == [old, code]


async def test_the_limits_of_tables_hold_and_the_player_stays() -> None:
    async with memory_server(tables=1) as server, finished(server, 2) as peers:
        refused = await peers[0].ask(Rematch(peers[0].next_id()))
        assert isinstance(refused, Refused)
        assert refused.code == Code.TOO_MANY_TABLES
        await peers[0].done(Say(peers[0].next_id(), "still here"))
        assert (await peers[0].refused(OpenTable(peers[0].next_id(), 2, "A"))).code == Code.AT_A_TABLE


async def test_programs_are_programs_again() -> None:
    """Also one that comes late, when its seat was kept no longer."""
    async with (
        memory_server(rematch_grace_seconds=0.05, stand_in_seconds=0.0) as server,
        finished(server, 3, programs={1, 2}) as peers,
    ):
        code = (await again(peers[0])).table
        await again(peers[1])
        seating = server.lobby.tables[code].state
        assert seating.programs >= {1}
        await eventually(lambda: seating.players[2] is None)
        await again(peers[2])
        assert seating.programs == {1, 2}
        await peers[0].done(StartGame(peers[0].next_id()))
        await peers[1].socket.close()
        state = await state_where(peers[0], lambda state: not state.seats[1].here)
        assert state.seats[1].bot
