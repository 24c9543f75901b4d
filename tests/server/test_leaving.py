"""A server that stops gives its tables to others that share its database, and sends its clients there."""

import contextlib
import random

from client.network.connection import Connection
from client.network.connection import connected as client_at
from client.network.transport import Timeouts
from protocol.codes import CloseCode
from protocol.messages import Moved
from server.app import running
from server.config import Config
from tests.server.peer import Peer, eventually, game, play_on, table_of
from tests.server.storage.test_journal import resumed, table_facts

# Longer than a test: who is sent on need not wait, and who waits does not come.
PATIENT = Timeouts(first_pause=1000.0, longest_pause=1000.0, keep_trying=5000.0)


class Node:
    """A server that a test stops when it likes."""

    def __init__(self, database: str, name: str) -> None:
        self._config = Config(database=database, node=name)
        self._running = contextlib.AsyncExitStack()

    async def __aenter__(self) -> "Node":
        self.server = await self._running.enter_async_context(running(self._config))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Stop the server as SIGTERM does."""
        await self._running.aclose()

    @property
    def port(self) -> int:
        return self.server.port

    def client(self) -> contextlib.AbstractAsyncContextManager[Connection]:
        """Connect to the server."""
        return client_at(f"ws://127.0.0.1:{self.port}", timeouts=PATIENT)


async def sent_on(peer: Peer) -> str:
    """Return where a peer is sent when its connection ends."""
    assert (await peer.closed())[0] == CloseCode.SERVICE_RESTART
    message = peer.received[-1]
    assert isinstance(message, Moved)
    return message.address


async def test_tables_go_to_a_server_that_stays(database: str) -> None:
    """Everybody at them is told where, and finds the same game there."""
    chooser = random.Random(1)
    async with Node(database, "stays") as stays, Node(database, "leaves") as leaves:
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


async def test_clients_follow_without_a_pause(database: str) -> None:
    """From the table, and from the lobby; what they asked for and was not answered is done there, once."""
    async with (
        Node(database, "stays") as stays,
        Node(database, "leaves") as leaves,
        leaves.client() as anna,
        leaves.client() as bruno,
        leaves.client() as carla,
    ):
        code = (await anna.open_table(2, "Anna")).table
        await bruno.join(code, "Bruno")
        await leaves.stop()
        await anna.say("still here")
        assert (await carla.open_table(2, "Carla")).table in stays.server.lobby.tables
        await eventually(lambda: stays.server.lobby.tables[code].players_here == 2)
