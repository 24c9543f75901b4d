"""PostgreSQL's primary is lost, and a standby takes its place."""

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.cluster.postgresql import CARELESS, Cluster
from server.app import running
from server.config import Config
from tests.server.peer import TIMEOUT, check_views, game, http_get, play_on, table_of
from tests.server.storage.test_journal import resumed, table_facts


@pytest.fixture
def pair(socket_folder: Path) -> Iterator[tuple[Cluster, Cluster]]:
    """Return a primary that commits nothing before its standby has it, and this standby."""
    primary, standby = Cluster(socket_folder / "one"), Cluster(socket_folder / "two")
    primary.make()
    primary.start(*CARELESS, "-c", "synchronous_standby_names=*")
    standby.make_standby(primary)
    standby.start(*CARELESS)
    yield primary, standby
    for server in (primary, standby):
        with contextlib.suppress(Exception):  # the test has killed it
            server.stop()


@pytest.mark.slow
async def test_games_go_on_after_a_failover_to_a_synchronous_standby(pair: tuple[Cluster, Cluster]) -> None:
    """Nothing that anybody was told is lost with the primary, and a node finds the new one automatically."""
    primary, standby = pair
    chooser = random.Random(1)
    config = Config(database=primary.url_with(standby), node="attic", durable="full", watched=True)
    async with running(config) as server, game(server.port, 2, watched=True) as peers:
        await play_on(peers, chooser, moves=3)
        before = table_facts(table_of(server, peers).state)
        os.kill(primary.pid, signal.SIGKILL)
        await asyncio.to_thread(standby.promote)
        async with asyncio.timeout(TIMEOUT):
            while (await http_get(server.port, "/healthz"))[0] != 200:  # noqa: ASYNC110 - it announces nothing
                await asyncio.sleep(0.05)
        assert table_facts(table_of(server, peers).state) == before
        await play_on(peers, chooser, moves=2)
        check_views(table_of(server, peers), peers)
        before = table_facts(table_of(server, peers).state)
    async with running(config) as server, resumed(server.port, *peers) as again:
        assert table_facts(table_of(server, again).state) == before
