"""Servers and tables with peers at them, and how these play."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable, Container, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from engine.pieces import Seat
from engine.redaction import snapshot
from protocol import messages
from protocol.settings import AbsenceSetting, Setting
from server.app import Running, running
from server.config import Config, Limits
from server.storage.entries import Changed, Freed, Taken
from server.tables.feature import Happening, PlayerRemoved
from server.tables.table import Table
from tests.server.manual_clock import ManualClock
from tests.server.peer import Peer, connected, eventually, next_state_where


def memory_server(**limits: float) -> contextlib.AbstractAsyncContextManager[Running]:
    """Run a server without a data folder, with these limits."""
    return running(Config(limits=Limits(**limits)))  # type: ignore[arg-type]


def timed_server(
    clock: ManualClock, data: Path | None = None, **limits: float
) -> contextlib.AbstractAsyncContextManager[Running]:
    """Run a server on a clock that only tests advance, with these limits."""
    return running(Config(data=data, timers=lambda: clock, limits=Limits(**limits)))  # type: ignore[arg-type]


@contextlib.asynccontextmanager
async def full_table(
    port: int,
    players: int,
    *,
    programs: Container[int] = (),
    bots: Mapping[int, str] = MappingProxyType({}),
    watched: bool = False,
    **options: Any,
) -> AsyncIterator[list[Peer]]:
    """Seat peers at a new table, in seat order, a spectator last; all of them know that it is full.

    `bots` are the levels of the server's bots by their seats.
    """
    async with contextlib.AsyncExitStack() as stack:
        people = [seat for seat in range(players) if seat not in bots]
        peers = [await stack.enter_async_context(connected(port)) for _ in range(len(people) + watched)]
        code = (await peers[0].open(players, "Player 0", program=0 in programs, **options)).table
        for seat, level in bots.items():
            await peers[0].done(messages.SeatBot, level, seat)
        for seat, peer in zip(people[1:], peers[1:], strict=False):
            await peer.join(code, f"Player {seat}", seat, program=seat in programs)
        if watched:
            await peers[-1].watch(code)
        for peer in peers:
            states = peer.told(messages.TableState)
            while not states or (
                len([each for each in states[-1].seats if each.here]),
                states[-1].spectators,
            ) != (players, watched):
                states.append(await peer.until(messages.TableState))
        yield peers


@contextlib.asynccontextmanager
async def game(
    port: int, players: int, *, peoples: Mapping[int, str] = MappingProxyType({}), **options: Any
) -> AsyncIterator[list[Peer]]:
    """Seat peers as `full_table` does and start the game; all of them know that it has started.

    `peoples` are those that peers choose, by their seats.
    """
    options = {"random_layout": True, "starting": 0, **options}
    async with full_table(port, players, **options) as peers:
        for seat, people in peoples.items():
            await peers[seat].done(messages.ChoosePeople, people)
        await peers[0].done(messages.StartGame)
        for peer in peers:
            while (await peer.until(messages.TableState)).stage == "gathering":
                pass
            assert peer.seq == peers[0].seq
        yield peers


@contextlib.asynccontextmanager
async def finished_game(server: Running, players: int, **options: Any) -> AsyncIterator[list[Peer]]:
    """Seat peers at a table and play their game to its end."""
    async with game(server.port, players, **options) as peers:
        await play_on(peers, random.Random(1))
        for peer in peers:
            await next_state_where(peer, lambda state: state.stage == "over")
        yield peers


async def rematch(peer: Peer) -> messages.Seated:
    """Ask for a rematch; the peer knows nothing of the new game yet."""
    answer = await peer.answer(messages.Seated, messages.Rematch)
    peer.view, peer.seq, peer.seen, peer.legal = None, 0, [], None
    return answer


async def happen(server: Running, peer: Peer, *happens: Happening) -> None:
    """Have this happen at the peer's table, whoever would decide on it; the peer knows of it then."""
    await server.lobby.tables[peer.code].change(lambda _: happens)
    await peer.ask(messages.Ping)


async def changed(server: Running, host: Peer, *settings: Setting) -> None:
    """Have the settings of the host's table changed."""
    context = server.lobby.tables[host.code]._context
    for setting in settings:
        clocks = context.clock_entries() if isinstance(setting, AbsenceSetting) else []
        await happen(server, host, *clocks, Changed(setting))


async def rearranged(server: Running, peer: Peer, *order: int) -> None:
    """Have the seats of the peer's table given to the players of the seats in this order."""
    state = server.lobby.tables[peer.code].state
    await happen(server, peer, *state.rearranged(list(map(Seat, order))))


async def removed(server: Running, peer: Peer, seat: Seat) -> None:
    """Have the player of a seat at the peer's table removed, as its host may."""
    state = server.lobby.tables[peer.code].state
    name = state.names[seat]
    left = Freed(seat) if state.stage == "gathering" else Taken(seat, name, "", vacant=True)
    await happen(server, peer, left, PlayerRemoved(seat, name, state.holder(seat)))


async def all_caught_up(peers: Sequence[Peer], seq: int) -> None:
    for peer in peers:
        await peer.caught_up(seq)


def peer_on_turn(peers: Sequence[Peer]) -> Peer | None:
    """Return the peer that was sent legal moves, if any; fail if several were."""
    movers = [peer for peer in peers if peer.legal is not None]
    assert len(movers) <= 1
    return movers[0] if movers else None


async def play_on(peers: Sequence[Peer], chooser: random.Random, moves: int = 1000) -> None:
    """Play this many random moves, or fewer if the game ends before."""
    for _ in range(moves):
        mover = peer_on_turn(peers)
        if mover is None:
            return
        await mover.done(mover.random_move(chooser))
        await all_caught_up(peers, mover.seq)


def table_of(server: Running, peers: Sequence[Peer]) -> Table:
    return server.lobby.tables[peers[0].code]


async def archived_game(server: Running, moves: int = 1000, **options: Any) -> list[Peer]:
    """Play a game of two and leave it, at a server that archives soon; return the players when it has."""
    async with game(server.port, 2, **options) as peers:
        await play_on(peers, random.Random(1), moves)
        table = table_of(server, peers)
    await eventually(lambda: table.archived)
    return peers


@contextlib.asynccontextmanager
async def held_back(owner: object, name: str) -> AsyncIterator[asyncio.Event]:
    """Let whoever awaits this method wait until the context ends; the event is set by the first one."""
    waiting, may_go_on = asyncio.Event(), asyncio.Event()
    method: Callable[..., Any] = getattr(owner, name)

    async def held(*arguments: Any) -> Any:
        waiting.set()
        await may_go_on.wait()
        return await method(*arguments)

    setattr(owner, name, held)
    try:
        yield waiting
    finally:
        setattr(owner, name, method)
        may_go_on.set()


def check_views(table: Table, peers: Sequence[Peer]) -> None:
    """Fail unless every peer's folded view is exactly what its seat may know of the game."""
    game = table.state.game
    assert game is not None
    for peer in peers:
        assert peer.seq == len(game.events)
        assert peer.sight == snapshot(game.view, peer.sight.eyes)
        assert list(peer.sight.placed) == list(game.view.placed)
