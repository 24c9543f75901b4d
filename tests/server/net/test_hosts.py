"""Hosts and players do everything that the protocol lets them do, at odd moments: every table stays sound."""

import asyncio
import contextlib
import logging
import random
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Final, get_args

import pytest
from msgspec.structs import replace
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from client.bots.brains import at_random
from engine.pieces import Seat
from engine.redaction import snapshot
from engine.view import SPECTATOR, eyes_of, folded
from protocol.absence import BOUNDS, WAIT, Absence
from protocol.codec import decode_server
from protocol.events import event_of
from protocol.messages import (
    ChoosePeople,
    ClientMessage,
    Events,
    Hello,
    HostRequest,
    JoinTable,
    Leave,
    Online,
    OpenTable,
    Ping,
    Pong,
    Refused,
    Rematch,
    Reseated,
    Resume,
    SeatBot,
    Seated,
    ServerMessage,
    Snapshot,
    StartGame,
    TableState,
    Watch,
    Watching,
)
from protocol.snapshot import view_of
from server.app import Running, running
from server.config import Config, Limits
from server.tables.table import Table
from tests.server.manual_clock import ManualClock
from tests.server.peer import TIMEOUT, Peer, connected_without_hello, eventually
from tests.server.random_messages import KINDS, RandomMessages
from tests.server.storage.test_journal import table_facts

LIMITS: Final = Limits(
    burst=10**9,
    rate=1e9,
    burst_per_address=10**9,
    rate_per_address=1e9,
    bad_messages=10**9,
    tables=8,
    tables_per_connection=10**9,
    tables_per_address=10**9,
    close_seconds=0.5,
    states_at_once=10**9,
)
SHORT_TIMES: Final = (0.0, 0.5, 1.0, 1.5, 16.0, 61.0)  # in seconds: around what falls due soon ...
TIMES: Final = (*SHORT_TIMES, 301.0, 601.0, 3601.0, 86_401.0)  # ... and later
POLICIES: Final[Sequence[Absence]] = [
    WAIT,
    *(kind(seconds) for kind, bounds in BOUNDS.items() for seconds in bounds),
]
NAMES: Final = ("Anna", "Bruno", "Carla", "Dario", "Emma", "a", "w" * 20, "é" * 20, "Αnna", "\x1b[2J")
MOST_ENTRIES: Final = 260  # of one table's journal


class World:
    """What strangers know of a server: its tables, and each other's seats there."""

    def __init__(self, server: Running, clock: ManualClock, rng: random.Random) -> None:
        self.server = server
        self.clock = clock
        self.rng = rng
        self.seats: list[tuple[str, str]] = []

    def codes(self, stage: str | None = None) -> list[str]:
        tables = self.server.lobby.tables.items()
        return [code for code, table in tables if stage in {None, table.state.stage}]


class Stranger(Peer):
    """Mostly plays and sometimes does anything; folds what it is told, and fails if it cannot."""

    def __init__(self, socket: ClientConnection, world: World) -> None:
        super().__init__(socket)
        self.state: TableState | None = None
        self.online: Online | None = None
        self._inside = False
        self._world = world
        self._rng = random.Random(world.rng.random())
        self._pongs: dict[int, asyncio.Future[None]] = {}
        self._reading = asyncio.create_task(self._read())

    async def act(self, times: int) -> None:
        """Send so many messages, and wait for answers now and then."""
        with contextlib.suppress(ConnectionClosed):
            for _ in range(times):
                if (message := self._next_message()) is None:
                    await asyncio.sleep(0.001)
                    continue
                await self.send(message)
                if self._rng.random() < 0.5:
                    await self.settled()

    async def settled(self) -> None:
        """Wait until everything that was sent has been answered, or the connection has ended."""
        ping = Ping(self.next_id())
        pong = self._pongs[ping.id] = asyncio.get_running_loop().create_future()
        with contextlib.suppress(ConnectionClosed):
            await self.send(ping)
        async with asyncio.timeout(TIMEOUT):
            await asyncio.wait((pong, self._reading), return_when=asyncio.FIRST_COMPLETED)
        if self._reading.done():
            self._reading.result()

    @property
    def gone(self) -> bool:
        return self._reading.done()

    async def end(self) -> None:
        """Break the connection."""
        self.socket.transport.abort()
        await self._reading

    async def _read(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            while True:
                self._take_in(decode_server(await self.socket.recv(decode=False)))

    def _take_in(self, message: ServerMessage) -> None:
        match message:
            case Seated() | Watching():
                self.code, self.view, self.seq, self.legal, self.state = message.table, None, 0, None, None
                self.seat = Seat(message.seat) if isinstance(message, Seated) else None
                self._inside = True
                if isinstance(message, Seated) and message.token is not None:
                    self._world.seats.append((message.table, message.token))
            case Reseated(seat):
                self.seat = Seat(seat)
            case Snapshot():
                self.view, self.seq, self.legal = view_of(message, self.seat), message.seq, message.legal
            case Events() if self.view is not None or message.seq == 1:
                self._fold(message)
            case TableState():
                assert self.code == message.table
                check_peoples(message)
                self.state = message
            case Online():
                self.online = message
            case Pong(id) if id in self._pongs:
                self._pongs.pop(id).set_result(None)
            case Refused(id=None):
                self._inside = False
            case _:
                pass

    def _fold(self, message: Events) -> None:
        assert message.seq <= self.seq + 1, "the events of a table have no gaps"
        if self.view is None:
            self.view = folded([], SPECTATOR if self.seat is None else eyes_of(self.seat))
        for content in message.events[self.seq + 1 - message.seq :]:
            self.view.fold(event_of(content))
            self.seq += 1
        self.legal = message.legal
        assert self.view.turn == message.turn

    def _next_message(self) -> ClientMessage | None:
        rng, chance = self._rng, self._rng.random()
        code, token = rng.choice([*self._world.seats, ("AAAA", "guessed")])
        if chance < 0.08:
            kind = rng.choice(KINDS)
            if kind is not Leave or rng.random() < 0.1:
                return self._random_messages(token).of(kind)
        if not self._inside:
            gathering = self._world.codes("gathering")
            if gathering and chance < 0.6:
                return JoinTable(self.next_id(), rng.choice(gathering), rng.choice(NAMES))
            if chance < 0.8:
                return self._random_messages(token).of(OpenTable, players=rng.choice((2, 2, 2, 3, 4, 5)))
            if chance < 0.95:
                return Resume(self.next_id(), code, token)
            return self._random_messages(token).of(Watch)
        hosts = self.state is not None and self.state.host == self.seat
        if hosts and chance < 0.16:
            return self._random_messages(token).of(rng.choice(get_args(HostRequest)))
        if self.legal is not None:
            return self.random_move(rng)
        match self.state and self.state.stage:
            case "over":
                return Rematch(self.next_id()) if chance < 0.8 else Leave(self.next_id())
            case "gathering" if chance < 0.4:
                return SeatBot(self.next_id(), "random")
            case "gathering" if chance < 0.7:
                return StartGame(self.next_id())
            case "gathering" if chance < 0.8:
                return self._random_messages(token).of(ChoosePeople)
            case "playing" if self.seat is not None and chance < 0.995:
                return None
        if chance < 0.9:
            return None
        self._inside = False  # that may be refused: then it knows less than the server
        return Leave(self.next_id())

    def _random_messages(self, token: str) -> RandomMessages:
        values: dict[str, Sequence[Any]] = {
            "id": [self.next_id(), self.next_id(), self.id - 2],
            "table": [*self._world.codes(), "AAAA"],
            "token": [token],
            "name": NAMES,
            "absence": POLICIES,
            "policy": POLICIES,
            "after": [0, 0, 99],  # with any other number it could not fold what comes
        }
        return RandomMessages(self._rng, values)


def check_peoples(state: TableState) -> None:
    """Fail unless every seat has a people of its own before the game, and none is told later."""
    peoples = [each.people for each in state.seats]
    if state.stage == "gathering":
        assert None not in peoples
        assert len(set(peoples)) == len(peoples)
        assert all(each.name is not None and each.level is None for each in state.seats if each.chosen)
    else:
        assert set(peoples) == {None}


@contextlib.asynccontextmanager
async def crowd(world: World, size: int) -> AsyncIterator["Crowd"]:
    """Let so many strangers in."""
    async with contextlib.AsyncExitStack() as stack:
        strangers = Crowd(world, stack)
        await strangers.fill_up(size)
        yield strangers
        for stranger in strangers.all:
            await stranger.end()


class Crowd:
    """Strangers who act at the same time; some of them lose their connections, and others come."""

    def __init__(self, world: World, stack: contextlib.AsyncExitStack) -> None:
        self.all: list[Stranger] = []
        self._world = world
        self._stack = stack

    async def fill_up(self, size: int) -> None:
        while len(self.all) < size:
            peer = await self._stack.enter_async_context(connected_without_hello(self._world.server.port))
            await peer.send(Hello([1], "stranger"))
            self.all.append(Stranger(peer.socket, self._world))

    async def act(self, most: int) -> None:
        """Let everybody act while time passes, and some go."""
        rng, size = self._world.rng, len(self.all)
        async with asyncio.TaskGroup() as acting:
            for stranger in self.all:
                acting.create_task(stranger.act(rng.randrange(most)))
            acting.create_task(self._let_time_pass(rng))
        if rng.random() < 0.1:
            self._world.clock.advance(rng.choice(TIMES))
        for stranger in list(self.all):
            if stranger.gone or rng.random() < 0.02:
                await stranger.end()
                self.all.remove(stranger)
        await self.fill_up(size)

    async def _let_time_pass(self, rng: random.Random) -> None:
        for _ in range(rng.randrange(3)):
            await asyncio.sleep(0)
            self._world.clock.advance(rng.choice(SHORT_TIMES))

    async def check(self) -> None:
        """Fail unless everybody has been told exactly how their table is."""
        lobby = self._world.server.lobby
        await eventually(lambda: not lobby._stand_in._thread._busy)  # else a bot might move any time
        self._world.clock.advance(3.0)  # so that the lobby has a round
        for _ in range(3):  # what one of them has caused may come after another's answers
            for stranger in self.all:
                await stranger.settled()
        here = [stranger for stranger in self.all if not stranger.gone]
        by_name = {"{}:{}".format(*stranger.socket.local_address): stranger for stranger in here}
        people = lobby._lobby_chat._people
        online = people.listed(lobby.public.place_of)
        private = {code for code, table in lobby.tables.items() if table.state.private}
        assert not private & {each.table for each in online.people}
        for person in people:
            if person.listens and person.session.name in by_name:
                assert by_name[person.session.name].online == online
        for table in lobby.tables.values():
            assert table.state.entry_count < MOST_ENTRIES
            for session in table._context.audience:
                if session.name in by_name:
                    check_knowledge(by_name[session.name], table)


def check_knowledge(stranger: Stranger, table: Table) -> None:
    """Fail unless the stranger knows the table as it is, and of the game what its seat may know."""
    assert stranger.state is not None
    assert timeless(stranger.state) == timeless(table.as_seen())
    if table.state.game is not None and stranger.view is not None:
        assert stranger.seq == len(table.state.game.events)
        assert stranger.view == snapshot(table.state.game.view, stranger.view.eyes)
        assert stranger.view.eyes == (SPECTATOR if stranger.seat is None else eyes_of(stranger.seat))


def timeless(state: TableState) -> TableState:
    """Return the state of a table without what passes automatically."""
    seats = [replace(seat, seconds_left=None, clock=None, removable_in=None) for seat in state.seats]
    paused = state.paused and replace(state.paused, seconds=0, seconds_left=0)
    return replace(state, seats=seats, paused=paused)


def kept_facts(table: Table) -> dict[str, object]:
    """Return everything about a table that survives a restart, however many entries it takes."""
    state = table.state
    players = [player and (player.kept, player.program, player.standing) for player in state.players]
    return table_facts(state) | {
        "entries": None,
        "opened": state.opened,
        "next": state.next_table,
        "who": players,
        "played": state.played,
    }


@pytest.mark.parametrize(
    ("seed", "rounds"), [(15, 4), *(pytest.param(seed, 8, marks=pytest.mark.slow) for seed in (15, 16))]
)
async def test_nothing_that_hosts_and_players_do_breaks_a_table(
    seed: int, rounds: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody is told anything wrong, no table fails, journals stay short, and restarts change nothing."""
    caplog.set_level(logging.WARNING)
    rng = random.Random(seed)
    seats: list[tuple[str, str]] = []
    tables: dict[str, dict[str, object]] = {}
    archived: set[str] = set()
    for _ in range(2):
        clock = ManualClock()
        config = Config(
            data=tmp_path,
            limits=LIMITS,
            brains={"random": at_random},
            timers=lambda clock=clock: clock,  # type: ignore[misc]
        )
        async with running(config) as server:
            assert {code: kept_facts(table) for code, table in server.lobby.tables.items()} == tables
            assert set(server.lobby.archived) == archived
            world = World(server, clock, rng)
            world.seats = seats
            async with crowd(world, 8) as strangers:
                for _ in range(rounds):
                    await strangers.act(60)
                    await strangers.check()
        tables = {code: kept_facts(table) for code, table in server.lobby.tables.items()}
        archived = set(server.lobby.archived)
    assert not caplog.records
