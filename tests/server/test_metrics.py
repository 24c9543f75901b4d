"""Health and metrics over plain HTTP."""

import random
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from protocol.messages import Lay, OpenTable, Ping, Watch
from server.app import running
from server.config import Config
from tests.server.peer import connected, game, http_get, play_on
from tests.server.storage.test_journal import full_disk


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
    """Tables, players, spectators, moves, refusals, resumes and commits are counted."""
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


async def test_metrics_count_finished_games() -> None:
    """A finished game is counted, and its table is in the stage `over`."""
    async with running(Config(watched=True)) as server, game(server.port, 2) as peers:
        await play_on(peers, random.Random(1))
        assert (await samples(server.port))["palatinus_games_total"] == 1
        assert (await samples(server.port))["palatinus_tables,over"] == 1


async def test_without_the_option_there_are_no_metrics() -> None:
    """Unless the host asks for them, these paths are answered like any other."""
    async with running(Config()) as server:
        for path in ("/healthz", "/metrics"):
            status, text = await http_get(server.port, path)
            assert status == 426
            assert "palatinus join" in text


async def test_health_follows_the_journal(tmp_path: Path) -> None:
    """The server is unhealthy while it cannot store moves."""
    async with running(Config(data=tmp_path, watched=True)) as server, connected(server.port) as peer:
        assert await http_get(server.port, "/healthz") == (200, "ok\n")
        with full_disk(server):
            await peer.refused(OpenTable(1, 2, "Ann"))
            status, text = await http_get(server.port, "/healthz?from=probe")
            assert status == 503
            assert "cannot be written" in text
        await peer.open(2)
        assert await http_get(server.port, "/healthz") == (200, "ok\n")
