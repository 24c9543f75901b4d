"""A server for the tests of tables, on a clock that only they advance, and what its players do."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from ipaddress import ip_network
from pathlib import Path
from types import MappingProxyType

from client.bots.brains import at_random
from client.bots.greedy import greedy
from engine.game import Game, RandomChance
from protocol import messages
from protocol.codes import Code
from protocol.messages import Events, Refused, TableState, Vote
from server.app import Running, running
from server.config import Choose, Config, Limits
from server.tables.absence.policy import AbsencePolicy
from server.tables.state.live_entries import live_entries
from server.tables.state.persistent_state import PersistentState
from server.tables.table import Table
from tests.server.manual_clock import ManualClock
from tests.server.peer import TIMEOUT, Peer, all_connected, next_state_where
from tests.server.playing import all_caught_up, peer_on_turn, play_on, table_of
from tests.server.storage.test_journal import table_facts

LONG_PAUSE = 3600.0
BRAINS: Mapping[str, Choose] = MappingProxyType({"random": at_random, "greedy": greedy})


@contextlib.asynccontextmanager
async def served(
    data: Path | None = None,
    time: ManualClock | None = None,
    *,
    stand_in: Choose = at_random,
    brains: Mapping[str, Choose] = BRAINS,
    pause: float = 0.0,
) -> AsyncIterator[Running]:
    """Run a server whose stand-in and bots take this pause for a move, on a clock that only tests advance.

    In the end, a restart would bring every table back as it is.
    """
    clock, limits = time or ManualClock(), Limits(stand_in_seconds=pause)
    config = Config(data=data, stand_in=stand_in, brains=brains, limits=limits, timers=lambda: clock, seed=1)
    async with running(config) as server:
        yield server
        for code in (await server.lobby.journal.kept()).tables:
            if (table := server.lobby.tables.get(code)) is not None:
                async with asyncio.timeout(TIMEOUT):  # what is stored may not be folded yet
                    while len(entries := await server.lobby.journal.entries(code)) != table.state.entry_count:
                        pass
                facts = table_facts(table.state)
                for kept in (entries, [entries[number] for number in live_entries(entries)]):
                    restored = table_facts(PersistentState(kept, RandomChance(random.Random(1))))
                    assert restored | {"entries": facts["entries"]} == facts


async def sent_away(peer: Peer) -> Refused:
    """Wait until the peer is sent away, and return why."""
    while (refused := await peer.until(Refused)).id is not None:
        pass
    return refused


async def begun(*peers: Peer) -> None:
    """Wait until all know that the game has begun."""
    for peer in peers:
        while peer.view is None:
            await peer.receive()


async def play_to_the_end(peers: Sequence[Peer], seed: int = 1) -> list[Events]:
    """Play with whatever else moves until the game is over; return the events of those other moves."""
    chooser, of_others = random.Random(seed), list[Events]()
    while peers[0].view is None or peers[0].view.result is None:
        if (mover := peer_on_turn(peers)) is not None:
            await mover.done(mover.random_move(chooser))
            await all_caught_up(peers, mover.seq)
        else:
            of_others.append(await peers[0].until(Events))
            await all_caught_up(peers, peers[0].seq)
    return of_others


async def play_moves_of_stand_in(peers: list[Peer], moves: int) -> None:
    for _ in range(moves):
        while not (await peers[0].until(Events)).events:
            pass
        await all_caught_up(peers[1:], peers[0].seq)


async def disconnect(peer: Peer, among: Peer) -> TableState:
    """Break the peer's connection; return the state in which `among` sees it."""
    seat = peer.seat
    assert seat is not None
    await peer.socket.close()
    return await next_state_where(among, lambda state: not state.seats[seat].here)


async def check_makes_no_room(tmp_path: Path, message: messages.Rematch | messages.Study) -> None:
    """Fail if a table makes room for the one that it is to open.

    It would wait for itself: it has been opened last, and where most were.
    """
    config = Config(data=tmp_path, limits=Limits(tables=2), trusted_proxies=(ip_network("127.0.0.1"),))
    addresses = [f"192.0.2.{host}" for host in (7, 7, 8, 8)]
    async with running(config) as server, all_connected(server.port, addresses) as peers:
        hosts, guests = peers[:2], peers[2:]
        for host, guest in zip(hosts, guests, strict=True):
            await guest.join((await host.open(2, random_layout=True)).table, "Guest")
            await host.send(messages.StartGame(host.next_id()))
            await host.news()
            await guest.news()
        last = [hosts[1], guests[1]]
        await play_on(last, random.Random(1))
        for peer in reversed(last):
            assert await peer.refusal(message) == Code.TOO_MANY_TABLES


def held_by_bot(seat: int) -> Callable[[TableState], bool]:
    return lambda state: state.seats[seat].bot


def policy_of(server: Running, peers: Sequence[Peer]) -> AbsencePolicy:
    return table_of(server, peers)._context.policy


def has_chosen(policy: AbsencePolicy) -> bool:
    """Return whether a stand-in's move has been chosen; until then, the table's clock only makes it later."""
    return policy._substitute_move is not None and policy._substitute_move.command.done()


def game_of(server: Running, peers: Sequence[Peer]) -> Game:
    """Return the game at the peers' table, which has begun."""
    game = table_of(server, peers).state.game
    assert game is not None
    return game


def vote(peer: Peer, seat: int, *, agree: bool = True) -> Vote:
    return Vote(peer.next_id(), seat, agree)


def tally(state: TableState, seat: int) -> tuple[list[int], int]:
    return state.seats[seat].votes, state.seats[seat].votes_needed


def queued_requests(table: Table) -> int:
    return len(table._lock)
