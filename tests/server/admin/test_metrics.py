"""Health and metrics over plain HTTP."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from protocol.messages import Lay, Ping, Watch
from server.app import running
from server.config import Config
from tests.server.peer import TIMEOUT, connected, game, http_get, play_on
from tests.server.storage.conformance.stores import PostgresStore


async def samples(port: int) -> dict[str, float]:
    """Return every sample of the metrics page, as Prometheus itself reads it."""
    status, text = await http_get(port, "/metrics")
    assert status == 200
    return {
        ",".join([sample.name, *sample.labels.values()]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_metrics_count_what_happens(tmp_path: Path) -> None:
    """Tables, players, spectators, moves, refusals, resumes, commits and finished games are counted."""
    async with running(Config(data=tmp_path, watched=True)) as server:
        before = await samples(server.port)
        assert before["palatinus_moves_total"] == 0
        assert before["palatinus_commit_seconds_count"] == 0
        async with (
            game(server.port, 2) as peers,
            connected(server.port) as watcher,
            connected(server.port) as again,
        ):
            await watcher.send(Watch(1, peers[0].code))
            await watcher.news()
            await peers[0].refused(Lay(peers[0].next_id(), 1, 0))
            await again.resume(peers[0].code, peers[0].token)
            await watcher.ask(Ping(2))
            during = await samples(server.port)
        assert during["palatinus_tables,playing"] == 1
        assert during["palatinus_players"] == 2
        assert during["palatinus_spectators"] == 1
        assert during["palatinus_resumes_total"] == 1
        assert during["palatinus_refusals_total,illegal-move"] == 1
        assert during["palatinus_moves_total"] >= 1
        assert during["palatinus_commit_seconds_count"] >= 3
        assert during["palatinus_messages_total"] >= 5
        async with game(server.port, 2) as peers:
            await play_on(peers, random.Random(1))
            after = await samples(server.port)
        assert (after["palatinus_games_total"], after["palatinus_tables,over"]) == (1, 1)


async def test_without_the_option_there_are_no_metrics() -> None:
    """Unless the host asks for them, these paths are answered like any other."""
    async with running(Config()) as server:
        for path in ("/healthz", "/metrics"):
            status, text = await http_get(server.port, path)
            assert status == 426
            assert "palatinus join" in text


async def test_a_server_that_stops_soon_is_not_ready() -> None:
    """Newcomers should go elsewhere, but whoever plays there comes back to it."""
    async with running(Config(watched=True)) as server, connected(server.port) as peer:
        assert await http_get(server.port, "/readyz") == (200, "ok\n")
        await peer.open(2)
        server.drain.begin(100)
        status, text = await http_get(server.port, "/readyz")
        assert (status, text) == (503, "the server stops soon\n")
        assert await http_get(server.port, "/healthz") == (200, "ok\n")


@pytest.mark.slow
async def test_a_node_shows_its_lease(database: str) -> None:
    """It is alive but not ready while it cannot renew it, and counts what it loses with it."""
    config = Config(database=database, node="first", lease_seconds=3.0, watched=True)
    store = PostgresStore(database)
    async with running(config) as server, connected(server.port) as peer:

        async def metric(name: str) -> float:
            return (await samples(server.port))[f"palatinus_{name}"]

        await peer.open(2)
        assert await metric("node_info,first") == 1
        assert await metric("commit_round_trips_total") >= 1
        async with store.locked("node"):
            await becomes(lambda: status_of(server.port, "/healthz"), 503)
            assert (await http_get(server.port, "/livez"))[0] == 200
            assert (await http_get(server.port, "/readyz"))[0] == 503
            assert await metric("lease_held") == await metric("lease_left_seconds") == 0
            await becomes(lambda: metric("database_reachable"), 0)
        await becomes(lambda: status_of(server.port, "/healthz"), 200)
        assert await metric("database_reachable") == 1
        term = await metric("lease_term")
        await store.execute("DELETE FROM node")
        await becomes(lambda: metric("tables_taken_up_total"), 1)
        assert await metric("tables_lost_total") == 1
        assert await metric("lease_term") > term
        assert await metric("leases_total") >= 2


async def status_of(port: int, path: str) -> int:
    return (await http_get(port, path))[0]


async def becomes(asked: Callable[[], Awaitable[float]], value: float) -> None:
    """Wait until the answer is this value."""
    async with asyncio.timeout(TIMEOUT):
        while await asked() != value:  # noqa: ASYNC110 - it does not announce this
            await asyncio.sleep(0.05)
