"""A server that stops gives tables and clients to others; several servers behind nginx and HAProxy."""

import asyncio
import contextlib
import ipaddress
import math
import random
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest
import trustme
from websockets.asyncio.client import connect

from client.network.connection import Connection
from client.network.connection import open_connection as client_at
from client.network.transport import ServerAccess, ServerAddress, Timeouts, elsewhere
from engine.pieces import Seat
from pages.drawing.pages import WebPages
from protocol.absence import GameClock
from protocol.codes import CloseCode
from protocol.messages import NEW, JoinTable, Moved, OpenTable, Say, StartGame, Watch
from server import parts
from server.app import running
from server.config import Config
from server.errors import TableLost
from server.storage.entries import JOURNAL_VERSION, Opened
from server.storage.postgresql import hand_over, held_lease, lease
from tests.pages.serving.viewer import Viewer, asked, viewer
from tests.postgresql import DatabaseRelay
from tests.server.cluster.running_cluster import LONG_LEASE
from tests.server.peer import TIMEOUT, Peer, eventually
from tests.server.playing import full_table, game, play_on, table_of
from tests.server.storage.conformance.stores import found, journal_at, rows
from tests.server.storage.test_journal import resumed, table_facts

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
        return client_at(f"ws://127.0.0.1:{self.port}", timeouts=PATIENT)


@contextlib.asynccontextmanager
async def two_nodes(database: str, config: Config | None = None) -> AsyncIterator[tuple[Node, Node]]:
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
    chooser = random.Random(1)
    async with two_nodes(database) as (stays, leaves):
        async with game(leaves.port, 3, watched=True) as peers:
            await play_on(peers, chooser, moves=4)
            facts = table_facts(table_of(leaves.server, peers).state)
            await leaves.stop()
            addresses = {await sent_on(peer) for peer in peers}
        assert len(addresses) == 1
        assert addresses.pop().endswith(f":{stays.port}")
        await eventually(lambda: peers[0].code in stays.server.lobby.tables)
        assert table_facts(table_of(stays.server, peers).state) == facts
        async with resumed(stays.port, *peers) as again:
            await play_on(again, chooser)
            assert all(peer.view is not None and peer.view.result is not None for peer in again)


async def test_browsers_follow(database: str) -> None:
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
        await asyncio.sleep(0.01)  # for which the seat to move is charged
        await leaves.stop()
        await anna.ask(Say(NEW, "still here"))
        clocks = stays.server.lobby.tables[code].state.clocks
        assert min(clocks.left(Seat(seat)) or 0 for seat in (0, 1)) < 600_000
        assert (await carla.ask(OpenTable(NEW, 2, "Carla"))).table in stays.server.lobby.tables
        await eventually(lambda: len(stays.server.lobby.tables[code].audience.seated) == 2)


@pytest.mark.slow
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
    for scheme in ("wss", "WSS"):
        here = ServerAddress(f"{scheme}://b.example", "test", ServerAccess(hosts=None))
        assert elsewhere(Moved("ws://a.example"), here) is None
        assert elsewhere(Moved("wss://a.example"), here) is not None


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
        "INSERT INTO node (name, address, version, expires) VALUES"  # noqa: S608 - ours
        f" ('silent', 'ws://silent.example', {JOURNAL_VERSION}, clock_timestamp() + interval '1 h')"
        " RETURNING term",
    )


EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "cluster"
# Not an address from which anybody plays.
ADDRESS = "127.0.0.99"


def nginx_command(folder: Path, site: str) -> list[str]:
    """Write a configuration that serves `site` into the folder, and return the command that runs it."""
    configuration = folder / "nginx.conf"
    text = Path(__file__).with_name("nginx.conf").read_text(encoding="utf-8")
    configuration.write_text(text.replace("FOLDER", str(folder)).replace("SITE", site), encoding="utf-8")
    return ["nginx", "-p", str(folder), "-c", str(configuration), "-e", "stderr"]


def with_addresses(text: str, ports: Sequence[int]) -> str:
    """Return a configuration with the nodes at these ports of this machine."""
    for number, port in enumerate(ports, 1):
        text = text.replace(f"10.0.0.{number}:7733", f"127.0.0.1:{port}")
    return text


def nginx(folder: Path, own: int, ports: Sequence[int]) -> list[str]:
    """Configure nginx without TLS, and return its command."""
    return nginx_command(folder, with_addresses(without_tls(EXAMPLES / "nginx.conf", own), ports))


def nginx_below_path(folder: Path, own: int, port: int) -> list[str]:
    """Configure nginx for one server below a path, and return its command."""
    site = without_tls(EXAMPLES.parent / "nginx.conf", own)
    site = site.replace("http://127.0.0.1:7733", f"http://127.0.0.1:{port}")
    return nginx_command(folder, f"proxy_bind {ADDRESS};\n{site}")


def without_tls(example: Path, own: int) -> str:
    """Return a configuration of nginx that serves this port of this machine."""
    site = re.sub(r" *(ssl_certificate|listen \[::\]).*\n", "", example.read_text(encoding="utf-8"))
    return site.replace("listen 443 ssl", f"listen 127.0.0.1:{own}")


def haproxy(folder: Path, own: int, ports: Sequence[int]) -> list[str]:
    """Configure HAProxy without TLS, and return its command."""
    text = with_addresses((EXAMPLES / "haproxy.cfg").read_text(encoding="utf-8"), ports)
    text = re.sub(r"bind :443 .*", f"bind 127.0.0.1:{own}", text)
    text = text.replace("X-Forwarded-Proto https", "X-Forwarded-Proto http")
    (folder / "haproxy.cfg").write_text(text, encoding="utf-8")
    return ["haproxy", "-db", "-q", "-f", str(folder / "haproxy.cfg")]


@contextlib.contextmanager
def run(command: list[str]) -> Iterator[None]:
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


async def answers(port: int, path: str = "/") -> None:
    """Wait until a proxy answers, and knows a node that does."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            with contextlib.suppress(OSError, EOFError):
                if (await asked(port, path)).status == 200:
                    return
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("proxy", [nginx, haproxy])
async def test_players_find_their_tables_behind_one_name(
    proxy: Callable[[Path, int, Sequence[int]], list[str]], database: str, tmp_path: Path
) -> None:
    """Newcomers come to any server, and go to that of the table by its path; and on, when it stops."""
    if shutil.which(proxy.__name__) is None:
        pytest.skip(f"there is no {proxy.__name__} here")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    here = f"ws://127.0.0.1:{port}"

    def node(name: str) -> Node:
        trusted = (ipaddress.ip_network("127.0.0.1"),)
        config = Config(address=f"{here}/{name}", trusted_proxies=trusted, watched=True, pages=WebPages())
        return Node(database, name, config)

    async with node("first") as first, node("second") as second:
        with run(proxy(tmp_path, port, (first.port, second.port, second.port))):
            await answers(port)
            async with (
                client_at(f"{here}/first", timeouts=PATIENT) as anna,
                client_at(f"{here}/second/", timeouts=PATIENT) as bruno,
                client_at(here, timeouts=PATIENT) as carla,
            ):
                code = (await anna.ask(OpenTable(NEW, 2, "Anna"))).table
                assert list(first.server.lobby.tables) == [code]
                await bruno.ask(JoinTable(NEW, code, "Bruno"))
                await carla.ask(Watch(NEW, code))
                assert (await asked(port, f"/first/watch/{code}")).status == 200
                assert f"palatinus join {here}/first/" in (await asked(port, "/first/")).text
                assert len(list(first.server.clients)) == 3
                await first.stop()
                await anna.ask(Say(NEW, "still here"))
                await eventually(lambda: len(second.server.lobby.tables[code].audience.seated) == 2)
                await eventually(lambda: len(list(second.server.clients)) == 3)
                async with client_at(here, timeouts=PATIENT) as late:
                    assert (await late.ask(OpenTable(NEW, 2, "Late"))).table in second.server.lobby.tables


CONFIG = Config(pages=WebPages(), trusted_proxies=(ipaddress.ip_network(ADDRESS),))


@pytest.mark.skipif(shutil.which("nginx") is None, reason="there is no nginx here")
async def test_pages_and_games_are_found_below_the_proxys_path(tmp_path: Path) -> None:
    async with running(CONFIG) as server, full_table(server.port, 2) as peers:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with run(nginx_below_path(tmp_path, port, server.port)):
            await answers(port, "/palatinus/")
            front = await asked(port, "/palatinus/")
            assert f"palatinus join ws://127.0.0.1:{port}/palatinus/<" in front.text
            assert f"http://127.0.0.1:{port}/palatinus/<" in front.text
            table = await asked(port, f"/palatinus/watch/{peers[0].code}")
            assert f"http://127.0.0.1:{port}/palatinus/watch/{peers[0].code}<" in table.text
            live = f"ws://127.0.0.1:{port}/palatinus/watch/{peers[0].code}"
            own = {"Origin": f"http://127.0.0.1:{port}"}
            async with connect(live, additional_headers=own, proxy=None) as line:
                page = Viewer(line)
                await page.until("players", "Player 1")
            for game in ("/palatinus/", "/palatinus"):  # without the slash nginx sends clients on
                async with connect(f"ws://127.0.0.1:{port}{game}", proxy=None) as line:
                    await Peer(line).hello()
