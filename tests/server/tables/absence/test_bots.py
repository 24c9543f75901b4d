"""Bots of the server: who seats them, how they play, and what becomes of them."""

import contextlib
import logging
import random
import re
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path

import psutil
import pytest

from client.bots.brains import at_random
from client.bots.greedy import greedy
from engine.events import Command
from engine.legal import Legal
from engine.pieces import Piece, Seat
from engine.view import View
from protocol import messages
from protocol.absence import WAIT, Absence, GameClock, MoveClock
from protocol.codes import Code
from server.app import Running, running
from server.config import Brain, Choose, Config, InProcess, Limits
from server.monitoring.logs import describe
from tests.server.manual_clock import ManualClock
from tests.server.peer import Peer, check_views, connected, eventually, full_table, game, rematch, table_of
from tests.server.process import serving
from tests.server.storage.test_journal import resumed
from tests.server.tables import hosted
from tests.server.tables.hosted import play_to_the_end, state_where
from tests.server.thinking.brains import Learning, Waiting, hanging, raising, steady
from tests.server.thinking.test_processes import thinkers

BRAINS: Mapping[str, Choose] = {"random": at_random, "greedy": greedy}
PAUSE = 1.0


served = partial(hosted.served, brains=BRAINS)


async def seated_bot(host: Peer, level: str = "random", seat: int | None = None) -> messages.TableState:
    """Have the host seat a bot; return the table as it is then."""
    before = sum(each.level is not None for each in (await latest(host)).seats)
    await host.done(messages.SeatBot, level, seat)
    return await state_where(host, lambda state: sum(each.level is not None for each in state.seats) > before)


async def latest(peer: Peer) -> messages.TableState:
    """Return the last state of the table that the peer was sent."""
    await peer.ask(messages.Ping)
    return peer.told(messages.TableState)[-1]


async def test_the_host_seats_bots() -> None:
    """They take the first free seat or the one that is named, are here, and have names of their own."""
    async with served() as server, connected(server.port) as host, connected(server.port) as other:
        await host.open(5)
        await seated_bot(host, "greedy", 3)
        await seated_bot(host)
        state = await seated_bot(host, "greedy")
        assert [(each.name, each.level, each.here) for each in state.seats] == [
            ("Anna", None, True),
            ("random-1", "random", True),
            ("greedy-2", "greedy", True),
            ("greedy-1", "greedy", True),
            (None, None, False),
        ]
        tables = await other.answer(messages.Tables, messages.ListTables)
        assert (tables.tables[0].taken, tables.tables[0].bots) == (4, 3)
        assert [each.levels for each in host.told(messages.Welcome)] == [["random", "greedy"]]
        await host.done(messages.Remove, 1)
        assert (await latest(host)).seats[1].name is None


async def test_no_two_names_at_a_table_look_alike() -> None:
    """A bot takes another name than those of players and spectators, and nobody takes a bot's."""
    async with served() as server, connected(server.port) as host, connected(server.port) as other:
        await host.open(3)
        await other.ask(messages.Watch, host.code, name="Greedy-l")
        state = await seated_bot(host, "greedy")
        assert state.seats[1].name == "greedy-2"
        await other.done(messages.Leave)
        assert await other.refusal(messages.JoinTable, host.code, "GREEDY - 2") == Code.NAME_TAKEN


async def test_a_person_can_take_the_seat_of_a_bot_before_the_game() -> None:
    """Free seats go first; programs take none, and nobody takes a seat from a person."""
    async with served() as server, contextlib.AsyncExitStack() as stack:
        host, ben, carla, dario = [await stack.enter_async_context(connected(server.port)) for _ in range(4)]
        await host.open(3)
        await seated_bot(host)
        refusal = await dario.refused(messages.JoinTable, host.code, "Dario", 1, program=True)
        assert (refusal.code, refusal.about) == (Code.SEAT_TAKEN, {"seat": "1", "free_seats": "2"})
        assert (await ben.join(host.code, "Ben")).seat == 2
        refusal = await dario.refused(messages.JoinTable, host.code, "Dario", program=True)
        assert refusal.code == Code.TABLE_FULL
        assert (await carla.join(host.code, "random-1")).seat == 1  # the name that it had is free with it
        state = await state_where(host, lambda state: not any(each.level for each in state.seats))
        assert [each.name for each in state.seats] == ["Anna", "random-1", "Ben"]
        refusal = await dario.refused(messages.JoinTable, host.code, "Dario")
        assert refusal.code == Code.TABLE_FULL


async def test_bots_go_along_when_seats_are_given_in_another_order() -> None:
    async with served() as server, full_table(server.port, 3, bots={1: "greedy"}) as (host, other):
        await host.done(messages.Arrange, (1, 2, 0))
        state = await latest(host)
        assert [each.level for each in state.seats] == ["greedy", None, None]
        assert (state.host, host.seat) == (2, 2)
        await host.done(messages.StartGame)
        await play_to_the_end([host, other])


@pytest.mark.parametrize("leaves", [True, False])
async def test_bots_alone_do_not_keep_a_table(leaves: bool) -> None:
    """A table before its game ends with its last person, even if that one never comes back."""
    clock = ManualClock()
    async with served(time=clock) as server, connected(server.port) as host:
        await host.open(2)
        await seated_bot(host)
        if leaves:
            await host.done(messages.Leave)
        else:
            await host.socket.close()
            await eventually(lambda: not table_of(server, [host]).audience.seated)
            clock.advance(Limits().seat_grace_seconds)
        await eventually(lambda: not server.lobby.tables)


async def test_a_bot_keeps_its_seat_however_long_the_game_does_not_begin(tmp_path: Path) -> None:
    """Also in the seat of somebody who was away, and after a restart: it is never away itself."""
    clock = ManualClock()
    async with served(tmp_path, clock) as server, full_table(server.port, 2) as (host, other):
        await other.socket.close()
        await state_where(host, lambda state: not state.seats[1].here and state.seats[1].name is not None)
        await host.done(messages.Remove, 1)
        await seated_bot(host)
        clock.advance(2 * Limits().seat_grace_seconds)
        assert (await latest(host)).seats[1].level == "random"
    later = ManualClock()
    async with served(tmp_path, later) as server, resumed(server.port, host) as (back,):
        later.advance(2 * Limits().seat_grace_seconds)
        assert (await latest(back)).seats[1].level == "random"


@pytest.mark.parametrize("absence", [WAIT, MoveClock(60), GameClock(600)])
async def test_a_game_with_bots_is_played_and_played_again(absence: Absence) -> None:
    """They move for themselves, see what their seats see, need no clock, and come along immediately."""
    views: list[tuple[Seat, View]] = []

    def watched(view: View, legal: Legal, rng: random.Random) -> Command:
        views.append((legal.seat, view))
        return at_random(view, legal, rng)

    bots = {1: "watched", 2: "watched"}
    async with (
        served(brains={"watched": watched}) as server,
        game(server.port, 3, bots=bots, watched=True, absence=absence) as peers,
    ):
        host = peers[0]
        await play_to_the_end(peers)
        check_views(table_of(server, peers), peers)
        moves = host.told(messages.Events)
        assert all(each.by is None for each in moves)
        assert all(each.clock is None for each in moves if each.turn in bots)
        state = await latest(host)
        assert [each.level for each in state.seats] == [None, "watched", "watched"]
        assert [each.standing.games for each in state.seats] == [1, 1, 1]
        assert not table_of(server, peers).state.played
        for seat, view in views:
            assert view.eyes == {seat}
            assert set(view.hands) == {seat}
            others = [piece for field, piece in view.placed.items() if view.owners[field] != seat]
            assert not [piece for piece in others if isinstance(piece, Piece) and piece.wolf]
        answer = await host.answer(messages.Seated, messages.Rematch)
        host.view, host.seq, host.legal = None, 0, None
        again = await state_where(host, lambda each: each.table == answer.table)
        assert [(each.name, each.level, each.kept) for each in again.seats] == [
            ("Player 0", None, False),
            ("watched-1", "watched", False),
            ("watched-2", "watched", False),
        ]
        assert [each.standing for each in again.seats] == [each.standing for each in state.seats]
        await host.done(messages.StartGame)
        await play_to_the_end([host])


@pytest.mark.parametrize("restart", [False, True])
async def test_a_bot_waits_while_the_game_is_paused(tmp_path: Path, restart: bool) -> None:
    """A pause stops it in mid-move, and it does not begin one; it moves when the game goes on."""
    clock = ManualClock()
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(served(tmp_path, time=clock, pause=PAUSE))
        (host,) = await stack.enter_async_context(game(server.port, 2, bots={1: "random"}))
        await host.done(host.random_move(random.Random(1)))
        clock.advance(PAUSE / 2)
        await host.done(messages.AskPause, on=True)
        if restart:
            await stack.aclose()
            server = await stack.enter_async_context(served(tmp_path, time=clock, pause=PAUSE))
            (host,) = await stack.enter_async_context(resumed(server.port, host))
        seq = host.seq
        clock.advance(100 * PAUSE)
        state = await latest(host)
        assert state.paused is not None
        assert host.seq == seq
        await host.done(messages.AskPause, on=False)
        clock.advance(PAUSE)
        while host.seq == seq:
            await host.news()
        check_views(table_of(server, [host]), [host])


async def test_a_restart_in_the_middle_changes_nothing(tmp_path: Path) -> None:
    """Bots keep their seats; those of levels that are no longer seated play as before or as the stand-in."""
    asked: set[Seat] = set()

    def as_before(view: View, legal: Legal, rng: random.Random) -> Command:
        asked.add(legal.seat)
        return at_random(view, legal, rng)

    async with served(tmp_path) as server, game(server.port, 3, bots={1: "random", 2: "greedy"}) as (host,):
        await host.done(host.random_move(random.Random(1)))
        while host.legal is None:
            await host.news()
        await host.socket.close()
    limits, former = Limits(stand_in_seconds=0), {"greedy": as_before}
    config = Config(data=tmp_path, limits=limits, former_brains=former)
    async with running(config) as server, resumed(server.port, host) as (back,):
        await play_to_the_end([back])
        check_views(table_of(server, [back]), [back])
    assert asked == {2}


async def test_a_token_of_before_does_not_bring_back_a_table_where_a_bot_sits(tmp_path: Path) -> None:
    """Who left a seat before the game has no part in it, even when it is in the archive."""
    clock = ManualClock()
    async with (
        served(tmp_path, clock) as server,
        full_table(server.port, 2, random_layout=True) as (host, ben),
    ):
        await ben.done(messages.Leave)
        await seated_bot(host)
        await host.done(messages.StartGame)
        await host.socket.close()
        await eventually(lambda: not table_of(server, [host]).audience.seated)
        clock.advance(Limits().unattended_seconds)
        await eventually(lambda: not server.lobby.tables)
        assert await ben.refusal(messages.Resume, host.code, ben.token) == Code.BAD_TOKEN
        assert not server.lobby.tables


@pytest.mark.parametrize("people", [1, 2])
async def test_a_game_counts_as_played_if_two_people_or_more_have_moved(people: int) -> None:
    """Bots do not count: otherwise anybody could push the games of others out of the archive."""
    bots = dict.fromkeys(range(people, 3), "random")
    async with served() as server, game(server.port, 3, bots=bots) as peers:
        await play_to_the_end(peers)
        assert table_of(server, peers).state.played == (people == 2)


@contextlib.asynccontextmanager
async def served_in_processes(brain: Choose, **limits: float) -> AsyncIterator[Running]:
    """Run a server whose bots of level `slow` think in processes, with as many as they like."""
    brains: dict[str, Brain] = {"quick": at_random, "slow": InProcess(brain)}
    allowed = Limits(stand_in_seconds=0, bots_cpu=1.0, **limits)  # type: ignore[arg-type]
    config = Config(brains=brains, stand_in=InProcess(brain), seed=1, limits=allowed, timers=ManualClock)
    async with running(config) as server:
        yield server


async def play_rounds(host: Peer, rounds: int) -> None:
    """Have the host and a bot move in turn."""
    chooser = random.Random(1)
    for _ in range(rounds):
        await host.done(host.random_move(chooser))
        while host.legal is None:
            await host.news()


async def test_a_process_is_started_with_the_first_move_and_ends_with_the_server() -> None:
    """A bot that needs none plays without; all of a game is played with one."""
    async with served_in_processes(steady) as server:
        async with game(server.port, 2, bots={1: "quick"}) as (host,):
            await play_rounds(host, 2)
            assert not thinkers()
        async with game(server.port, 2, bots={1: "slow"}) as peers:
            await play_to_the_end(peers)
            check_views(table_of(server, peers), peers)
            assert len(thinkers()) == 1
    assert not thinkers()


@pytest.mark.parametrize("brain", [raising, lambda *_: None])
async def test_a_bot_whose_brain_fails_still_moves(brain: Choose, caplog: pytest.LogCaptureFixture) -> None:
    """The log says so once, and nothing of what the brain knew."""
    async with served_in_processes(brain) as server, game(server.port, 2, bots={1: "slow"}) as (host,):
        await play_rounds(host, 2)
    told = [each for each in caplog.records if each.name.startswith("server.tables.absence")]
    assert [each.levelno for each in told] == [logging.WARNING]
    assert describe(told[0]).startswith("a bot failed and a simpler one moves for it: reason=")
    assert not re.search(r"[A-Z][mfs]\*?", describe(told[0]).partition(":")[2])


async def test_a_bot_whose_process_is_lost_moves_all_the_same() -> None:
    """Nobody waits for it for long, and no process is left."""
    async with (
        served_in_processes(hanging, bots_seconds=0.6) as server,
        game(server.port, 2, bots={1: "slow"}) as (host,),
    ):
        await play_rounds(host, 1)
        await eventually(lambda: not thinkers())


async def test_a_bot_learns_from_game_to_game() -> None:
    """With the same players in their seats, as bots that are clients do."""
    async with served_in_processes(Learning()) as server, game(server.port, 2, bots={1: "slow"}) as peers:
        (host,) = peers
        await play_to_the_end(peers)
        assert next(field for field, seat in host.sight.owners.items() if seat == 1) in {"A1", "A2"}
        await rematch(host)
        await host.done(messages.StartGame)
        while host.legal is None:
            await host.news()
        assert host.sight.owners == {"G6": 1}


async def test_a_bot_that_thinks_delays_no_other_table(tmp_path: Path) -> None:
    """Neither people nor quick bots; and when it has thought, it moves."""
    brain = Waiting(tmp_path)
    async with served_in_processes(brain) as server, game(server.port, 2, bots={1: "slow"}) as (host,):
        await host.done(host.random_move(random.Random(1)))
        await eventually(lambda: bool(brain.thinkers()))
        async with game(server.port, 2, bots={1: "quick"}) as others:
            await play_to_the_end(others)
        assert len(brain.thinkers()) == 1
        brain.go_on()
        while host.legal is None:
            await host.news()


async def test_a_server_that_is_killed_leaves_no_process() -> None:
    """Not even while these think, for seconds."""
    async with (
        serving("--memory", "--bots-cpu", "2") as server,
        game(server.port, 3, bots={1: "consul", 2: "consul"}) as (host,),
    ):
        process = psutil.Process(server.process.pid)
        assert not process.children()
        await host.done(host.random_move(random.Random(1)))
        await eventually(lambda: len(process.children()) > 0)
        thinking = process.children()
        process.kill()
        await eventually(lambda: not any(map(lives, thinking)))


def lives(process: psutil.Process) -> bool:
    """Tell whether the process has not ended; a zombie has."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
