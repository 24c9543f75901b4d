"""What the host of a table may do, what the others are told, and how a game goes on without a player."""

import contextlib
import random
from collections.abc import AsyncIterator, Callable
from ipaddress import ip_network
from pathlib import Path

import pytest

from client.bots.brains import at_random
from engine.pieces import Seat
from engine.redaction import snapshot
from engine.view import eyes_of
from protocol.absence import WAIT, Absence, ByBot, GameClock, MoveClock
from protocol.codec import encode
from protocol.codes import Code
from protocol.messages import (
    Arrange,
    ChangeSetting,
    ClientMessage,
    Dismiss,
    EndGame,
    Events,
    HandOver,
    JoinTable,
    Leave,
    ListTables,
    Ping,
    Refused,
    Rematch,
    Remove,
    Reseated,
    Resume,
    Said,
    Say,
    SeatBot,
    Seated,
    Snapshot,
    StartGame,
    SubstituteNow,
    Sync,
    Tables,
    TableState,
    Watch,
)
from protocol.settings import AbsencePolicy, Hints, Private, Quiet, Setting, Spectators, Starting, Title
from server.app import Running, running
from server.config import Config, Limits
from tests.server.manual_clock import ManualClock
from tests.server.peer import (
    Peer,
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
from tests.server.storage.test_journal import resumed, table_facts
from tests.server.tables.states import state_where

SETTINGS: tuple[Setting, ...] = (
    Title("Friday"),
    Private(on=True),
    Spectators(allowed=False),
    Hints(on=True),
    Quiet(on=True),
    Starting(1),
    AbsencePolicy(ByBot(60)),
)
REQUESTS: tuple[Callable[[int], ClientMessage], ...] = (
    *(lambda number, each=each: ChangeSetting(number, each) for each in SETTINGS),
    lambda number: SeatBot(number, "greedy"),
    lambda number: Remove(number, 2),
    lambda number: Dismiss(number, 1),
    lambda number: HandOver(number, 1),
    Arrange,
    lambda number: SubstituteNow(number, 2),
    EndGame,
)


@contextlib.asynccontextmanager
async def served(data: Path | None = None, time: ManualClock | None = None) -> AsyncIterator[Running]:
    """Run a server with a quick stand-in, on a clock that only the test advances."""
    clock = time or ManualClock()
    config = Config(
        data=data, stand_in=at_random, limits=Limits(stand_in_seconds=0), timers=lambda: clock, seed=1
    )
    async with running(config) as server:
        yield server


async def changed(host: Peer, *settings: Setting) -> None:
    """Have the host change settings."""
    for setting in settings:
        await host.done(ChangeSetting(host.next_id(), setting))


async def sent_away(peer: Peer) -> Code:
    """Wait until the peer is sent away, and return why."""
    while not isinstance(message := await peer.receive(), Refused) or message.id is not None:
        pass
    return Code(message.code)


async def play_to_the_end(peers: list[Peer]) -> None:
    """Play with whatever else moves until the game is over."""
    rng = random.Random(1)
    while peers[0].view is None or peers[0].view.result is None:
        if (mover := peer_on_turn(peers)) is not None:
            await mover.done(mover.random_move(rng))
            await all_caught_up(peers, mover.seq)
        else:
            await peers[0].until(Events)
            await all_caught_up(peers, peers[0].seq)


# -- who may ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("request_of", REQUESTS)
async def test_only_the_host_may(request_of: Callable[[int], ClientMessage], *, started: bool) -> None:
    """Players and spectators are refused with a reason, nothing changes, and nobody else hears of it."""
    opened = game if started else full_table
    async with memory_server() as server, opened(server.port, 3, watched=True) as peers:
        before = table_facts(table_of(server, peers).state)
        for peer, code in ((peers[1], Code.NOT_THE_HOST), (peers[3], Code.NOT_A_PLAYER)):
            assert (await peer.refused(request_of(peer.next_id()))).code == code
        assert table_facts(table_of(server, peers).state) == before
        await peers[2].nothing_but_pong()


async def test_a_lobby_client_cannot_use_them() -> None:
    async with memory_server() as server, connected(server.port) as peer:
        for request_of in REQUESTS:
            assert (await peer.refused(request_of(peer.next_id()))).code == Code.NOT_AT_A_TABLE


# -- settings ---------------------------------------------------------------------------------------


async def test_everybody_is_told_the_settings_and_a_restart_keeps_them(tmp_path: Path) -> None:
    """The table's name, whether it is listed and watched, who starts and the policy, also in a rematch."""
    async with served(tmp_path) as server, full_table(server.port, 2) as peers:
        await changed(peers[0], *SETTINGS)
        state = await state_where(peers[1], lambda state: state.absence == ByBot(60))
        told = (
            state.title,
            state.private,
            state.no_spectators,
            state.hints,
            state.quiet,
            state.starting,
            state.absence,
        )
        assert told == ("Friday", True, True, True, True, 1, ByBot(60))
        facts = table_facts(table_of(server, peers).state)
    async with served(tmp_path) as server, resumed(server.port, *peers) as again:
        assert table_facts(table_of(server, again).state) == facts
        await again[0].done(StartGame(again[0].next_id()))
        await all_caught_up(again, again[0].seq)
        await play_to_the_end(again)
        assert again[0].view is not None
        assert again[0].view.start.starting == 1
        next_table = (await again[1].ask(Rematch(again[1].next_id()))).table  # type: ignore[union-attr]
        following = server.lobby.tables[next_table].state
        kept = (
            following.title,
            following.private,
            following.no_spectators,
            following.hints,
            following.quiet,
            following.absence,
        )
        assert kept == ("Friday", True, True, True, True, ByBot(60))
        assert following.host == 1, "until the host comes"
        assert isinstance(await again[0].ask(Rematch(again[0].next_id())), Seated)
        assert following.host == 0


@pytest.mark.parametrize(
    ("title", "code"),
    [
        ("\x1b[2J", Code.NAME_UNPRINTABLE),
        (" x", Code.NAME_BLANK),
        ("Fr\u0456day", Code.NAME_MIXED_ALPHABETS),
    ],
)
async def test_titles_are_cleaned_like_names(title: str, code: Code) -> None:
    async with memory_server() as server, connected(server.port) as host:
        await host.open(2)
        assert (await host.refused(ChangeSetting(host.next_id(), Title(title)))).code == code


async def test_who_starts_is_fixed_once_the_game_runs() -> None:
    async with memory_server() as server, game(server.port, 2) as peers:
        request = ChangeSetting(peers[0].next_id(), Starting(1))
        assert (await peers[0].refused(request)).code == Code.ALREADY_STARTED
    async with memory_server() as server, full_table(server.port, 2) as peers:
        request = ChangeSetting(peers[0].next_id(), Starting(4))
        assert (await peers[0].refused(request)).code == Code.NO_SUCH_SEAT


async def test_a_table_closed_to_spectators_sends_them_away() -> None:
    """They can do something else, nobody can watch, and the table may be opened to them again."""
    async with memory_server() as server, game(server.port, 2, watched=True) as peers:
        await changed(peers[0], Spectators(allowed=False))
        assert await sent_away(peers[2]) == Code.NO_SPECTATORS
        watch = Watch(peers[2].next_id(), peers[0].code)
        assert (await peers[2].refused(watch)).code == Code.NO_SPECTATORS
        await changed(peers[0], Spectators(allowed=True))
        await peers[2].watch(peers[0].code)


async def test_a_table_is_opened_with_hints() -> None:
    """Those who look for a table, and those who come to it, know it; by default there are none."""
    async with memory_server() as server, connected(server.port) as anna, connected(server.port) as bruno:
        await anna.open(2, hints=True)
        assert (await anna.until(TableState)).hints
        await bruno.open(2, "Bruno")
        assert not (await bruno.until(TableState)).hints
        async with connected(server.port) as stranger:
            answer = await stranger.ask(ListTables(stranger.next_id()))
            assert isinstance(answer, Tables)
            assert [table.hints for table in answer.tables] == [False, True]


async def test_hints_are_allowed_and_forbidden_in_a_running_game(tmp_path: Path) -> None:
    """Everybody is told, nothing else changes, and a restart keeps it."""
    async with served(tmp_path) as server, game(server.port, 2, watched=True) as peers:
        await play_on(peers, random.Random(1), moves=3)
        seq = peers[0].seq
        for on in (True, False, True):
            await changed(peers[0], Hints(on=on))
            for peer in peers:
                state = await state_where(peer, lambda state, on=on: state.hints is on)  # type: ignore[misc]
                assert state.stage == "playing"
                assert peer.seq == seq
    async with served(tmp_path) as server, resumed(server.port, *peers[:2]) as again:
        await state_where(again[1], lambda state: state.hints)
        await play_on(again, random.Random(2), moves=2)


async def test_the_policy_changes_in_a_running_game() -> None:
    """Everybody is told, a bot plays where the game waited, and time that was used stays used."""
    time = ManualClock()
    async with served(time=time) as server, game(server.port, 2, absence=GameClock(600)) as peers:
        time.advance(100)
        await changed(peers[0], AbsencePolicy(MoveClock(60)))
        message = await peers[1].until(Events)
        assert (message.events, message.turn, message.clock) == ([], 0, 0)  # of 60 s, 100 are gone
        time.advance(0)
        await play_moves_of_stand_in(peers, 1)
        await changed(peers[0], AbsencePolicy(GameClock(600)))
        clocks = table_of(server, peers).state.clocks
        assert clocks.left(Seat(0)) == 500_000
        await peers[1].socket.close()
        await state_where(peers[0], lambda state: not state.seats[1].here)
        await changed(peers[0], AbsencePolicy(ByBot(0)))
        await play_to_the_end(peers[:1])


async def play_moves_of_stand_in(peers: list[Peer], moves: int) -> None:
    for _ in range(moves):
        while not (await peers[0].until(Events)).events:
            pass
        await all_caught_up(peers[1:], peers[0].seq)


# -- removing people --------------------------------------------------------------------------------


async def test_a_player_is_removed_before_the_game() -> None:
    """The seat is free, the token void, and whoever was removed cannot come straight back, nor the name."""
    async with memory_server() as server, full_table(server.port, 3) as peers:
        await peers[0].done(Remove(peers[0].next_id(), 1))
        assert await sent_away(peers[1]) == Code.REMOVED
        state = await state_where(peers[2], lambda state: state.seats[1].name is None)
        assert state.host == 0
        code = peers[0].code
        for again in (JoinTable(5, code, "Sombody"), Watch(6, code)):
            assert (await peers[1].refused(again)).code == Code.REMOVED
        assert (await peers[1].refused(Resume(7, code, peers[1].token))).code == Code.BAD_TOKEN
        async with connected(server.port) as other:
            assert (await other.refused(JoinTable(8, code, "PLAYER 1"))).code == Code.REMOVED
            assert (await other.join(code, "Carla")).seat == 1
        await peers[1].open(2)  # other tables are open to them


async def test_who_was_removed_may_come_back_later() -> None:
    time = ManualClock()
    async with served(time=time) as server, full_table(server.port, 2) as peers:
        await peers[0].done(Remove(peers[0].next_id(), 1))
        await sent_away(peers[1])
        time.advance(Limits().removed_seconds + 1)
        await peers[1].join(peers[0].code, "Player 1")


async def test_others_at_the_address_of_who_was_removed_wait_for_a_minute() -> None:
    """They are not told that they were removed; those who were are still excluded then."""
    time = ManualClock()
    config = Config(timers=lambda: time, trusted_proxies=(ip_network("127.0.0.1"),))
    async with running(config) as server, contextlib.AsyncExitStack() as stack:
        anna, bruno, carla = [
            await stack.enter_async_context(connected(server.port, address))
            for address in ("192.0.2.1", "192.0.2.2", "192.0.2.2")
        ]
        await anna.open(2)
        await bruno.join(anna.code, "Bruno")
        await anna.done(Remove(anna.next_id(), 1))
        refused = await carla.refused(JoinTable(7, anna.code, "Carla"))
        assert (refused.code, refused.about) == (Code.REMOVED_NEARBY, {"table": anna.code, "seconds": "60"})
        assert (await carla.refused(JoinTable(8, anna.code, "Bruno"))).code == Code.REMOVED
        time.advance(Limits().removed_address_seconds)
        assert (await carla.refused(JoinTable(9, anna.code, "Bruno"))).code == Code.REMOVED
        assert (await bruno.refused(JoinTable(10, anna.code, "Benno"))).code == Code.REMOVED
        await carla.join(anna.code, "Carla")


async def test_a_spectator_is_removed_at_any_time() -> None:
    """By a number that no other spectator ever has; the others stay, and see that one less watches."""
    async with memory_server() as server, game(server.port, 2) as peers, connected(server.port) as zoe:
        await zoe.ask(Watch(zoe.next_id(), peers[0].code, name="Zoe"))
        state = await state_where(peers[0], lambda state: state.spectators == 1)
        (spectator,) = state.watching
        assert spectator.name == "Zoe"
        await peers[0].done(Dismiss(peers[0].next_id(), spectator.number))
        assert await sent_away(zoe) == Code.REMOVED
        request = Dismiss(peers[0].next_id(), spectator.number)
        assert (await peers[0].refused(request)).code == Code.NO_SUCH_SPECTATOR
        async with connected(server.port) as other:
            await other.watch(peers[0].code)
            watching = await state_where(
                peers[0], lambda state: [each.name for each in state.watching] == [None]
            )
            assert watching.watching[0].number != spectator.number


async def test_spectators_cannot_pass_for_players() -> None:
    async with memory_server() as server, full_table(server.port, 2) as peers, connected(server.port) as late:
        for name in ("player 1", "Pl\u0430yer 1"):
            refused = await late.refused(Watch(late.next_id(), peers[0].code, name=name))
            assert refused.code in {Code.NAME_TAKEN, Code.NAME_MIXED_ALPHABETS}


async def test_the_host_cannot_remove_itself_or_nobody_or_a_player_who_is_there() -> None:
    async with memory_server() as server, game(server.port, 2) as peers:
        host = peers[0]
        assert (await host.refused(Remove(host.next_id(), 0))).code == Code.NOT_YOURSELF
        assert (await host.refused(Remove(host.next_id(), 1))).code == Code.ALREADY_STARTED
        assert (await host.refused(Remove(host.next_id(), 4))).code == Code.NO_SUCH_SEAT
    async with memory_server() as server, connected(server.port) as host:
        await host.open(2)
        assert (await host.refused(Remove(host.next_id(), 1))).code == Code.NOBODY_THERE


# -- the host ---------------------------------------------------------------------------------------


async def test_hosting_is_handed_on() -> None:
    """The new host may, the old one may not; a program cannot be host."""
    async with memory_server() as server, full_table(server.port, 3, programs={2}) as peers:
        assert (await peers[0].refused(HandOver(peers[0].next_id(), 2))).code == Code.NOT_A_PERSON
        await peers[0].done(HandOver(peers[0].next_id(), 1))
        assert (await peers[0].refused(StartGame(peers[0].next_id()))).code == Code.NOT_THE_HOST
        await peers[1].done(StartGame(peers[1].next_id()))


async def test_a_newcomer_in_the_first_seat_is_not_host() -> None:
    async with memory_server() as server, full_table(server.port, 3) as peers, connected(server.port) as late:
        await peers[0].done(Leave(peers[0].next_id()))
        assert (await late.join(peers[1].code, "Late")).seat == 0
        assert (await state_where(peers[1], lambda state: state.seats[0].name == "Late")).host == 1


async def test_somebody_who_is_there_follows_a_host_who_is_away_for_long(tmp_path: Path) -> None:
    """Also after a restart, and as soon as somebody comes if nobody was there; who comes back is not host."""
    time = ManualClock()
    async with served(tmp_path, time) as server, game(server.port, 3) as peers:
        await peers[0].socket.close()
        await state_where(peers[1], lambda state: not state.seats[0].here)
        time.advance(Limits().host_grace_seconds - 1)
        await peers[1].nothing_but_pong()
        time.advance(1)
        assert (await state_where(peers[2], lambda state: state.host != 0)).host == 1
        async with resumed(server.port, peers[0]) as (back,):
            assert (await back.refused(SubstituteNow(back.next_id(), 1))).code == Code.NOT_THE_HOST
    time = ManualClock()
    async with served(tmp_path, time) as server:
        time.advance(Limits().host_grace_seconds)
        async with resumed(server.port, peers[2]) as (carla,):
            assert (await state_where(carla, lambda state: state.host != 1)).host == 2


# -- seats ------------------------------------------------------------------------------------------


async def test_seats_are_swapped_and_shuffled(tmp_path: Path) -> None:
    """Each player is told the new seat; tokens, the host and who starts go with the players."""
    async with served(tmp_path) as server, full_table(server.port, 3, starting=2) as peers:
        await peers[0].done(Arrange(peers[0].next_id(), [2, 0, 1]))
        seats = []
        for peer in peers:
            while peer.received and not any(isinstance(each, Reseated) for each in peer.received):
                await peer.receive()
            seats.append(next(each.seat for each in peer.received if isinstance(each, Reseated)))
        assert seats == [1, 2, 0]
        state = await peers[1].until(TableState)
        assert ([seat.name for seat in state.seats], state.host, state.starting) == (
            ["Player 2", "Player 0", "Player 1"], 1, 0,
        )  # fmt: skip
        await peers[0].done(Arrange(peers[0].next_id()))
        shuffled = table_of(server, peers).state
        assert sorted(shuffled.names) == ["Player 0", "Player 1", "Player 2"]
        assert shuffled.names[shuffled.host or 0] == "Player 0"
        facts = table_facts(shuffled)
        names = shuffled.names
    async with served(tmp_path) as server:
        assert table_facts(table_of(server, peers).state) == facts
        async with resumed(server.port, *peers) as again:
            for number, peer in enumerate(again):
                assert peer.seat == names.index(f"Player {number}")
            await again[0].done(StartGame(again[0].next_id()))
            await all_caught_up(again, again[0].seq)
            check_views(table_of(server, again), again)
            await play_on(again, random.Random(1), moves=3)


async def test_an_order_must_name_every_seat_once() -> None:
    async with memory_server() as server, full_table(server.port, 3) as peers:
        for order in ([0, 0, 1], [0, 1], [0, 1, 3]):
            refused = await peers[0].refused(Arrange(peers[0].next_id(), order))
            assert refused.code == Code.BAD_MESSAGE
        await peers[0].done(StartGame(peers[0].next_id()))
        assert (await peers[0].refused(Arrange(peers[0].next_id()))).code == Code.ALREADY_STARTED


# -- a game that would wait for ever ----------------------------------------------------------------


@pytest.mark.parametrize("policy", [WAIT, MoveClock(3600)])
async def test_a_bot_plays_at_once_for_a_player_who_has_left(tmp_path: Path, policy: Absence) -> None:
    """Under the default policy too, and after a restart, until the player returns."""
    async with served(tmp_path) as server, game(server.port, 2, absence=policy) as peers:
        await play_on(peers, random.Random(1), moves=1)
        request = SubstituteNow(peers[0].next_id(), 1)
        assert (await peers[0].refused(request)).code == Code.NOT_AWAY
        await peers[1].done(Leave(peers[1].next_id()))
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
    async with served(tmp_path) as server, game(server.port, 3, watched=True) as peers:
        anna, bruno, carla, zoe = peers
        await play_on(peers, random.Random(1), moves=7)
        await bruno.done(Leave(bruno.next_id()))
        async with connected(server.port) as late:
            assert (await late.refused(JoinTable(7, anna.code, "Dario"))).code == Code.GAME_RUNNING
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


async def test_a_game_that_has_not_begun_cannot_be_ended() -> None:
    async with memory_server() as server, full_table(server.port, 2) as peers:
        assert (await peers[0].refused(EndGame(peers[0].next_id()))).code == Code.NOT_STARTED


# -- what spectators say ------------------------------------------------------------------------------


async def test_no_byte_of_what_spectators_say_reaches_a_seat_while_a_quiet_game_runs() -> None:
    """Neither at once nor later, to players who stay, sync or come back; before and after, all hear it."""
    async with (
        memory_server() as server,
        full_table(server.port, 2, watched=True, random_layout=True) as peers,
        connected(server.port) as other,
    ):
        *players, spectator = peers
        await other.watch(players[0].code)
        await changed(players[0], Quiet(on=True))
        assert (await state_where(spectator, lambda state: state.quiet)).quiet
        await spectator.done(Say(spectator.next_id(), "before"))
        assert await players[1].until(Said) == Said("before", spectator=1)
        await players[0].done(StartGame(players[0].next_id()))
        await all_caught_up([*peers, other], players[0].seq)
        await spectator.done(Say(spectator.next_id(), "a tip"))
        assert await hears(other, "a tip") == 1
        await players[1].done(Say(players[1].next_id(), "thanks"))
        assert await hears(other, "thanks") is None
        await players[0].done(Sync(players[0].next_id(), 0))
        async with resumed(server.port, players[1]) as again:
            await again[0].nothing_but_pong()
            await play_to_the_end([players[0], *again])
            await spectator.done(Say(spectator.next_id(), "after"))
            for peer in (players[0], *again):
                assert await hears(peer, "after") == 1
                assert not any(b"a tip" in frame for frame in peer.frames)
        assert not any(b"a tip" in frame for frame in players[1].frames)


async def test_an_ended_game_is_quiet_no_more() -> None:
    async with memory_server() as server, game(server.port, 2, watched=True) as (host, player, spectator):
        await changed(host, Quiet(on=True))
        await spectator.done(Say(spectator.next_id(), "a tip"))
        await host.done(EndGame(host.next_id()))
        await spectator.done(Say(spectator.next_id(), "a pity"))
        assert await player.until(Said) == Said("a pity", spectator=1)


async def hears(peer: Peer, text: str) -> int | None:
    """Wait until the peer hears this; return the number of the spectator who said it."""
    while (said := await peer.until(Said)).text != text:
        pass
    return said.spectator


# -- private tables ---------------------------------------------------------------------------------


async def listed(peer: Peer) -> bytes:
    """Return the list of tables as it is sent to the peer."""
    peer.id = 0
    answer = await peer.ask(ListTables(0))
    assert isinstance(answer, Tables)
    return encode(answer)


async def test_private_tables_change_no_byte_of_the_list() -> None:
    """Neither when they are opened, nor while they are played, nor by their number or order."""
    async with memory_server() as server, connected(server.port) as stranger, connected(server.port) as other:
        await other.open(3, "Olga")
        before = await listed(stranger)
        async with game(server.port, 2, private=True) as peers:
            assert await listed(stranger) == before
            await changed(peers[0], Title("Secret"))
            await play_on(peers, random.Random(1))
            assert await listed(stranger) == before
            await changed(peers[0], Private(on=False))
            assert await listed(stranger) != before


async def test_codes_of_private_tables_cannot_be_found_by_trying() -> None:
    """After too many wrong codes, a right and a wrong one are answered alike; listed tables are found."""
    async with memory_server() as server, connected(server.port) as host, connected(server.port) as public:
        private = (await host.open(3, private=True)).table
        listed_table = (await public.open(3)).table
        async with connected(server.port) as stranger:
            most = Limits().wrong_codes_per_address
            for number in range(most):
                wrong = Watch(number, "AAAA") if number % 3 else Resume(number, "AAAA", "x")
                assert (await stranger.refused(wrong)).code == Code.NO_SUCH_TABLE
            answers = [
                await stranger.refused(message)
                for code in (private, "AAAA")
                for message in (Watch(7, code), JoinTable(7, code, "X"), Resume(7, code, "x"))
            ]
            assert len({encode(answer) for answer in answers}) == 1
            assert answers[0].code == Code.TOO_MANY_GUESSES
            await stranger.join(listed_table, "Late")
        await host.socket.close()
        async with connected(server.port) as back:
            await back.resume(private, host.token)


async def test_a_private_table_is_joined_and_watched_by_its_code() -> None:
    async with memory_server() as server, connected(server.port) as host, connected(server.port) as guest:
        code = (await host.open(2, private=True)).table
        assert (await host.until(TableState)).private
        await guest.join(code, "Guest")
        async with connected(server.port) as other:
            await other.watch(code)
            await other.ask(Ping(other.next_id()))
