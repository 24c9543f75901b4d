"""What players settle themselves before the game: who is ready, where they sit, and what they play."""

from pathlib import Path

import pytest

from client.bots.brains import at_random
from protocol.absence import ByBot
from protocol.codes import Code
from protocol.messages import (
    Arrange,
    ChangeSeat,
    ChoosePeople,
    Leave,
    Remove,
    Reseated,
    SayReady,
    SeatBot,
    StartGame,
    TableState,
)
from protocol.settings import AbsenceSetting, Hints, Private, Setting, Starting, Title
from server.app import running
from server.config import Config
from tests.server.manual_clock import ManualClock
from tests.server.peer import Peer, check_views, connected, full_table, memory_server, table_of
from tests.server.storage.test_journal import resumed, table_facts
from tests.server.tables.hosted import changed, served
from tests.server.tables.states import state_where


def ready_in(state: TableState) -> list[int]:
    return [seat for seat, each in enumerate(state.seats) if each.ready]


async def say_ready(*peers: Peer, on: bool = True) -> None:
    for peer in peers:
        await peer.done(SayReady(peer.next_id(), on))


async def test_everybody_sees_who_is_ready_and_a_restart_keeps_it(tmp_path: Path) -> None:
    """Programs always are; whoever takes it back is not; the game starts all the same."""
    async with served(tmp_path) as server, full_table(server.port, 3, programs={2}, watched=True) as peers:
        await say_ready(peers[2], on=False)
        await say_ready(peers[0], peers[1])
        for peer in peers:
            await state_where(peer, lambda state: ready_in(state) == [0, 1, 2])
        await say_ready(peers[0], on=False)
        facts = table_facts(table_of(server, peers).state)
    async with served(tmp_path) as server, resumed(server.port, *peers[:3]) as again:
        assert table_facts(table_of(server, again).state) == facts
        await state_where(again[1], lambda state: ready_in(state) == [1, 2])
        await again[0].done(StartGame(again[0].next_id()))
        await state_where(again[1], lambda state: state.stage == "playing" and not ready_in(state))


@pytest.mark.parametrize(
    ("setting", "agreed"),
    [
        (Starting(1), False),
        (AbsenceSetting(ByBot(60)), False),
        (Hints(on=True), False),
        (Title("Friday"), True),
        (Private(on=True), True),
    ],
)
async def test_a_game_that_changes_is_agreed_on_anew(setting: Setting, *, agreed: bool) -> None:
    """What does not change the game changes nobody's mind."""
    async with memory_server() as server, full_table(server.port, 2) as peers:
        await say_ready(*peers)
        await changed(peers[0], setting)
        assert table_of(server, peers).state.ready == ({0, 1} if agreed else set())


async def test_a_newcomer_is_agreed_on_anew() -> None:
    """A player who leaves is not ready, nor is anybody once the seat is taken again, or seats change."""
    async with memory_server() as server, full_table(server.port, 3) as peers:
        state = table_of(server, peers).state
        await say_ready(*peers)
        await peers[2].done(Leave(peers[2].next_id()))
        assert state.ready == {0, 1}
        await peers[2].join(peers[0].code, "Newcomer")
        assert state.ready == set()
        await say_ready(*peers)
        await peers[0].done(Arrange(peers[0].next_id(), (1, 0, 2)))
        assert state.ready == set()


async def test_a_player_moves_to_a_free_seat(tmp_path: Path) -> None:
    """The token, the host and who starts go along; the seat left is free for others."""
    async with served(tmp_path) as server, connected(server.port) as host, connected(server.port) as bruno:
        await host.open(4, "Anna", starting=0)
        await bruno.join(host.code, "Bruno")
        await say_ready(host, bruno)
        await host.done(ChangeSeat(host.next_id(), 3))
        assert [each for each in host.received if isinstance(each, Reseated)] == [Reseated(3)]
        state = await state_where(bruno, lambda state: state.seats[3].name == "Anna")
        assert (state.host, state.starting, ready_in(state)) == (3, 3, [])
        async with connected(server.port) as carla:
            await carla.join(host.code, "Carla", 0)
            facts = table_facts(table_of(server, [host]).state)
            async with connected(server.port) as late:
                await late.join(host.code, "Dario")
                await host.done(StartGame(host.next_id()))
                for peer in (host, bruno, carla, late):
                    await peer.caught_up(host.seq)
                check_views(table_of(server, [host]), [host, bruno, carla, late])
                assert [peer.seat for peer in (host, bruno, carla, late)] == [3, 1, 0, 2]
        assert facts["host"] == 3
    async with served(tmp_path) as server, resumed(server.port, host) as (again,):
        assert again.seat == 3


async def test_moving_keeps_no_absent_players_seat() -> None:
    """However often others move, the seat of a player who stays away is free after its time."""
    clock = ManualClock()
    async with served(time=clock) as server, full_table(server.port, 3) as peers:
        await peers[2].done(Leave(peers[2].next_id()))
        await peers[1].socket.close()
        await state_where(peers[0], lambda state: not state.seats[1].here)
        for seat in (2, 0) * 5:
            clock.advance(table_of(server, peers)._context.limits.seat_grace_seconds / 8)
            if table_of(server, peers).state.players[1] is None:
                break
            await peers[0].done(ChangeSeat(peers[0].next_id(), seat))
        await state_where(peers[0], lambda state: state.seats[1].name is None)


def peoples_in(state: TableState) -> str:
    """Return the seats' peoples, the chosen ones as capital letters."""
    return "".join(
        (each.people or "-") if each.chosen else (each.people or "-").lower() for each in state.seats
    )


async def choose(peer: Peer, people: str | None) -> None:
    await peer.done(ChoosePeople(peer.next_id(), people))


async def see_peoples(peers: list[Peer], peoples: str) -> None:
    for peer in peers:
        await state_where(peer, lambda state: peoples_in(state) == peoples)


async def test_players_choose_their_peoples_and_a_restart_keeps_them(tmp_path: Path) -> None:
    """Everybody sees it, spectators too, and the game deals what was shown."""
    async with served(tmp_path) as server, full_table(server.port, 4, watched=True) as peers:
        await see_peoples(peers, "eslm")
        await choose(peers[1], "A")
        await see_peoples(peers, "eAlm")
        await choose(peers[3], "E")
        await see_peoples(peers, "sAlE")
        await choose(peers[1], None)
        await see_peoples(peers, "mslE")
        await choose(peers[1], "L")
        await see_peoples(peers, "sLmE")
        facts = table_facts(table_of(server, peers).state)
    async with served(tmp_path) as server, resumed(server.port, *peers[:4]) as again:
        assert table_facts(table_of(server, again).state) == facts
        await see_peoples(again, "sLmE")
        await again[0].done(StartGame(again[0].next_id()))
        for peer in again:
            await state_where(peer, lambda state: state.stage == "playing" and peoples_in(state) == "----")
            assert peer.view is not None
            assert ["".join(own) for own in peer.view.start.peoples] == ["S", "L", "M", "E"]


async def test_a_people_is_chosen_once() -> None:
    """The refusal says by whom and what is left; what a seat merely would have can be chosen."""
    async with memory_server() as server, full_table(server.port, 3) as peers:
        await choose(peers[0], "M")
        refused = await peers[1].refused(ChoosePeople(peers[1].next_id(), "M"))
        assert (refused.code, refused.about) == (
            Code.PEOPLE_TAKEN,
            {"people": "M", "name": "Player 0", "free_peoples": "E, S, L, A"},
        )
        await choose(peers[1], "L")
        await see_peoples(peers, "MLe")


async def test_saying_it_twice_stores_nothing_and_tells_nobody() -> None:
    """Nor does a choice change anybody's mind: colours do not change the game."""
    async with memory_server() as server, full_table(server.port, 2) as peers:
        await say_ready(*peers)
        await choose(peers[1], "A")
        await see_peoples(peers, "eA")
        before = table_facts(table_of(server, peers).state)
        assert before["ready"] == {0, 1}
        await say_ready(*peers)
        await choose(peers[1], "A")
        await choose(peers[0], None)
        assert table_facts(table_of(server, peers).state) == before
        await peers[0].nothing_but_pong()


async def test_a_choice_goes_with_its_player_and_ends_when_the_player_leaves() -> None:
    """The host swaps seats, a player moves, one leaves, one is removed, and bots get what is left."""
    async with running(Config(brains={"random": at_random})) as server, full_table(server.port, 4) as peers:
        await choose(peers[0], "S")
        await choose(peers[2], "A")
        await choose(peers[3], "E")
        await see_peoples(peers, "SlAE")
        await peers[0].done(Arrange(peers[0].next_id(), (2, 1, 3, 0)))
        await see_peoples(peers, "AlES")
        await peers[1].done(Leave(peers[1].next_id()))
        await peers[2].done(ChangeSeat(peers[2].next_id(), 1))
        await see_peoples([peers[0]], "lAES")
        await peers[0].done(Remove(peers[0].next_id(), 1))
        await see_peoples([peers[0]], "lmES")
        for seat in (0, 1):
            await peers[0].done(SeatBot(peers[0].next_id(), "random", seat))
        await see_peoples([peers[0]], "lmES")
