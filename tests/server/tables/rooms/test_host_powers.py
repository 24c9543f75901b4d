"""What the host of a table may do, and the people who run the server."""

import random
from ipaddress import ip_network
from operator import attrgetter
from pathlib import Path
from unittest.mock import AsyncMock

import pytest
from msgspec import structs

from engine.game import RandomChance
from engine.pieces import Seat
from engine.redaction import snapshot
from engine.view import eyes_of
from protocol import messages
from protocol.absence import WAIT, Absence, ByBot, ByVote, GameClock, MoveClock, Wait
from protocol.codes import Code
from protocol.settings import (
    USUAL,
    AbsenceSetting,
    Hints,
    Private,
    Setting,
    Spectators,
    Starting,
    Switches,
    Title,
    unusual,
)
from server.app import running
from server.config import Config, Limits
from server.errors import JournalError
from server.refusal import Refusal
from server.tables.state.persistent_state import PersistentState, Player
from tests.server.manual_clock import ManualClock
from tests.server.peer import Peer, all_connected, connected, eventually, state_where
from tests.server.playing import (
    all_caught_up,
    archived_game,
    check_views,
    full_table,
    game,
    memory_server,
    peer_on_turn,
    play_on,
    table_of,
)
from tests.server.storage.test_journal import resumed, stored_entries
from tests.server.tables.hosted import (
    disconnect,
    play_moves_of_stand_in,
    sent_away,
    served,
)

SWITCHED = Switches(*(not on for on in structs.astuple(USUAL)))
SETTINGS: tuple[Setting, ...] = (
    *(Title("Friday"), *unusual(SWITCHED)),
    *(Starting(1), AbsenceSetting(ByBot(60))),
)


SHOWN = attrgetter("title", "switches", "absence")


async def change(host: Peer, *settings: Setting) -> None:
    for setting in settings:
        await host.done(messages.ChangeSetting, setting)


async def test_everybody_is_told_the_settings() -> None:
    async with served() as server, full_table(server.port, 2) as peers:
        await change(peers[0], *SETTINGS)
        state = await state_where(peers[1], lambda state: state.absence == ByBot(60))
        assert SHOWN(state) == ("Friday", SWITCHED, ByBot(60))
        assert state.starting == 1
        await peers[0].done(messages.StartGame)
        await all_caught_up(peers, peers[0].seq)
        assert peers[0].sight.start.starting == 1


async def test_a_table_closed_to_spectators_sends_them_away() -> None:
    async with memory_server() as server, game(server.port, 2, watched=True) as peers:
        await change(peers[0], Spectators(on=False))
        assert (await sent_away(peers[2])).code == Code.NO_SPECTATORS
        assert await peers[2].refusal(messages.Watch, peers[0].code) == Code.NO_SPECTATORS
        await change(peers[0], Spectators(on=True))
        await peers[2].watch(peers[0].code)


async def test_a_game_that_the_host_changes_is_agreed_on_anew() -> None:
    async with memory_server() as server, full_table(server.port, 3) as peers:
        state = table_of(server, peers).state
        for setting in (Starting(1), AbsenceSetting(ByBot(60)), Hints(on=True)):
            for peer in peers:
                await peer.done(messages.SayReady, on=True)
            await change(peers[0], Title(f"not {setting}"[:20]), Private(on=True))
            assert state.ready == {0, 1, 2}
            await change(peers[0], setting)
            assert state.ready == set()


async def test_a_clock_comes_and_goes_with_a_round() -> None:
    """It is the same for everybody: no host has only the others play against it."""
    time = ManualClock()
    async with served(time=time) as server, game(server.port, 2, absence=GameClock(600)) as peers:
        host, state = peers[0], table_of(server, peers).state
        rng = random.Random(1)

        async def time_left_after_a_move() -> int | None:
            mover = peer_on_turn(peers)
            assert mover is not None
            await mover.done(mover.random_move(rng))
            await all_caught_up(peers, mover.seq)
            return state.clocks.allowance(Seat(1 - (mover.seat or 0)))

        time.advance(100)
        await change(host, AbsenceSetting(MoveClock(5)))
        assert state.clocks.allowance(Seat(0)) == 500_000
        assert await time_left_after_a_move() == 600_000
        assert await time_left_after_a_move() == 5000
        await change(host, AbsenceSetting(WAIT))
        assert await time_left_after_a_move() == 5000
        assert await time_left_after_a_move() is None
        await change(host, AbsenceSetting(GameClock(300)))
        assert await time_left_after_a_move() == 300_000
        assert await time_left_after_a_move() == 200_000
        await change(host, AbsenceSetting(MoveClock(5)), AbsenceSetting(WAIT))


async def test_a_clock_comes_although_a_player_does_nothing(tmp_path: Path) -> None:
    """Until it comes, the turns of the round have a limit, the host's too, which no change makes shorter."""
    time = ManualClock()
    async with served(tmp_path, time) as server, game(server.port, 3, starting=1) as peers:
        host, state, before = peers[0], table_of(server, peers).state, peers[0].seq
        time.advance(1000)
        await change(
            host, AbsenceSetting(MoveClock(200)), AbsenceSetting(WAIT), AbsenceSetting(GameClock(30))
        )
        await state_where(peers[2], lambda state: state.turn_limit == 120)
        time.advance(100)
        await change(host, AbsenceSetting(MoveClock(5)))  # it begins again
        time.advance(119)
        await host.ask(messages.Ping)
        assert host.seq == before  # nobody has moved
        time.advance(1)
        await play_moves_of_stand_in(peers, 1)
        await change(host, AbsenceSetting(MoveClock(200)))
        time.advance(200)
        await play_moves_of_stand_in(peers, 1)
        await change(host, AbsenceSetting(WAIT))
        assert [state.clocks.allowance(Seat(seat)) for seat in range(3)] == [200_000] * 3
    time = ManualClock()
    async with served(tmp_path, time) as server, resumed(server.port, *peers) as again:
        host, state = again[0], table_of(server, again).state
        await change(host, AbsenceSetting(GameClock(30)))
        time.advance(200)
        await play_moves_of_stand_in(again, 1)
        assert [state.clocks.left(Seat(seat)) for seat in range(3)] == [30_000] * 3  # nothing is used yet
        assert (await state_where(host, lambda state: state.turn_limit is None)).absence == GameClock(30)


async def test_a_player_is_removed_before_the_game() -> None:
    async with memory_server() as server, full_table(server.port, 3) as peers:
        await peers[0].done(messages.Remove, 1)
        assert (await sent_away(peers[1])).code == Code.REMOVED
        state = await state_where(peers[2], lambda state: state.seats[1].name is None)
        assert (state.host, state.seats[1].removed) == (0, True)
        code = peers[0].code
        for again in (messages.JoinTable(5, code, "Sombody"), messages.Watch(6, code)):
            refused = await peers[1].refused(again)
            assert (refused.code, refused.about) == (Code.REMOVED, {"table": code, "seconds": "600"})
        assert await peers[1].refusal(messages.Resume, code, peers[1].token) == Code.BAD_TOKEN
        async with connected(server.port) as other:
            assert await other.refusal(messages.JoinTable, code, "PLAYER 1") == Code.REMOVED
            assert (await other.join(code, "Carla")).seat == 1
            await other.done(messages.Leave)
            await state_where(peers[2], lambda state: not state.seats[1].removed and not state.seats[1].name)
        await peers[1].open(2)  # other tables are open to them


async def test_nobody_is_removed_from_a_free_seat() -> None:
    async with memory_server() as server, full_table(server.port, 3) as peers:
        await peers[2].done(messages.Leave)
        refused = await peers[0].refused(messages.Remove, 2)
        assert (refused.code, refused.about) == (Code.NOBODY_THERE, {"seat": "2"})


async def test_who_was_removed_while_away_cannot_come_straight_back() -> None:
    """Nor for a minute anybody new at the address, unless it is the host's; swapped seats change nothing."""
    async with memory_server() as server, full_table(server.port, 3) as peers:
        await disconnect(peers[1], peers[0])
        await peers[0].done(messages.Arrange, (0, 2, 1))
        await peers[0].done(messages.Remove, 2)
        async with connected(server.port) as again:
            assert await again.refusal(messages.JoinTable, peers[0].code, "player 1") == Code.REMOVED
            await again.join(peers[0].code, "Carla")


async def test_others_at_the_address_of_who_was_removed_wait_for_a_minute() -> None:
    """They are not told that they were removed; those who were are still excluded then.

    They wait even if one of them is at the table: two could protect each other. An IPv6 network of 48 bits is
    one address: it is free to have. Elsewhere, somebody else may have the same name.
    """
    time = ManualClock()
    config = Config(timers=lambda: time, trusted_proxies=(ip_network("127.0.0.1"),))
    addresses = ["192.0.2.1", *(f"2001:db8:{net}::1" for net in ("7:1", "7:2", "7:1", "8"))]
    async with running(config) as server, all_connected(server.port, addresses) as peers:
        anna, bruno, carla, dario, other_bruno = peers
        await anna.open(4)
        await bruno.join(anna.code, "Bruno")
        await dario.join(anna.code, "Dario")
        await anna.done(messages.Remove, 1)
        refused = await carla.refused(messages.JoinTable, anna.code, "Carla")
        assert (refused.code, refused.about) == (Code.REMOVED_NEARBY, {"table": anna.code, "seconds": "60"})
        assert await carla.refusal(messages.JoinTable, anna.code, "Bruno") == Code.REMOVED
        time.advance(Limits().removed_address_seconds)
        assert await carla.refusal(messages.JoinTable, anna.code, "Bruno") == Code.REMOVED
        assert await bruno.refusal(messages.JoinTable, anna.code, "Benno") == Code.REMOVED
        await carla.join(anna.code, "Carla")
        await other_bruno.join(anna.code, "Bruno")
        time.advance(Limits().removed_seconds)
        await other_bruno.done(messages.Leave)
        await bruno.join(anna.code, "Benno")


async def test_others_in_the_hosts_ipv6_network_need_not_wait() -> None:
    """They may live with the host: a household with a network of 48 bits has addresses in many of 64."""
    config = Config(trusted_proxies=(ip_network("127.0.0.1"),))
    addresses = [f"2001:db8:7:{net}::1" for net in (1, 2, 3)]
    async with running(config) as server, all_connected(server.port, addresses) as (anna, bruno, carla):
        await anna.open(3)
        await bruno.join(anna.code, "Bruno")
        await anna.done(messages.Remove, 1)
        assert await bruno.refusal(messages.JoinTable, anna.code, "Benno") == Code.REMOVED
        await carla.join(anna.code, "Carla")


async def test_a_spectator_is_removed_at_any_time() -> None:
    """By a number that no other spectator ever has; the others stay, and see that one less watches."""
    async with memory_server() as server, game(server.port, 2) as peers, connected(server.port) as zoe:
        await zoe.ask(messages.Watch, peers[0].code, name="Zoe")
        state = await state_where(peers[0], lambda state: state.spectators == 1)
        (spectator,) = state.watching
        assert spectator.name == "Zoe"
        await peers[0].done(messages.Dismiss, spectator.number)
        assert (await sent_away(zoe)).code == Code.REMOVED
        assert await peers[0].refusal(messages.Dismiss, spectator.number) == Code.NO_SUCH_SPECTATOR
        async with connected(server.port) as other:
            await other.watch(peers[0].code)
            watching = await state_where(
                peers[0], lambda state: [each.name for each in state.watching] == [None]
            )
            assert watching.watching[0].number != spectator.number


async def test_hosting_is_handed_on() -> None:
    async with memory_server() as server, full_table(server.port, 2) as peers:
        assert await peers[0].refusal(messages.SeatBot, "random") == Code.NO_BOTS
        await peers[0].done(messages.HandOver, 1)
        assert await peers[0].refusal(messages.StartGame) == Code.NOT_THE_HOST
        await peers[1].done(messages.StartGame)


async def test_somebody_who_is_there_follows_a_host_who_is_away_for_long(tmp_path: Path) -> None:
    """Also after a restart, and as soon as somebody comes if nobody was there; who comes back is not host."""
    time = ManualClock()
    async with served(tmp_path, time) as server, game(server.port, 3) as peers:
        await disconnect(peers[0], peers[1])
        time.advance(Limits().host_grace_seconds - 1)
        await peers[1].nothing_but_pong()
        time.advance(1)
        assert (await state_where(peers[2], lambda state: state.host != 0)).host == 1
        async with resumed(server.port, peers[0]) as (back,):
            assert await back.refusal(messages.SubstituteNow, 1) == Code.NOT_THE_HOST
    time = ManualClock()
    async with served(tmp_path, time) as server:
        time.advance(Limits().host_grace_seconds)
        async with resumed(server.port, peers[2]) as (carla,):
            assert (await state_where(carla, lambda state: state.host != 1)).host == 2


async def test_no_two_seats_have_the_same_people_while_seats_are_swapped(tmp_path: Path) -> None:
    """As a table would have that is restored at an entry in the middle of that."""
    async with served(tmp_path) as server, full_table(server.port, 3) as peers:
        await peers[2].done(messages.ChoosePeople, "M")
        await peers[0].done(messages.Arrange, (2, 0, 1))
    state = PersistentState((), RandomChance(random.Random()))
    for entry in (await stored_entries(tmp_path))[peers[0].code]:
        state.fold(entry)
        assert len(set(state.peoples)) == len(state.players)


async def test_seats_are_swapped_and_shuffled() -> None:
    async with served() as server, full_table(server.port, 3, starting=2) as peers:
        await peers[0].done(messages.Arrange, (2, 0, 1))
        seats = []
        for peer in peers:
            while peer.received and not any(isinstance(each, messages.Reseated) for each in peer.received):
                await peer.receive()
            seats.append(next(each.seat for each in peer.received if isinstance(each, messages.Reseated)))
        assert seats == [1, 2, 0]
        state = await peers[1].until(messages.TableState)
        assert ([seat.name for seat in state.seats], state.host, state.starting) == (
            ["Player 2", "Player 0", "Player 1"], 1, 0,
        )  # fmt: skip
        await peers[0].done(messages.Arrange)
        shuffled = table_of(server, peers).state
        assert sorted(shuffled.names) == ["Player 0", "Player 1", "Player 2"]
        assert shuffled.names[shuffled.host or 0] == "Player 0"
        async with resumed(server.port, *peers) as again:
            for number, peer in enumerate(again):
                assert peer.seat == shuffled.names.index(f"Player {number}")
            await again[0].done(messages.StartGame)
            await all_caught_up(again, again[0].seq)
            check_views(table_of(server, again), again)
            await play_on(again, random.Random(1), moves=3)


@pytest.mark.parametrize("policy", [WAIT, MoveClock(3600)])
async def test_a_bot_plays_for_a_player_who_is_away(policy: Absence) -> None:
    time = ManualClock()
    async with served(time=time) as server, game(server.port, 2, absence=policy) as peers:
        await play_on(peers, random.Random(1), moves=1)
        assert await peers[0].refusal(messages.SubstituteNow, 1) == Code.NOT_AWAY
        await peers[1].done(messages.Leave)
        await state_where(peers[0], lambda state: state.seats[1].removable_in == 60)
        time.advance(59)
        refused = await peers[0].refused(messages.SubstituteNow, 1)
        assert (refused.code, refused.about) == (Code.TOO_EARLY, {"seat": "1", "seconds": "1"})
        time.advance(1)
        await peers[0].done(messages.SubstituteNow, 1)
        await play_moves_of_stand_in(peers[:1], 1)
        assert await peers[0].refusal(messages.SubstituteNow, 1) == Code.BOT_PLAYS_ALREADY
        await peers[0].done(peers[0].random_move(random.Random(1)))
        await play_moves_of_stand_in(peers[:1], 1)
        async with resumed(server.port, peers[1]) as (bruno,):
            await peers[0].done(peers[0].random_move(random.Random(3)))
            await all_caught_up([peers[0], bruno], peers[0].seq)
            assert bruno.legal is not None


async def test_somebody_takes_an_abandoned_seat_over() -> None:
    """With what the seat may know from now on and no more; the old token is void."""
    time = ManualClock()
    async with served(time=time) as server, game(server.port, 3, watched=True) as peers:
        anna, bruno, carla, zoe = peers
        await play_on(peers, random.Random(1), moves=7)
        await bruno.done(messages.Leave)
        async with connected(server.port) as late:
            assert await late.refusal(messages.JoinTable, anna.code, "Dario") == Code.GAME_RUNNING
        await state_where(carla, lambda state: state.seats[1].removable_in == 60)
        time.advance(60)
        await anna.done(messages.Remove, 1)
        state = await state_where(carla, lambda state: state.seats[1].vacant)
        assert state.seats[1].name == "Player 1"
        await carla.done(messages.Leave)
        assert await carla.refusal(messages.JoinTable, anna.code, "Clara") == Code.KNOWS_ANOTHER_HAND
        await carla.resume(anna.code, carla.token, carla.seq)
        assert await bruno.refusal(messages.Resume, anna.code, bruno.token) == Code.BAD_TOKEN
        await zoe.done(messages.Leave)
        zoe.go_back_to(0, [])
        assert await zoe.refusal(messages.JoinTable, anna.code, "player 2") == Code.NAME_TAKEN
        seated = await zoe.join(anna.code, "Zoe")
        assert (seated.seat, seated.taken_over) == (1, "Player 1")
        await zoe.until(messages.Snapshot)
        held = table_of(server, peers).state.game
        assert held is not None
        assert zoe.seat is not None
        assert zoe.view == snapshot(held.view, eyes_of(zoe.seat))
        state = await state_where(anna, lambda state: state.seats[1].name == "Zoe")
        assert not state.seats[1].vacant
        async with connected(server.port) as gone:
            assert await gone.refusal(messages.Resume, anna.code, bruno.token) == Code.BAD_TOKEN
        check_views(table_of(server, peers), [anna, zoe, carla])
        await play_on([anna, zoe, carla], random.Random(2))
        assert anna.sight.result is not None


async def test_whoever_was_removed_from_a_game_can_come_back_under_the_same_name() -> None:
    """To their own seat, as long as nobody else has taken it."""
    time = ManualClock()
    async with served(time=time) as server, game(server.port, 3) as (anna, bruno, carla):
        for away in (bruno, carla):
            await disconnect(away, anna)
        time.advance(60)
        for seat in (1, 2):
            await anna.done(messages.Remove, seat)
        async with connected(server.port) as back:
            seated = await back.join(anna.code, "player 2")
            assert (seated.seat, seated.taken_over) == (2, "Player 2")


async def test_a_hand_cannot_be_stolen_while_the_connection_is_lost() -> None:
    """Everybody learns how long the player has to come back, and no setting of the host's makes it less."""
    time = ManualClock()
    async with served(time=time) as server, game(server.port, 3) as (anna, bruno, carla):
        for _ in range(2):  # a second time after having come back
            await bruno.done(messages.Leave)
            await state_where(carla, lambda state: state.seats[1].removable_in == 60)
            await change(anna, AbsenceSetting(ByVote(0)))
            time.advance(59)
            refused = await anna.refused(messages.Remove, 1)
            assert (refused.code, refused.about) == (Code.TOO_EARLY, {"seat": "1", "seconds": "1"})
            await bruno.resume(anna.code, bruno.token, bruno.seq)
            state = await state_where(carla, lambda state: state.seats[1].here)
            assert state.seats[1].removable_in is None


async def test_the_host_ends_a_game() -> None:
    async with served() as server, game(server.port, 2, watched=True) as peers:
        await play_on(peers, random.Random(1), moves=5)
        await peers[0].done(messages.EndGame)
        for peer in peers:
            state = await state_where(peer, lambda state: state.ended)
            if peer is not peers[0]:  # who has it with the answer
                await peer.until(messages.Events)
            assert (state.stage, peer.legal) == ("over", None)
        mover = peers[1]
        await mover.done(messages.Sync, 0)
        assert mover.legal is None
        assert await peers[0].refusal(messages.EndGame) == "game-over"


@pytest.mark.parametrize("reason", [None, "Rude names."])
async def test_everybody_at_a_closed_table_is_told_and_is_in_the_lobby(reason: str | None) -> None:
    """If that cannot be stored, the table stays open, and nobody is told."""
    async with memory_server() as server, game(server.port, 2, watched=True) as peers:
        append = server.lobby.journal.append
        server.lobby.journal.append = AsyncMock(side_effect=JournalError("full"))  # type: ignore[method-assign]
        with pytest.raises(JournalError):
            await server.lobby.registry.close(peers[0].code, "Nothing of this is said.")
        await peers[0].nothing_but_pong()
        assert peers[0].code in server.lobby.tables
        server.lobby.journal.append = append  # type: ignore[method-assign]
        await server.lobby.registry.close(peers[0].code, reason)
        for peer in peers:
            if reason is not None:
                assert (await peer.until(messages.Announced)).text == reason
            assert (await sent_away(peer)).code == Code.CLOSED_BY_SERVER
            await peer.open(2, "Still here")


async def test_an_archived_table_can_be_closed_too(tmp_path: Path) -> None:
    config = Config(data=tmp_path, limits=Limits(over_seconds=0.01))
    async with running(config) as server:
        peers = await archived_game(server)
        await server.lobby.registry.close(peers[0].code, None)
        assert not server.lobby.journal.archived
    async with running(config) as server:
        assert not server.lobby.journal.archived


async def test_a_closed_table_answers_whoever_still_knows_it() -> None:
    async with memory_server() as server, game(server.port, 2) as peers:
        table = table_of(server, peers)
        session = table._context.audience.seated[Seat(0)]
        await table.close(None)
        for refused in (
            table.handle(session, messages.Sync(1)),
            table.enter(session, messages.JoinTable(1, table.code, "Anna")),
            table.enter(session, messages.Resume(1, table.code, peers[0].token)),
            table.enter(session, messages.Watch(1, table.code)),
            *(table.handle(session, messages.Rematch(1)), table.handle(session, messages.GetRecord(1))),
            *(table.arrive(session, 1, Player("Anna", "")), table.close(None), table.remove_player(Seat(0))),
            table.seat_opener(session, 1, ""),
        ):
            with pytest.raises(Refusal):
                await refused
        with pytest.raises(Refusal):
            table.as_seen()
        await table.disconnect(session)
        await table.shorten_if_long()
        assert await table.archive(attended=False)
        table.stop()
        table.tell_state()
        assert not table.audience
        assert table.seconds_unattended() is table.unattended_since is None
        assert table.summary().table == table.code


async def test_before_the_game_the_seat_of_a_removed_player_is_free() -> None:
    async with memory_server() as server, full_table(server.port, 2) as peers:
        assert await server.lobby.registry.table(peers[0].code).remove_player(Seat(1))
        assert (await sent_away(peers[1])).code == Code.REMOVED_BY_SERVER
        state = await peers[0].until(messages.TableState)
        assert [seat.name for seat in state.seats] == ["Player 0", None]
        assert await peers[1].refusal(messages.Resume, peers[0].code, peers[1].token) == Code.BAD_TOKEN
        assert not await server.lobby.registry.table(peers[0].code).remove_player(Seat(1))
        async with connected(server.port) as other:
            assert (await other.join(peers[0].code, "Other")).seat == 1


@pytest.mark.parametrize(("absence", "gone"), [(Wait(), False), (Wait(), True), (GameClock(600), False)])
async def test_in_a_running_game_a_bot_plays_for_a_removed_player(absence: Absence, gone: bool) -> None:
    async with memory_server(stand_in_seconds=0) as server, game(server.port, 2, absence=absence) as peers:
        if gone:
            await peers[0].done(messages.Leave)
        assert await server.lobby.registry.table(peers[0].code).remove_player(Seat(0))
        assert gone or (await sent_away(peers[0])).code == Code.REMOVED_BY_SERVER
        while not (state := await peers[1].until(messages.TableState)).seats[0].bot:
            pass
        assert not state.seats[0].here
        moved = await peers[1].until(messages.Events)
        assert moved.by == "bot"
        assert await peers[0].refusal(messages.Resume, peers[0].code, peers[0].token) == Code.BAD_TOKEN


async def test_a_removed_player_stays_removed_after_a_restart(tmp_path: Path) -> None:
    """Even if the table was archived in the meantime: the token brings nothing back from there."""
    config = Config(data=tmp_path, limits=Limits(stand_in_seconds=0, unattended_seconds=0.01))
    keeping = Config(data=tmp_path, limits=Limits(stand_in_seconds=0))
    async with running(keeping) as server, game(server.port, 2) as peers:
        await server.lobby.registry.table(peers[0].code).remove_player(Seat(0))
        await peers[1].until(messages.Events)
    async with running(config) as server, connected(server.port) as peer:
        assert await peer.refusal(messages.Resume, peers[0].code, peers[0].token) == Code.BAD_TOKEN
        await eventually(lambda: peers[0].code in server.lobby.journal.archived)
        assert await peer.refusal(messages.Resume, peers[0].code, peers[0].token) == Code.BAD_TOKEN
        assert peers[0].code in server.lobby.journal.archived
        await peer.resume(peers[1].code, peers[1].token)
        assert (await peer.until(messages.TableState)).seats[0].bot
