"""The host of one server sees and commands all that share its database."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from protocol.admin import ShowStatus
from protocol.messages import Announced, Refused, Stopping
from server.admin import cluster_service
from server.admin.endpoint import SOCKET_NAME
from server.app import Running, running
from server.cluster.messages import AnswerPart, NodeQuestion
from server.config import Config
from server.monitoring.logs import describe
from server.storage.postgresql.telling import Node
from tests.conftest import Run
from tests.postgresql import DatabaseRelay
from tests.server.admin.admin_peer import answer, failure_of
from tests.server.cluster.running_cluster import LONG_LEASE
from tests.server.cluster.test_channel import Cluster
from tests.server.cluster.test_channel import cluster as shared_cluster
from tests.server.peer import TIMEOUT, connected, eventually
from tests.server.playing import full_table

NAMES = ["first", "second"]
EXPIRED = Node(1, "other", "", runs=False, leaving=False)


@contextlib.asynccontextmanager
async def node(database: str, folder: Path, name: str, *, admin: bool = True) -> AsyncIterator[Running]:
    """Run a server that shares the database, with its admin socket in a folder of its own."""
    data = folder / name
    socket = data / SOCKET_NAME if admin else None
    config = Config(database=database, data=data, node=name, admin=socket, lease_seconds=LONG_LEASE)
    async with running(config) as server:
        yield server


async def asked_all(folder: Path, do: str, at: str = "first", **fields: Any) -> list[dict[str, Any]]:
    """Return what the servers answer to the host of one of them."""
    found: list[dict[str, Any]] = await answer(folder / at, "of-nodes", ask={"do": do, **fields})
    return found


@contextlib.asynccontextmanager
async def two_nodes(database: str, folder: Path) -> AsyncIterator[tuple[Running, Running]]:
    async with node(database, folder, "first") as first, node(database, folder, "second") as second:
        for name in reversed(NAMES):
            await eventually_known(folder / name, len(NAMES))
        yield first, second


@pytest.mark.slow
async def test_a_server_logs_which_other_one_has_asked_it(
    database: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its own part of a question to all is no command of its own."""
    async with two_nodes(database, tmp_path):
        caplog.clear()
        await asked_all(tmp_path, "who")
        audited = [describe(line) for line in caplog.records if line.name == "palatinus.audit"]
    other, own = audited
    assert other == 'admin command: by="node=first" request=who result=done'
    assert own.endswith('request="who node=*" result=done')


@pytest.mark.slow
async def test_the_host_of_one_server_sees_and_commands_all(database: str, tmp_path: Path) -> None:
    host = tmp_path / "first"
    async with (
        two_nodes(database, tmp_path) as (first, second),
        full_table(first.port, 2) as here,
        full_table(second.port, 3) as there,
    ):
        statuses = await asked_all(tmp_path, "status")
        assert [each["node"] for each in statuses] == NAMES
        for each, server in zip(statuses, (first, second), strict=True):
            assert each["ok"]["port"] == int(each["address"].rpartition(":")[2]) == server.port
        tables = await asked_all(tmp_path, "tables")
        assert [each["ok"][0]["table"] for each in tables] == [here[0].code, there[0].code]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cluster_service, "ANSWER_BYTES", 40)
            clients = await asked_all(tmp_path, "who", "second")
        assert [[client["seat"] for client in each["ok"]] for each in clients] == [[0, 1], [0, 1, 2]]
        announced = await asked_all(tmp_path, "announce", text="soon")
        assert [each["ok"]["clients"] for each in announced] == [2, 3]
        for peer in (*here, *there):
            assert await peer.until(Announced) == Announced("soon")
        drain: dict[str, Any] = {"do": "drain", "seconds": 100}
        assert (await failure_of(host, "of-nodes", ask=drain, node="x"))["code"] == "no-such-node"
        (report,) = await answer(host, "of-nodes", ask=drain, node="second")
        assert 0 < report["ok"]["stops_in"] <= 100
        assert (await there[0].until(Stopping)).seconds in range(1, 101)
        assert first.drain.seconds_left() is None
        (status,) = await answer(host, "of-nodes", ask={"do": "status"}, node="second")
        assert status["ok"]["stops_in"] > 0


@pytest.mark.slow
async def test_a_ban_reaches_all_servers(database: str, tmp_path: Path) -> None:
    """Each keeps it for itself."""
    async with two_nodes(database, tmp_path):
        reports = await asked_all(tmp_path, "ban", kind="network", what="192.0.2.7")
        assert [each["ok"]["what"] for each in reports] == ["192.0.2.7/32"] * 2
        await answer(
            tmp_path / "first", "of-nodes", ask={"do": "ban", "kind": "name", "what": "B"}, node="second"
        )
    for name, bans in zip(NAMES, (1, 2), strict=True):
        async with node(database, tmp_path, name):
            assert len(await answer(tmp_path / name, "bans")) == bans


@pytest.mark.slow
async def test_tables_are_closed_and_players_removed_wherever_they_are(database: str, tmp_path: Path) -> None:
    async with two_nodes(database, tmp_path) as (_, second), full_table(second.port, 2) as peers:
        code, first = peers[0].code, tmp_path / "first"
        assert (await failure_of(first, "remove", table=code, seat=2))["code"] == "no-such-seat"
        elsewhere = await failure_of(first, "game", table=code)
        assert (elsewhere["code"], elsewhere["about"]["node"]) == ("at-node", "second")
        await answer(first, "remove", table=code, seat=1)
        assert (await peers[1].until(Refused)).code == "removed-by-server"
        assert (await failure_of(first, "remove", table=code, seat=1))["code"] == "seat-free"
        await answer(first, "close", tables=[code], reason="sorry")
        assert await peers[0].until(Announced) == Announced("sorry")
        assert (await failure_of(first, "close", tables=[code]))["code"] == "no-such-table"


@pytest.mark.slow
async def test_a_node_gone_has_stopped(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one where nobody is, which has no time to answer."""
    async with node(database, tmp_path, "first"), shared_cluster(database) as cluster:
        async with cluster.node("stranger") as channel:
            gone = asyncio.Event()
            channel.on_change(NodeQuestion, gone.set)
            monkeypatch.setattr(cluster_service, "SECONDS", 0.2)
            await eventually_known(tmp_path / "first", 2)
            monkeypatch.setattr(cluster_service, "SECONDS", 3.0)
            gone.clear()
            ask = {"do": "drain", "seconds": 100}
            draining = asyncio.create_task(answer(tmp_path / "first", "of-nodes", ask=ask, node="stranger"))
            await gone.wait()
            await cluster.connection.execute("DELETE FROM node WHERE name = 'stranger'")
            (report,) = await draining
        assert report["ok"] == {"stops_in": 0}


def test_an_answer_that_makes_no_sense_is_of_another_version() -> None:
    for line in (b"\xff", b"", b"[]", b'{"v":1,"error":{}}'):
        error = cluster_service._node_answer(EXPIRED, line).error
        assert error is not None
        assert error.code == "node-other-version"


@contextlib.asynccontextmanager
async def stranger(cluster: Cluster, line: bytes | None) -> AsyncIterator[None]:
    """Be a server of the database that answers every question with this line, or with nothing."""

    async with cluster.node("stranger") as channel:

        def look() -> None:
            for node, question in channel.holding(NodeQuestion):
                if line is not None:
                    key = f"answer:{node.term}:{question.number}"
                    channel.keep(key, AnswerPart(node.term, question.number, 0, 1, line))

        channel.on_change(NodeQuestion, look)
        yield


async def told(run: Run, folder: Path, *words: str, code: int = 0) -> list[list[str]]:
    """Return what `palatinus admin` prints, line by line, output and errors."""
    found = await asyncio.to_thread(run, "admin", "--data", folder, *words, code=code)
    return [each.splitlines() for each in found]


@pytest.mark.slow
async def test_silent_nodes(database: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or answers what this version does not understand; what others say is shown all the same."""
    usual = cluster_service.SECONDS
    monkeypatch.setattr(cluster_service, "SECONDS", 0.2)
    first = tmp_path / "first"
    async with node(database, tmp_path, "first") as server, full_table(server.port, 2) as peers:
        async with shared_cluster(database) as cluster:
            async with stranger(cluster, None):
                await eventually_known(first, 2)
                out, err = await told(run, first, "nodes", code=1)
                assert [line.split()[0] for line in out] == ["NODE", "first", "stranger"]
                assert "no answer" in out[2]
                silent = "palatinus admin: the node stranger does not answer."
                assert err[0].startswith(silent)
                out, err = await told(run, first, "tables", code=1)
                assert [line.split()[:2] for line in out] == [["NODE", "TABLE"], ["first", peers[0].code]]
                assert err[0].startswith(silent)
                _, err = await told(run, first, "drain", "--node", "stranger", code=2)
                assert "the node stranger does not answer." in err[0]
            async with stranger(cluster, b'{"v":1,"ok":{"news":1}}\n'):
                monkeypatch.setattr(cluster_service, "SECONDS", 0.5)
                async with asyncio.timeout(TIMEOUT):
                    while "node-silent" in str(await asked_all(tmp_path, "status")):
                        pass
                monkeypatch.setattr(cluster_service, "SECONDS", usual)
                out, err = await told(run, first, "announce", "soon", code=1)
                assert out == ["2 clients were told."]
                assert err == ["palatinus admin: the node stranger runs another version of Palatinus"]
            await cluster.connection.execute("DELETE FROM node WHERE name = 'stranger'")
        await eventually_known(first, 1)
        out, err = await told(run, first, "status", "--node", "first", "--json")
        assert json.loads(out[0])["node"] == "first"
        assert not err


@pytest.mark.slow
async def test_while_the_database_is_gone_nobody_is_said_not_to_answer(
    database: str, tmp_path: Path, socket_folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are not asked; and of one whose lease has run out, that is told."""
    first = tmp_path / "first"
    monkeypatch.setattr(cluster_service, "SECONDS", 0.2)
    async with (
        DatabaseRelay(database, socket_folder).running() as relay,
        node(relay.url, tmp_path, "first"),
        shared_cluster(database) as cluster,
        cluster.node("other"),
    ):
        await eventually_known(first, 2)
        relay.refuses = True
        relay.cut()
        async with asyncio.timeout(TIMEOUT):
            while "node-unreachable" not in str(await asked_all(tmp_path, "status")):
                pass
        out, err = await told(run, first, "nodes", code=1)
        assert "not asked" in out[2]
        assert err[0].startswith("palatinus admin: the node other cannot be asked, because the database does")
    service = cluster_service.ClusterService(None, Mock())
    assert b'"code":"node-expired"' in service._line_of_silent(EXPIRED, ShowStatus())


async def eventually_known(data: Path, number: int) -> None:
    """Wait until the server with this data folder knows so many servers."""
    async with asyncio.timeout(TIMEOUT):
        while len(await answer(data, "of-nodes", ask={"do": "status"})) != number:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.05)


async def test_others_are_not_told_everything(database: str, tmp_path: Path) -> None:
    """No game, nothing that makes no sense, and nothing at all with --no-admin."""
    numbers = itertools.count(1)
    async with shared_cluster(database) as cluster, cluster.node("stranger") as channel:

        async def asked(name: str, line: bytes) -> str:
            await eventually(lambda: any(node.name == name for node in channel.nodes.values()))
            term = next(node.term for node in channel.nodes.values() if node.name == name)
            question = NodeQuestion(next(numbers), line, channel.term, [term])
            channel.keep("question", question)
            await eventually(
                lambda: question.number in {each.number for _, each in channel.holding(AnswerPart)}
            )
            channel.keep("question", None)
            (answer,) = (each for _, each in channel.holding(AnswerPart) if each.number == question.number)
            error: str = json.loads(answer.line)["error"]["code"]
            return error

        async with node(database, tmp_path, "first") as server, full_table(server.port, 2) as peers:
            game = json.dumps({"v": 1, "ask": {"do": "game", "table": peers[0].code}}).encode()
            for line in (game, b"", b"[" * 4000, b'{"v":1,"ask":{"do":"backup"}}'):
                assert await asked("first", line) == "bad-request"
        async with node(database, tmp_path, "closed", admin=False):
            assert await asked("closed", b'{"v":1,"ask":{"do":"status"}}') == "node-closed"


async def test_a_question_is_carried_out_once(database: str, tmp_path: Path, socket_folder: Path) -> None:
    """Even if the connection is lost while it holds, so that it is read again."""
    async with (
        DatabaseRelay(database, socket_folder).running() as relay,
        node(relay.url, tmp_path, "first") as server,
        connected(server.port) as peer,
        shared_cluster(database) as cluster,
        cluster.node("stranger") as channel,
    ):
        term = next(node.term for node in channel.nodes.values() if node.name == "first")
        for number, text in enumerate(("once", "again")):
            line = json.dumps({"v": 1, "ask": {"do": "announce", "text": text}}).encode()
            channel.keep(text, NodeQuestion(number + 1, line, channel.term, [term]))
            assert await peer.until(Announced) == Announced(text)
            relay.cut()
