"""After a game: the next table, and what remains of this one."""

import asyncio
import gc
import random
from pathlib import Path
from unittest.mock import AsyncMock

import pytest

from engine.game import Game
from engine.pieces import Seat
from protocol import messages
from protocol.absence import ByBot
from protocol.codes import CloseCode, Code
from protocol.limits import PRIVATE_CODE_LENGTH
from protocol.settings import (
    ChosenSwitches,
)
from server.app import running
from server.config import Config, Limits
from server.storage.entries import EndedByHost
from server.storage.sqlite.journal import SqliteJournal
from tests.server.manual_clock import ManualClock
from tests.server.peer import Peer, all_connected, connected, eventually, next_state_where
from tests.server.playing import (
    all_caught_up,
    changed,
    check_views,
    finished_game,
    full_table,
    game,
    happen,
    memory_server,
    play_on,
    rematch,
    table_of,
)
from tests.server.storage.test_journal import journal_of
from tests.server.tables.hosted import check_makes_no_room, queued_requests, served
from tests.server.tables.rooms.test_host_powers import SETTINGS, SHOWN, SWITCHED


async def test_everybody_gets_the_same_seat_at_the_next_table() -> None:
    """The others see the next table and its players, the next seat starts, and the old tokens are valid."""
    async with memory_server() as server, finished_game(server, 3, starting=2, watched=True) as peers:
        before = peers[0].code
        seated = await rematch(peers[1])
        assert (seated.seat, seated.token) == (1, None)
        assert seated.table != before
        state = await peers[1].until(messages.TableState)
        assert [(seat.name, seat.here, seat.kept) for seat in state.seats] == [
            ("Player 0", False, True), ("Player 1", True, False), ("Player 2", False, True),
        ]  # fmt: skip
        assert (state.host, state.random_layout, state.stage) == (1, True, "gathering")
        for peer in (peers[0], peers[2], peers[3]):
            state = await next_state_where(peer, lambda state: state.seats[1].again)
            assert (state.table, state.next) == (before, seated.table)
            assert [(seat.here, seat.again) for seat in state.seats] == [
                (True, False), (False, True), (True, False),
            ]  # fmt: skip
        refused = await peers[1].refused(messages.StartGame)
        assert (refused.code, "Player 0" in refused.text) == (Code.SEAT_KEPT, True)
        for peer in (peers[0], peers[2]):
            assert (await rematch(peer)).table == seated.table
        await peers[0].done(messages.StartGame)
        for peer in peers[:3]:
            await peer.caught_up(peers[0].seq)
        assert peers[0].sight.turn == 0
        await play_on(peers[:3], random.Random(2), moves=3)
        async with connected(server.port) as resumed:
            await resumed.resume(seated.table, peers[2].token)
            assert (await peers[2].closed())[0] == CloseCode.TAKEN_OVER


async def test_choices_of_peoples_come_along() -> None:
    """As kept seats and once the players are there; one who lost the seat keeps it unless it is taken."""
    async with (
        memory_server(rematch_grace_seconds=0.3) as server,
        finished_game(server, 3, peoples={0: "A", 1: "E", 2: "M"}) as peers,
    ):
        code = (await rematch(peers[0])).table
        first = await peers[0].until(messages.TableState)
        assert [(each.people, each.chosen, each.kept) for each in first.seats] == [
            ("A", True, False), ("E", True, True), ("M", True, True),
        ]  # fmt: skip
        before = peers[1].code
        for peer in peers[1:]:
            await peer.done(messages.Leave)
        await next_state_where(peers[0], lambda state: not any(each.kept for each in state.seats))
        await peers[0].done(messages.ChoosePeople, "M")
        for peer in peers[1:]:
            await peer.resume(before, peer.token)
            assert (await rematch(peer)).table == code
        last = await next_state_where(peers[0], lambda state: all(each.here for each in state.seats))
        assert [(each.people, each.chosen) for each in last.seats] == [
            ("M", True), ("E", True), ("L", False),
        ]  # fmt: skip


async def test_after_a_private_table_the_next_has_a_long_code_too() -> None:
    switches = ChosenSwitches(private=True)
    async with memory_server() as server, finished_game(server, 2, switches=switches) as peers:
        assert len((await rematch(peers[0])).table) == PRIVATE_CODE_LENGTH


async def test_a_seat_is_kept_for_its_player_for_a_time() -> None:
    """And for as long as they are still at the end of the game before."""
    async with memory_server(rematch_grace_seconds=0.3) as server, finished_game(server, 3) as peers:
        before, code = peers[0].code, (await rematch(peers[0])).table
        async with connected(server.port) as late, connected(server.port) as later:
            assert await late.refusal(messages.JoinTable, code, "Late") == Code.TABLE_FULL
            await peers[2].done(messages.Leave)
            state = await next_state_where(peers[0], lambda state: state.seats[2].name is None)
            assert state.seats[1].kept
            await peers[1].done(messages.Leave)
            await next_state_where(peers[0], lambda state: state.seats[1].name is None)
            assert (await late.join(code, "Late", 1)).seat == 1
            for peer in peers[1:]:
                await peer.resume(before, peer.token)
            assert (await rematch(peers[1])).seat == 2
            assert await peers[2].refusal(messages.Rematch) == Code.TABLE_FULL
            await peers[2].done(messages.Sync, 0)  # at the old table still
            await later.watch(code)


async def test_a_next_table_without_players_is_closed() -> None:
    async with (
        memory_server(rematch_grace_seconds=0.1, waiting_seat_seconds=0.1) as server,
        finished_game(server, 2) as peers,
    ):
        code = (await rematch(peers[0])).table
        await peers[0].socket.close()
        await eventually(lambda: code not in server.lobby.tables)
        other = await rematch(peers[1])
        assert (other.table != code, other.seat) == (True, 1)


async def test_a_player_who_goes_on_sits_at_one_table_only() -> None:
    """A return to the old seat in the meantime leaves no seat without its player at the next table."""
    async with memory_server() as server, finished_game(server, 2) as peers, connected(server.port) as again:
        code, token = peers[0].code, peers[0].token
        earlier, later = server.lobby.tables[code], server.lobby.tables[(await rematch(peers[1])).table]
        await later._lock.acquire()
        await peers[0].send(messages.Rematch(peers[0].next_id()))
        await eventually(lambda: queued_requests(later) == 1)
        busy = asyncio.create_task(earlier._lock.acquire())
        await asyncio.sleep(0)
        queued = queued_requests(earlier)
        await again.send(messages.Resume(again.next_id(), code, token))
        await eventually(lambda: queued_requests(earlier) == queued + 1)
        later._lock.release()
        assert (await peers[0].until(messages.Seated)).table == later.code
        await busy
        earlier._lock.release()
        assert (await again.until(messages.Seated)).table == code
        assert len(later.audience.seated) == 2
        peers[0].socket.transport.abort()
        await eventually(lambda: len(later.audience.seated) == 1)


async def test_an_archived_next_table_is_restored(tmp_path: Path) -> None:
    limits = Limits(unattended_seconds=0.05)
    async with running(Config(data=tmp_path, limits=limits)) as server, finished_game(server, 2) as peers:
        old, code = peers[0].code, (await rematch(peers[0])).table
        await rematch(peers[1])
        await peers[0].done(messages.StartGame)
        async with connected(server.port) as resumed:
            await resumed.resume(old, peers[1].token)
            for peer in peers:
                await peer.socket.close()
            await eventually(lambda: code not in server.lobby.tables)
            assert (await rematch(resumed)).table == code
            assert (await resumed.until(messages.TableState)).stage == "playing"


async def test_the_next_table_and_its_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are stored or neither is, so no table is left that nobody finds, wherever it goes on."""
    async with running(Config(data=tmp_path)) as server, finished_game(server, 2) as peers:
        journal = journal_of(server)
        journal._database.execute(
            "CREATE TEMP TRIGGER full BEFORE INSERT ON entry WHEN NEW.body LIKE '%continued%' "
            "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
        )
        assert await peers[0].refusal(messages.Rematch) == Code.NOT_STORED
        old = peers[0].code
        assert list(server.lobby.tables) == [old] == list((await journal.kept()).tables)
        journal._database.execute("DROP TRIGGER full")
        code = (await rematch(peers[0])).table
        assert list((await journal.kept()).tables) == [old, code]
        monkeypatch.setattr(SqliteJournal, "whereabouts", AsyncMock(return_value="ws://other.example"))
        server.lobby.tables[code].give_up()
        assert await peers[1].refusal(messages.Rematch) == Code.TABLE_ELSEWHERE


async def test_a_table_never_makes_room_for_the_next_one(tmp_path: Path) -> None:
    await check_makes_no_room(tmp_path, messages.Rematch(1))


async def test_programs_are_programs_in_a_rematch_too() -> None:
    async with (
        memory_server(rematch_grace_seconds=0.05, stand_in_seconds=0.0) as server,
        finished_game(server, 3, programs={1, 2}) as peers,
    ):
        code = (await rematch(peers[0])).table
        await rematch(peers[1])
        seating = server.lobby.tables[code].state
        assert seating.programs >= {1}
        await eventually(lambda: seating.players[2] is None)
        await rematch(peers[2])
        assert seating.programs == {1, 2}
        await peers[0].done(messages.StartGame)
        await peers[1].socket.close()
        state = await next_state_where(peers[0], lambda state: not state.seats[1].here)
        assert state.seats[1].bot


async def record_for(peer: Peer) -> str:
    answer = await peer.answer(messages.Record, messages.GetRecord)
    return "\n".join(answer.lines) + "\n"


def standings(state: messages.TableState) -> list[messages.Standing]:
    return [seat.standing for seat in state.seats]


async def test_a_finished_game_that_everybody_has_left_takes_little_memory() -> None:
    """Until somebody comes back: then it is all there, for its players, for spectators and for a rematch."""

    def games() -> int:
        return sum(type(each) is Game for each in gc.get_objects())

    async with memory_server() as server:
        before = games()
        async with finished_game(server, 3) as peers:
            text = await record_for(peers[0])
            table = table_of(server, peers)
        await eventually(lambda: not table.audience.seated)
        await eventually(lambda: games() <= before)
        assert table.summary().stage == "over"
        async with connected(server.port) as again, connected(server.port) as late:
            await again.resume(peers[1].code, peers[1].token)
            await late.watch(peers[1].code)
            for peer in (again, late):
                await peer.news()
                assert peer.sight.result == peers[1].sight.result
                assert await record_for(peer) == text
            check_views(table, [again, late])
            await rematch(again)


async def test_standings_add_up_over_the_games_of_an_evening(tmp_path: Path) -> None:
    async with running(Config(data=tmp_path)) as server, game(server.port, 2) as peers:
        expected = [messages.Standing(), messages.Standing()]
        for number in range(2):
            if number:
                for peer in peers:
                    await rematch(peer)
                state = await next_state_where(peers[0], lambda state: bool(state.seats[1].here))
                assert standings(state) == expected
                await peers[0].done(messages.StartGame)
                await all_caught_up(peers, peers[0].seq)
            await play_on(peers, random.Random(number))
            state = await next_state_where(peers[0], lambda state: state.stage == "over")
            result = peers[0].sight.result
            assert result is not None
            expected = [
                messages.Standing(
                    each.games + 1, each.wins + (seat in result.winners), each.points + tally.points
                )
                for seat, (each, tally) in enumerate(zip(expected, result.tallies, strict=True))
            ]
            assert standings(state) == expected
        code = (await rematch(peers[1])).table
    async with running(Config(data=tmp_path)) as server, connected(server.port) as back:
        await back.resume(code, peers[0].token)
        assert standings(await back.until(messages.TableState)) == expected


async def test_the_next_table_has_the_settings_and_the_host_of_this_one() -> None:
    async with served() as server, full_table(server.port, 2) as peers:
        await changed(server, peers[0], *SETTINGS)
        before = table_of(server, peers).state
        assert SHOWN(before) == ("Friday", SWITCHED, ByBot(60))
        await peers[0].done(messages.StartGame)
        await all_caught_up(peers, peers[0].seq)
        await play_on(peers, random.Random(1))
        following = server.lobby.tables[(await rematch(peers[1])).table].state
        assert SHOWN(following) == SHOWN(before)
        assert following.host == 1, "until the host comes"
        await rematch(peers[0])
        assert following.host == 0


async def test_a_host_who_left_after_the_game_is_host_of_the_next_one(tmp_path: Path) -> None:
    """Somebody else is until then, but not at the table of the finished game."""
    time = ManualClock()
    async with served(tmp_path, time) as server, finished_game(server, 3) as peers:
        await peers[0].done(messages.Leave)
        await next_state_where(peers[1], lambda state: not state.seats[0].here)
        time.advance(Limits().host_grace_seconds)
        await rematch(peers[2])
        assert (await next_state_where(peers[2], lambda state: state.seats[2].here)).host == 2
        assert (await rematch(peers[1])).seat == 1
        async with connected(server.port) as back:
            await back.resume(peers[1].code, peers[0].token)
            assert (await next_state_where(back, lambda state: state.seats[0].here)).host == 0


async def test_a_game_without_a_result_is_played_again() -> None:
    async with memory_server() as server, game(server.port, 2) as peers:
        assert await peers[0].refusal(messages.Rematch) == Code.NOT_OVER
        await happen(server, peers[0], EndedByHost())
        for peer in (peers[1], peers[0]):
            await rematch(peer)
        await peers[0].done(messages.StartGame)


async def test_the_others_play_again_without_a_removed_player() -> None:
    async with memory_server(stand_in_seconds=0) as server, game(server.port, 2) as peers:
        await play_on(peers, random.Random(1))
        await server.lobby.registry.table(peers[0].code).remove_player(Seat(0))
        answer = await peers[1].answer(messages.Seated, messages.Rematch)
        state = await peers[1].until(messages.TableState)
        assert [seat.name for seat in state.seats] == [None, "Player 1"]
        async with connected(server.port) as other:
            await other.join(answer.table, "Other")
            peers[1].go_back_to(0, [])
            await peers[1].done(messages.StartGame)


async def test_the_next_table_has_room_for_those_who_watched() -> None:
    """If the table grew with the people, so does the next one."""
    async with served() as server, all_connected(server.port, 3) as peers:
        code = (await peers[0].open(2, "Anna", grows=True)).table
        await peers[1].join(code, "Bruno")
        await peers[0].done(messages.StartGame)
        await all_caught_up(peers[:2], peers[0].seq)
        await peers[2].watch(code)
        await play_on(peers[:2], random.Random(1))
        seated = await rematch(peers[0])
        await peers[2].done(messages.Leave)
        assert (await peers[2].join(seated.table, "Carla")).seat == 2
        await rematch(peers[1])
        state = await next_state_where(peers[0], lambda state: all(each.here for each in state.seats))
        assert ([seat.name for seat in state.seats], state.grows) == (["Anna", "Bruno", "Carla"], True)
