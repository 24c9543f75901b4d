"""A server that stops gives its tables to others that share its database, and sends its clients there."""

import asyncio
import contextlib
import math
import random
import re
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest
import trustme

from client.network.connection import Connection
from client.network.connection import open_connection as client_at
from client.network.transport import ServerAccess, ServerAddress, Timeouts, elsewhere
from client.ui.web.pages import WebPages
from engine.pieces import Seat
from protocol.absence import GameClock
from protocol.codes import CloseCode
from protocol.messages import NEW, JoinTable, Moved, OpenTable, Say, StartGame
from server import parts
from server.app import running
from server.config import Config
from server.errors import TableLost
from server.storage.entries import Opened
from server.storage.postgresql import hand_over, held_lease, lease
from tests.postgresql import DatabaseRelay
from tests.server.cluster.running_cluster import LONG_LEASE
from tests.server.peer import TIMEOUT, Peer, eventually, game, play_on, table_of
from tests.server.storage.conformance.stores import found, journal_at, rows
from tests.server.storage.test_journal import resumed, table_facts
from tests.server.web.viewer import viewer

OPENED = Opened(2, random_layout=True, starting=None)
OFFERED = "SELECT code FROM game_table WHERE offered IS NOT NULL"
# Longer than a test: who is sent on need not wait, and who waits does not come.
PATIENT = Timeouts(first_pause=1000.0, longest_pause=1000.0, keep_trying=5000.0)


class Node:
    """A server that a test stops when it likes."""

    def __init__(self, database: str, name: str, config: Config | None = None) -> None:
        self._config = replace(config or Config(), database=database, node=name, lease_seconds=LONG_LEASE)
        self._running = contextlib.AsyncExitStack()
        self._stopping: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Node":
        self.server = await self._running.enter_async_context(running(self._config))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Stop the server as SIGTERM does, and wait until it has ended."""
        await (self._stopping or self._running.aclose())

    def stop_soon(self) -> None:
        """Stop the server, and do not wait for it."""
        self._stopping = self._stopping or asyncio.create_task(self._running.aclose())

    @property
    def port(self) -> int:
        return self.server.port

    def client(self) -> contextlib.AbstractAsyncContextManager[Connection]:
        """Connect to the server."""
        return client_at(f"ws://127.0.0.1:{self.port}", timeouts=PATIENT)


@contextlib.asynccontextmanager
async def two_nodes(database: str, config: Config | None = None) -> AsyncIterator[tuple[Node, Node]]:
    """Run a server that stays, and one that leaves."""
    async with Node(database, "stays", config) as stays, Node(database, "leaves", config) as leaves:
        yield stays, leaves


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a busy machine hand its tables over in its own time."""
    monkeypatch.setattr(hand_over, "_SECONDS_TO_TAKE", TIMEOUT)
    monkeypatch.setattr(hand_over, "_SECONDS_TO_ANSWER", TIMEOUT)
    monkeypatch.setattr(parts, "_MOST_SECONDS", TIMEOUT)


async def sent_on(peer: Peer) -> str:
    """Return where a peer is sent when its connection ends."""
    assert (await peer.closed())[0] == CloseCode.SERVICE_RESTART
    message = peer.received[-1]
    assert isinstance(message, Moved)
    return message.address


async def test_tables_go_to_a_server_that_stays(database: str) -> None:
    """Everybody at them learns where, and finds the same game there."""
    chooser = random.Random(1)
    async with two_nodes(database) as (stays, leaves):
        async with game(leaves.port, 3, watched=True) as peers:
            await play_on(peers, chooser, moves=4)
            facts = table_facts(table_of(leaves.server, peers).state)
            await leaves.stop()
            addresses = {await sent_on(peer) for peer in peers}
        assert len(addresses) == 1
        assert addresses.pop().endswith(f":{stays.port}")
        assert table_facts(table_of(stays.server, peers).state) == facts
        async with resumed(stays.port, *peers) as again:
            await play_on(again, chooser)
            assert all(peer.view is not None and peer.view.result is not None for peer in again)


async def test_browsers_follow(database: str) -> None:
    """To the page of the table, or of the list, at the server that stays."""
    async with (
        two_nodes(database, Config(pages=WebPages())) as (stays, leaves),
        game(leaves.port, 2) as peers,
        viewer(leaves.port, f"/watch/{peers[0].code}") as at_table,
        viewer(leaves.port, "/watch?lang=it") as at_list,
    ):
        await at_table.receive()
        await at_list.receive()
        await leaves.stop()
        assert {await at_table.closed(), await at_list.closed()} == {CloseCode.SERVICE_RESTART}
        there = f"http://127.0.0.1:{stays.port}/"
        assert at_table.parts["moved"] == f"{there}watch/{peers[0].code}"
        assert at_list.parts["moved"] == f"{there}?lang=it"


async def test_clients_follow_without_a_pause(database: str) -> None:
    """From the table, with its clocks, and from the lobby; what was not answered is done there, once."""
    async with (
        two_nodes(database) as (stays, leaves),
        leaves.client() as anna,
        leaves.client() as bruno,
        leaves.client() as carla,
    ):
        clock = GameClock(600)
        code = (await anna.ask(OpenTable(NEW, 2, "Anna", random_layout=True, absence=clock))).table
        await bruno.ask(JoinTable(NEW, code, "Bruno"))
        await anna.ask(StartGame(NEW))
        await asyncio.sleep(0.01)  # for which the seat on turn is charged
        await leaves.stop()
        await anna.ask(Say(NEW, "still here"))
        clocks = stays.server.lobby.tables[code].state.clocks
        assert min(clocks.left(Seat(seat)) or 0 for seat in (0, 1)) < 600_000
        assert (await carla.ask(OpenTable(NEW, 2, "Carla"))).table in stays.server.lobby.tables
        await eventually(lambda: len(stays.server.lobby.tables[code].audience.seated) == 2)


async def test_clients_are_sent_on_over_tls(database: str, tmp_path: Path) -> None:
    """They trust the next server's certificate for the same reason, and never leave TLS."""
    authority, chain = trustme.CA(), tmp_path / "chain.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(chain)
    trust = ssl.create_default_context(cadata=authority.cert_pem.bytes().decode())
    config = Config(tls_cert=chain)
    async with Node(database, "stays", config) as stays, Node(database, "leaves", config) as leaves:
        access = ServerAccess(tls=trust)
        async with (
            client_at(f"wss://127.0.0.1:{leaves.port}", timeouts=PATIENT, access=access) as anna,
            client_at(f"wss://127.0.0.1:{stays.port}", timeouts=PATIENT, access=access) as bruno,
        ):
            code = (await anna.ask(OpenTable(NEW, 2, "Anna"))).table
            await bruno.ask(JoinTable(NEW, code, "Bruno"))
            await leaves.stop()
            await anna.ask(Say(NEW, "still here"))
            await eventually(lambda: len(stays.server.lobby.tables[code].audience.seated) == 2)
    wss = ServerAddress("wss://b.example", "test", ServerAccess(hosts=None))
    assert elsewhere(Moved("ws://a.example"), wss) is None
    assert (
        elsewhere(Moved("ws://a.example"), ServerAddress("WSS://b.example", "test", ServerAccess(hosts=None)))
        is None
    )
    assert elsewhere(Moved("wss://a.example"), wss) is not None


async def test_tables_are_taken_up_a_few_at_a_time(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lease is renewed in between, however long that takes in all."""
    async with journal_at(database, "before") as journal:
        for number in range(7):
            await journal.append(f"TAB{number}", 0, [OPENED])
    done: list[str] = []
    renew, take_up = lease.renew, lease.take_up

    async def renewed(*args: Any) -> bool:
        done.append("renewed")
        return await renew(*args)

    async def taken_up(*args: Any) -> list[str]:
        codes = await take_up(*args)
        done.extend(codes)
        return codes

    monkeypatch.setattr(held_lease, "_TAKEN_AT_ONCE", 2)
    due = property(lambda _: -math.inf, lambda *_: None)
    monkeypatch.setattr(held_lease.HeldLease, "_renewal_due", due, raising=False)
    monkeypatch.setattr(lease, "renew", renewed)
    monkeypatch.setattr(lease, "take_up", taken_up)
    async with Node(database, "after") as after:
        await eventually(lambda: len(after.server.lobby.tables) == 7)
        events = "".join("R" if each == "renewed" else "t" for each in done)
        assert re.match("tt(R+tt)+R+t", events)


async def test_a_silent_server_is_passed_over(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is paused, or of an older version; whoever wants a table meanwhile is told of one that stays."""
    offer = hand_over.Departure._offer

    async def offer_in_time(self: hand_over.Departure, code: str, successor: int) -> bool:
        silent = self._addresses[successor] == "ws://silent.example"
        monkeypatch.setattr(hand_over, "_SECONDS_TO_TAKE", 0.3 if silent else TIMEOUT)
        return await offer(self, code, successor)

    monkeypatch.setattr(hand_over.Departure, "_offer", offer_in_time)
    async with two_nodes(database) as (stays, leaves), game(leaves.port, 2) as peers, game(stays.port, 2):
        await add_silent_node(database)
        await leaves.stop()
        assert {await sent_on(peer) for peer in peers} == {f"ws://127.0.0.1:{stays.port}"}
        assert await rows(database, OFFERED) == []


async def test_a_server_without_a_successor(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tables wait for another one, and its clients try again later."""
    monkeypatch.setattr(hand_over, "_SECONDS_TO_TAKE", 0.3)
    chooser = random.Random(2)
    async with Node(database, "leaves") as leaves, game(leaves.port, 2) as peers:
        await play_on(peers, chooser, moves=2)
        await add_silent_node(database)
        await leaves.stop()
        assert {(await peer.closed())[0] for peer in peers} == {CloseCode.GOING_AWAY}
    async with Node(database, "later") as later, resumed(later.port, *peers) as again:
        await play_on(again, chooser, moves=2)


async def test_a_table_that_may_be_gone_is_let_go(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for it in the meantime is not told that there is none."""
    async with journal_at(database, "leaves") as leaves, journal_at(database, "stays", address="ws://b"):
        await leaves.append("ONCE", 0, [OPENED])
        departure = await leaves.leave()
        monkeypatch.setattr(hand_over.Departure, "_offer", AsyncMock(side_effect=TimeoutError))
        with pytest.raises(TableLost):
            await departure.give("ONCE")
        assert not leaves.holds("ONCE")
        departure.close()


async def test_the_database_is_lost_in_the_middle(database: str, socket_folder: Path) -> None:
    """Nobody knows where the table is: its players are told nothing, and find it themselves."""
    chooser = random.Random(4)
    async with (
        DatabaseRelay(database, socket_folder).running() as relay,
        Node(relay.url, "leaves") as leaves,
        game(leaves.port, 2) as peers,
    ):
        await play_on(peers, chooser, moves=2)
        await add_silent_node(database)
        leaves.stop_soon()
        await found(database, OFFERED)
        relay.refuses = True
        relay.cut()
        assert {(await peer.closed())[0] for peer in peers} == {CloseCode.SERVICE_RESTART}
        assert not any(isinstance(peer.received[-1], Moved) for peer in peers)


async def add_silent_node(database: str) -> None:
    """Have a server seem to run that takes nothing up."""
    await rows(
        database,
        "INSERT INTO node (name, address, expires)"
        " VALUES ('silent', 'ws://silent.example', clock_timestamp() + interval '1 h') RETURNING term",
    )
