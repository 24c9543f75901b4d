"""A game that would wait for ever for a player: what its host may do, and what comes of it."""

import random
from pathlib import Path

import pytest

from engine.redaction import snapshot
from engine.view import eyes_of
from protocol.absence import WAIT, Absence, ByVote, MoveClock
from protocol.codes import Code
from protocol.messages import (
    EndGame,
    JoinTable,
    Leave,
    Rematch,
    Remove,
    Resume,
    Seated,
    Snapshot,
    StartGame,
    SubstituteNow,
    Sync,
)
from protocol.settings import AbsenceSetting
from tests.server.manual_clock import ManualClock
from tests.server.peer import all_caught_up, check_views, connected, game, play_on, table_of
from tests.server.storage.test_journal import resumed, table_facts
from tests.server.tables.hosted import changed, play_moves_of_stand_in, served
from tests.server.tables.states import state_where


@pytest.mark.parametrize("policy", [WAIT, MoveClock(3600)])
async def test_a_bot_plays_for_a_player_who_is_away(tmp_path: Path, policy: Absence) -> None:
    """After a minute, under the default policy too, and after a restart, until the player returns."""
    time = ManualClock()
    async with served(tmp_path, time) as server, game(server.port, 2, absence=policy) as peers:
        await play_on(peers, random.Random(1), moves=1)
        request = SubstituteNow(peers[0].next_id(), 1)
        assert (await peers[0].refused(request)).code == Code.NOT_AWAY
        await peers[1].done(Leave(peers[1].next_id()))
        await state_where(peers[0], lambda state: state.seats[1].removable_in == 60)
        time.advance(59)
        refused = await peers[0].refused(SubstituteNow(peers[0].next_id(), 1))
        assert (refused.code, refused.about) == (Code.TOO_EARLY, {"seat": "1", "seconds": "1"})
        time.advance(1)
        await peers[0].done(SubstituteNow(peers[0].next_id(), 1))
        await play_moves_of_stand_in(peers[:1], 1)
        again = SubstituteNow(peers[0].next_id(), 1)
        assert (await peers[0].refused(again)).code == Code.BOT_PLAYS_ALREADY
        await peers[0].done(peers[0].random_move(random.Random(1)))
        await play_moves_of_stand_in(peers[:1], 1)
    async with served(tmp_path) as server, resumed(server.port, peers[0]) as (anna,):
        await anna.done(anna.random_move(random.Random(2)))
        await play_moves_of_stand_in([anna], 1)
        async with resumed(server.port, peers[1]) as (bruno,):
            await anna.done(anna.random_move(random.Random(3)))
            await all_caught_up([anna, bruno], anna.seq)
            assert bruno.legal is not None


async def test_somebody_takes_an_abandoned_seat_over(tmp_path: Path) -> None:
    """With what the seat may know from now on and no more; the old token is void, also after a restart."""
    time = ManualClock()
    async with served(tmp_path, time) as server, game(server.port, 3, watched=True) as peers:
        anna, bruno, carla, zoe = peers
        await play_on(peers, random.Random(1), moves=7)
        await bruno.done(Leave(bruno.next_id()))
        async with connected(server.port) as late:
            assert (await late.refused(JoinTable(7, anna.code, "Dario"))).code == Code.GAME_RUNNING
        await state_where(carla, lambda state: state.seats[1].removable_in == 60)
        time.advance(60)
        await anna.done(Remove(anna.next_id(), 1))
        state = await state_where(carla, lambda state: state.seats[1].vacant)
        assert state.seats[1].name == "Player 1"
        await carla.done(Leave(carla.next_id()))
        refused = await carla.refused(JoinTable(carla.next_id(), anna.code, "Clara"))
        assert refused.code == Code.KNOWS_ANOTHER_HAND
        await carla.resume(anna.code, carla.token, carla.seq)
        assert (await bruno.refused(Resume(7, anna.code, bruno.token))).code == Code.BAD_TOKEN
        await zoe.done(Leave(zoe.next_id()))
        zoe.go_back_to(0, [])
        refused = await zoe.refused(JoinTable(zoe.next_id(), anna.code, "player 2"))
        assert refused.code == Code.NAME_TAKEN
        seated = await zoe.join(anna.code, "Zoe")
        assert (seated.seat, seated.taken_over) == (1, "Player 1")
        await zoe.until(Snapshot)
        held = table_of(server, peers).state.game
        assert held is not None
        assert zoe.seat is not None
        assert zoe.view == snapshot(held.view, eyes_of(zoe.seat))
        state = await state_where(anna, lambda state: state.seats[1].name == "Zoe")
        assert not state.seats[1].vacant
        facts = table_facts(table_of(server, peers).state)
    async with served(tmp_path) as server:
        assert table_facts(table_of(server, peers).state) == facts
        async with connected(server.port) as gone, resumed(server.port, anna, zoe, carla) as again:
            assert (await gone.refused(Resume(8, anna.code, bruno.token))).code == Code.BAD_TOKEN
            check_views(table_of(server, again), again)
            await play_on(again, random.Random(2))
            assert again[0].view is not None
            assert again[0].view.result is not None


async def test_a_hand_cannot_be_stolen_while_the_connection_is_lost() -> None:
    """Everybody learns how long the player has to come back, and no setting of the host's makes it less."""
    time = ManualClock()
    async with served(time=time) as server, game(server.port, 3) as (anna, bruno, carla):
        for _ in range(2):  # a second time after having come back
            await bruno.done(Leave(bruno.next_id()))
            await state_where(carla, lambda state: state.seats[1].removable_in == 60)
            await changed(anna, AbsenceSetting(ByVote(0)))
            time.advance(59)
            refused = await anna.refused(Remove(anna.next_id(), 1))
            assert (refused.code, refused.about) == (Code.TOO_EARLY, {"seat": "1", "seconds": "1"})
            await bruno.resume(anna.code, bruno.token, bruno.seq)
            state = await state_where(carla, lambda state: state.seats[1].here)
            assert state.seats[1].removable_in is None


async def test_the_host_ends_a_game(tmp_path: Path) -> None:
    """Nobody wins, nobody can move, hidden pieces stay hidden, and the players can play again."""
    async with served(tmp_path) as server, game(server.port, 2, watched=True) as peers:
        await play_on(peers, random.Random(1), moves=5)
        await peers[0].done(EndGame(peers[0].next_id()))
        for peer in peers:
            state = await state_where(peer, lambda state: state.ended)
            assert (state.stage, peer.legal) == ("over", None)
        mover = peers[1]
        assert mover.view is not None
        await mover.done(Sync(mover.next_id(), 0))
        assert mover.legal is None
        assert (await peers[0].refused(EndGame(peers[0].next_id()))).code == "game-over"
        facts = table_facts(table_of(server, peers).state)
    async with served(tmp_path) as server, resumed(server.port, *peers[:2]) as again:
        assert table_facts(table_of(server, again).state) == facts
        assert all(peer.legal is None for peer in again)
        assert isinstance(await again[1].ask(Rematch(again[1].next_id())), Seated)
        assert isinstance(await again[0].ask(Rematch(again[0].next_id())), Seated)
        again[0].go_back_to(0, [])
        await again[0].done(StartGame(again[0].next_id()))
