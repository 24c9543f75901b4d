"""Nobody who comes to a server that drains is turned away while another one takes new tables."""

import contextlib
from collections.abc import AsyncIterator, Mapping

import pytest

from client.network.connection import connected as client_at
from client.network.transport import Timeouts
from protocol.codes import Code
from protocol.messages import NEW, OpenTable
from server.app import Running
from tests.server.cluster.running_cluster import cluster
from tests.server.peer import connected, eventually, game, rematch
from tests.server.tables.test_rematch import finished_game

# Longer than a test: who is sent on need not wait, and who waits does not come.
PATIENT = Timeouts(first_pause=1000.0, longest_pause=1000.0, keep_trying=5000.0)


def stopping(server: Running) -> Mapping[str, object]:
    """Return what is told to those who want a table from a server that takes none any more."""
    return server.lobby.registry._stopping() or {}


@contextlib.asynccontextmanager
async def one_drains(database: str) -> AsyncIterator[tuple[Running, Running]]:
    """Run two servers of which one drains, as long as its game goes on, and knows the other."""
    async with cluster(database, "one", "two") as (one, two), game(one.port, 2):
        one.drain.begin(600)
        await eventually(lambda: str(stopping(one).get("address")).endswith(f":{two.port}"))
        yield one, two


@pytest.mark.slow
async def test_newcomers_open_their_tables_at_a_server_that_does_not_drain(database: str) -> None:
    """They go there by themselves; if all drain, they learn how long they do."""
    async with one_drains(database) as (one, two):
        async with client_at(f"ws://127.0.0.1:{one.port}", timeouts=PATIENT) as anna:
            assert (await anna.ask(OpenTable(NEW, 2, "Anna"))).table in two.lobby.tables
        async with game(two.port, 2), connected(one.port) as peer:
            two.drain.begin(600)
            await eventually(lambda: "address" not in stopping(one))
            refused = await peer.refused(OpenTable(1, 2, "Bruno"))
            assert (refused.code, list(refused.about or ())) == (Code.SERVER_STOPPING, ["seconds"])
            two.drain.cancel()
            await eventually(lambda: "address" in stopping(one))


async def test_players_play_again_at_a_server_that_drains(database: str) -> None:
    """Their next table goes with them to another server when this one stops."""
    async with one_drains(database) as (one, _two):
        one.drain.cancel()
        async with finished_game(one, 2) as peers:
            one.drain.begin(600)
            assert (await rematch(peers[0])).table in one.lobby.tables
