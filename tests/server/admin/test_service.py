"""What a server's host sees and does by the admin socket; the socket under attack; health and metrics."""

import asyncio
import contextlib
import json
import logging
import os
import pwd
import random
import re
import socket
import sqlite3
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from protocol.admin import LINE_BYTES
from protocol.messages import Lay, Ping, Watch
from server.admin import listener
from server.admin.endpoint import SOCKET_NAME, NoServer, connect_to, listen_at
from server.admin.listener import admin_server
from server.admin.service import BACKUP_NAME
from server.app import running
from server.config import Config, Limits
from server.errors import StartError
from server.monitoring.failures import Tasks
from server.monitoring.logs import describe
from server.storage.sqlite.commit_list import FILE_NAME as LIST_NAME
from server.storage.sqlite.inspection import inspect_folder
from server.storage.sqlite.journal_file import FILE_NAME
from tests.cases import cases
from tests.server.admin.admin_peer import answer, failure_of, raw_answer
from tests.server.peer import TIMEOUT, all_connected, connected, eventually, http_get
from tests.server.playing import archived_game, full_table, game, play_on
from tests.server.process import refused_to_start, serving
from tests.server.storage.conformance.stores import PostgresStore


async def test_what_is_shown_of_tables_holds_no_secrets(tmp_path: Path) -> None:
    """Neither a piece nor a token: the host may be a player."""
    async with administered(tmp_path) as server, game(server.port, 2) as peers:
        await play_on(peers, random.Random(3), moves=8)
        for do in (b"status", b"tables", b"who", b"stored"):
            shown = await raw_answer(tmp_path / SOCKET_NAME, b'{"v":1,"ask":{"do":"%s"}}\n' % do)
            assert shown
            assert not re.search(rb"[ESLMA][mfs]\b|[ESLMA][mf]\*", shown)
            assert not any(peer.token.encode() in shown for peer in peers)


@pytest.mark.usefixtures("restored_logging")
async def test_the_level_of_the_log_can_be_changed(tmp_path: Path) -> None:
    async with administered(tmp_path):
        for level in ("info", "error"):
            await answer(tmp_path, "log-level", level=level)
            assert (await answer(tmp_path, "status"))["log_level"] == level


async def test_stored_tables_are_listed_and_read_one_by_one(tmp_path: Path) -> None:
    config = Config(data=tmp_path, admin=tmp_path / SOCKET_NAME, limits=Limits(over_seconds=0.01))
    async with running(config) as server:
        over = await archived_game(server)
        async with game(server.port, 2) as playing, full_table(server.port, 3):
            await play_on(playing, random.Random(2), moves=7)
            stored = {table["code"]: table for table in await answer(tmp_path, "stored")}
            assert len(stored) == 3
            assert stored[over[0].code]["archived"]
            assert stored[over[0].code]["moves"] == 32
            assert stored[playing[0].code]["moves"] == 7
            assert all(table["opened"] and table["changed"] for table in stored.values())
            for peers in (over, playing):
                found = await answer(tmp_path, "game", table=peers[0].code)
                assert len(found["events"]) == peers[0].seq
                assert found["table"] == stored[peers[0].code]
            assert (await failure_of(tmp_path, "game", table="ZZZZ"))["code"] == "no-such-table"
            assert over[0].code in server.lobby.journal.archived


async def backup_bytes(data: Path) -> bytes:
    """Return a backup, as soon as no other one is running."""
    line = b"backup-runs"
    while b"backup-runs" in line:
        whole = await raw_answer(data / SOCKET_NAME, b'{"v": 1, "ask": {"do": "backup"}}\n')
        line, _, content = whole.partition(b"\n")
    assert line == b'{"v":1,"ok":{"bytes":%d}}' % len(content)
    return content


async def test_a_server_that_starts_on_a_backup_has_every_game_as_it_was(tmp_path: Path) -> None:
    data, restored = tmp_path / "data", tmp_path / "restored"
    config = Config(data=data, admin=data / SOCKET_NAME, limits=Limits(over_seconds=0.01))
    async with running(config) as server:
        over = await archived_game(server)
        async with game(server.port, 2) as peers:
            await play_on(peers, random.Random(2), moves=9)
            seq = peers[0].seq
            content = await backup_bytes(data)
            await play_on(peers, random.Random(3), moves=4)
            assert not (data / BACKUP_NAME).exists()
    restored.mkdir()
    (restored / FILE_NAME).write_bytes(content)
    assert not inspect_folder(restored, closely=True).faults
    async with running(Config(data=restored)) as server, connected(server.port) as peer:
        table = server.lobby.tables[peers[0].code]
        assert table.state.game is not None
        assert len(table.state.game.events) == seq
        await peer.resume(peers[1].code, peers[1].token)
        assert over[0].code in server.lobby.journal.archived
    (restored / LIST_NAME).unlink()
    assert inspect_folder(restored).faults  # from here on it is a journal like any other
    assert [path.name for path in restored.iterdir()] == [FILE_NAME]


@pytest.mark.slow
async def test_moves_are_stored_while_a_backup_runs(tmp_path: Path) -> None:
    """They neither fail nor begin it again, and the copy is of one moment, sound and whole."""
    async with administered(tmp_path) as server, game(server.port, 5) as peers:
        journal = server.lobby.journal
        database = journal._database
        database.execute("CREATE TABLE ballast (content BLOB)")  # so that there are many steps
        database.executemany("INSERT INTO ballast VALUES (?)", [(bytes(4000),) for _ in range(3000)])
        database.commit()
        steps = 0
        done = journal._queue.do

        async def counted(work: object, *more: object) -> object:
            nonlocal steps
            steps += 1
            return await done(work, *more)

        journal._queue.do = counted
        copying = asyncio.create_task(backup_bytes(tmp_path))
        moves = 0
        while not copying.done() and moves < 60:
            await play_on(peers, random.Random(moves), moves=1)
            moves += 1
        content = await copying
        assert moves > 5
        assert steps < 200
    copy = tmp_path / "copy"
    copy.write_bytes(content)
    with contextlib.closing(sqlite3.connect(copy)) as opened:
        assert opened.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        numbers = [number for (number,) in opened.execute("SELECT number FROM entry ORDER BY id")]
        assert numbers == list(range(len(numbers)))


async def test_no_copy_is_left_behind(tmp_path: Path) -> None:
    """Neither that of a killed server nor that of a client that goes away: it holds hidden pieces."""
    (tmp_path / BACKUP_NAME).write_bytes(b"half")
    async with administered(tmp_path) as server, game(server.port, 2) as peers:
        assert not (tmp_path / BACKUP_NAME).exists()
        await play_on(peers, random.Random(1), moves=5)
        _, writer = await asyncio.open_unix_connection(str(tmp_path / SOCKET_NAME))
        writer.write(b'{"v": 1, "ask": {"do": "backup"}}\n')
        await writer.drain()
        writer.transport.abort()
        assert await backup_bytes(tmp_path)
        assert not (tmp_path / BACKUP_NAME).exists()


async def test_without_a_data_folder_there_is_nothing_to_back_up(tmp_path: Path) -> None:
    async with running(Config(admin=tmp_path / SOCKET_NAME)):
        assert (await failure_of(tmp_path, "backup"))["code"] == "nothing-stored"
        assert (await answer(tmp_path, "status"))["data"] is None


@contextlib.asynccontextmanager
async def administered(data: Path) -> Any:
    async with running(Config(data=data, admin=data / SOCKET_NAME)) as server:
        yield server


GARBAGE = [
    *(line.encode() for (line,) in cases(__file__, "garbage")),
    b"\x00\xff\xfe",
    b'{"v": 1, "ask": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    b'{"v": 1, "ask": {"do": "status"}, "token": "\xed\xa0\x80"}',
]


async def test_what_is_no_request_is_refused_in_one_line_or_cut_off(tmp_path: Path) -> None:
    path = tmp_path / SOCKET_NAME
    async with administered(tmp_path):
        for line in GARBAGE:
            (found,) = (await raw_answer(path, line + b"\n")).splitlines()
            assert json.loads(found)["error"]["code"] == "bad-request", line
        other = json.loads(await raw_answer(path, b'{"v": 2, "ask": {"do": "x"}}\n'))
        assert other["error"]["code"] == "other-version"
        for size in (LINE_BYTES + 2, 10 * LINE_BYTES):
            error = json.loads(await raw_answer(path, b"x" * size, b"\n", end=True))["error"]
            assert error["about"] == {"reason": "it is longer than 65536 bytes"}
        assert (await raw_answer(path, *[b"x" * LINE_BYTES] * 40)).count(b"\n") <= 1
        assert await raw_answer(path, b'{"v": 1, "ask": {"do": "drain", "seconds": 5}}', end=True) == b""
        status = await answer(tmp_path, "status")
        assert (status["connections"], status["stops_in"]) == (0, None)


@given(st.binary(max_size=300))
def test_no_bytes_do_harm(content: bytes) -> None:
    do = AsyncMock(return_value=("done", None))
    line, _ = asyncio.run(listener.answer_to(content, do, "admin.sock", by="?"))
    found = json.loads(line)
    assert "ok" in found or found["error"]["code"] in {"bad-request", "other-version"}


@pytest.mark.slow
async def test_a_thousand_connections_stop_neither_the_host_nor_the_game(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    async with administered(tmp_path) as server, game(server.port, 2) as peers:
        held: list[socket.socket] = []
        try:
            for number in range(1000):
                each = socket.socket(socket.AF_UNIX)
                each.setblocking(False)
                held.append(each)
                async with asyncio.timeout(TIMEOUT):
                    while (
                        True
                    ):  # while the socket's queue is full, which uvloop's sock_connect takes for success
                        try:
                            each.connect(str(tmp_path / SOCKET_NAME))
                            break
                        except BlockingIOError:
                            await asyncio.sleep(0)
                if number % 100 == 0:
                    await play_on(peers, random.Random(number), moves=1)
            async with asyncio.timeout(TIMEOUT):
                refused = await loop.sock_recv(held[-1], 1000)
            assert json.loads(refused)["error"]["code"] == "busy"
        finally:
            for each in held:
                each.close()
        async with asyncio.timeout(TIMEOUT):
            while (await raw_answer(tmp_path / SOCKET_NAME, b"\n"))[:30].find(b"busy") >= 0:
                pass
        assert (await answer(tmp_path, "status"))["players"] == 2


def being_served() -> list[asyncio.Task[Any]]:
    return [task for task in asyncio.all_tasks() if "listener.py" in repr(task.get_coro())]


async def test_whoever_stalls_in_a_request_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "_SECONDS", 0.05)
    async with administered(tmp_path):
        assert await raw_answer(tmp_path / SOCKET_NAME, b'{"v"') == b""
        await eventually(lambda: not being_served())


@pytest.mark.slow
async def test_whoever_stalls_in_an_answer_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And holds up nobody else until then."""
    request = b'{"v": 1, "ask": {"do": "status"}}\n'
    monkeypatch.setattr(listener, "_SECONDS", TIMEOUT)
    answered = []

    async def do(_request: object) -> Any:
        answered.append(_request)
        return "x" * 20_000_000, None

    async def stall(path: Path) -> socket.socket:
        before, stalled = len(answered), socket.socket(socket.AF_UNIX)
        stalled.connect(str(path))
        stalled.sendall(request)
        await eventually(lambda: len(answered) > before)
        return stalled

    with listen_at(tmp_path / SOCKET_NAME) as endpoint:
        async with Tasks() as tasks, admin_server(endpoint, tasks, do):
            with await stall(endpoint.path):
                whole = await raw_answer(endpoint.path, request)
                assert len(whole) > 20_000_000
            await eventually(lambda: not being_served())
            monkeypatch.setattr(listener, "_SECONDS", 0.05)
            with await stall(endpoint.path):
                await eventually(lambda: not being_served())


async def test_a_wrong_token_gets_nothing(tmp_path: Path) -> None:
    """By the port, which every user of the machine can reach."""
    do = AsyncMock(return_value=(None, None))

    async def said(port: int, token: str) -> Any:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b'{"v": 1, "ask": {"do": "status"}%s}\n' % token.encode())
        async with asyncio.timeout(TIMEOUT):
            found = json.loads(await reader.read())
        writer.close()
        return found

    with listen_at(tmp_path / SOCKET_NAME, by_unix_socket=False) as endpoint:
        port = endpoint.socket.getsockname()[1]
        async with Tasks() as tasks, admin_server(endpoint, tasks, do):
            for token in ("", ', "token": ""', ', "token": "guessed"', ', "token": null', ', "token": "é"'):
                assert (await said(port, token))["error"]["code"] == "bad-admin-token"
            do.assert_not_awaited()
            assert await said(port, f', "token": "{endpoint.token}"') == {"v": 1, "ok": None}
    do.assert_awaited_once()


async def test_an_error_of_ours_ends_no_game(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with administered(tmp_path) as server, game(server.port, 2) as peers:
        server.drain.seconds_left = Mock(side_effect=ZeroDivisionError)
        assert (await failure_of(tmp_path, "status"))["about"] == {"reason": "ZeroDivisionError"}
        assert "an admin command failed" in caplog.text
        await play_on(peers, random.Random(1), moves=3)


def audited(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the lines of the audit log."""
    return [describe(line) for line in caplog.records if line.name == "palatinus.audit"]


@pytest.mark.usefixtures("restored_logging")
async def test_every_command_leaves_a_line_with_who_and_what(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """At every level of the log, and with no text that players are shown."""
    user = f'"user={pwd.getpwuid(os.getuid()).pw_name} uid={os.getuid()} pid={os.getpid()}"'
    async with administered(tmp_path) as server, game(server.port, 2) as peers:
        code = peers[0].code
        await answer(tmp_path, "log-level", level="error")
        await answer(tmp_path, "who")
        await answer(tmp_path, "game", table=code)
        await answer(tmp_path, "of-nodes", ask={"do": "tables"})
        await answer(tmp_path, "announce", text="the password is Tiber")
        await answer(tmp_path, "close", tables=[code], reason="the password is Tiber")
        await failure_of(tmp_path, "close", tables=[code] * 30)
        await failure_of(tmp_path, "x")
    codes = ",".join([code] * 20)
    assert audited(caplog) == [
        f"admin command: by={user} request={request} result={result}"
        for request, result in (
            ('"log-level level=error"', "done"),
            ("who", "done"),
            (f'"game table={code}"', "done"),
            ('"tables node=*"', "done"),
            ("announce", "done"),
            (f'"close tables={code}"', "done"),
            (f'"close tables={codes} and 10 more"', "no-such-table"),
            ("?", "bad-request"),
        )
    ]


async def test_a_command_that_is_cut_off_leaves_a_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    asked = asyncio.Event()

    async def do(_request: object) -> Any:
        asked.set()
        await asyncio.Event().wait()

    with listen_at(tmp_path / SOCKET_NAME) as endpoint:
        async with Tasks() as tasks:
            async with admin_server(endpoint, tasks, do):
                asking = asyncio.create_task(raw_answer(endpoint.path, b'{"v":1,"ask":{"do":"who"}}\n'))
                async with asyncio.timeout(TIMEOUT):
                    await asked.wait()
            await asking
    (line,) = audited(caplog)
    assert line.endswith("request=who result=interrupted")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def speaks(path: Path) -> bool:
    """Tell whether a socket listens there."""
    try:
        connect_to(path, 1.0)[0].close()
    except NoServer:
        return False
    return True


def test_only_its_owner_can_open_the_socket(tmp_path: Path) -> None:
    """Whatever the umask; the folder that is made for it is private as well."""
    path = tmp_path / "new" / SOCKET_NAME
    before = os.umask(0)
    try:
        with listen_at(path):
            assert (mode(path), mode(path.parent)) == (0o600, 0o700)
    finally:
        os.umask(before)
    assert not path.exists()


def test_another_user_cannot_ask(tmp_path: Path) -> None:
    """The permissions of the socket alone keep strangers away, also in a folder that all can enter."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    tmp_path.chmod(0o755)
    path = Path(f"/tmp/palatinus-test-{os.getpid()}.sock")  # noqa: S108 - the way to tmp_path is closed
    with listen_at(path):
        child = os.fork()
        if child == 0:
            os.setuid(65534)
            try:
                socket.socket(socket.AF_UNIX).connect(str(path))
            except PermissionError:
                os._exit(13)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 13
    path.with_name(f"{path.name}.lock").unlink()


def test_a_live_socket_is_not_stolen(tmp_path: Path) -> None:
    path = tmp_path / SOCKET_NAME
    with listen_at(path):
        with (
            pytest.raises(StartError, match=r"another server is using .* choose another --data "),
            listen_at(path),
        ):
            pass
        assert speaks(path)


def test_the_socket_of_a_server_that_came_later_is_left_alone(tmp_path: Path) -> None:
    """As when the folder was moved away under a server, and another one was started in a new folder."""
    path = tmp_path / "data" / SOCKET_NAME
    with listen_at(path):
        path.parent.rename(tmp_path / "elsewhere")
        later = listen_at(path)
        later.__enter__()
    assert speaks(path)
    later.__exit__(None, None, None)
    assert not path.exists()


def test_a_path_that_is_too_long_for_a_socket_is_no_hindrance(tmp_path: Path) -> None:
    path = tmp_path / ("long" * 30) / ("deep" * 20) / SOCKET_NAME
    assert len(os.fsencode(path)) > 108
    with listen_at(path):
        assert speaks(path)
    assert not speaks(path)


@pytest.mark.parametrize("kind", ["file", "folder", "symlink"])
def test_what_is_not_a_socket_is_left_alone(tmp_path: Path, kind: str) -> None:
    """The server does not start, and says so; the target of a link is not touched either."""
    path, target = tmp_path / SOCKET_NAME, tmp_path / "precious"
    target.write_text("precious")
    match kind:
        case "file":
            path.write_text("mine")
        case "folder":
            path.mkdir()
        case _:
            path.symlink_to(target)
    with pytest.raises(StartError, match="not an admin socket"), listen_at(path):
        pass
    assert target.read_text() == "precious"
    assert path.is_symlink() == (kind == "symlink")
    lock, unmade = tmp_path / "other.lock", tmp_path / "unmade"
    lock.symlink_to(unmade)  # which is not followed
    for other in (tmp_path / "other", target / "socket"):
        with pytest.raises(StartError, match="cannot listen"), listen_at(other):
            pass
    assert not unmade.exists()


async def test_a_server_without_a_data_folder_listens_where_it_is_told(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    async with serving("--memory", "--admin-socket", str(path)):
        assert speaks(path)
        code, complaint = await refused_to_start("--memory", "--port", "0", "--admin-socket", str(path))
        assert (code, complaint.count("\n")) == (2, 1)
        assert "another server is using the admin socket" in complaint
    code, complaint = await refused_to_start("--memory", "--admin")
    assert code == 2
    assert "--admin-socket" in complaint


def test_a_private_file_tells_port_and_token_where_there_are_no_unix_sockets(tmp_path: Path) -> None:
    path = tmp_path / SOCKET_NAME
    with listen_at(path, by_unix_socket=False) as endpoint:
        assert mode(path) == 0o600
        connection, token = connect_to(path, 1.0)
        connection.close()
        assert token == endpoint.token is not None
    assert not path.exists()
    path.write_text('{"port": 1, "token": "of a killed server"}')
    with listen_at(path, by_unix_socket=False) as endpoint:
        connection, token = connect_to(path, 1.0)
        connection.close()
        assert token == endpoint.token
    for content in (b"", b"\xff", b"{}", b'{"port": "x", "token": 1}', b"x" * 10_000):
        path.write_bytes(content)
        with pytest.raises(NoServer):
            connect_to(path, 1.0)


async def samples(port: int) -> dict[str, float]:
    """Return every sample of the metrics page, as Prometheus itself reads it."""
    status, text = await http_get(port, "/metrics")
    assert status == 200
    found = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {",".join([sample.name, *sample.labels.values()]): sample.value for sample in found}


async def test_metrics_count_what_happens(tmp_path: Path) -> None:
    async with running(Config(data=tmp_path, watched=True)) as server:
        before = await samples(server.port)
        assert before["palatinus_moves_total"] == 0
        assert before["palatinus_commit_seconds_count"] == 0
        async with (
            game(server.port, 2) as peers,
            all_connected(server.port, 2) as (watcher, again),
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
    async with running(Config()) as server:
        for path in ("/healthz", "/metrics"):
            status, text = await http_get(server.port, path)
            assert status == 426
            assert "palatinus join" in text


async def test_a_server_that_stops_soon_is_not_ready() -> None:
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
    async with asyncio.timeout(TIMEOUT):
        while await asked() != value:  # noqa: ASYNC110 - it does not announce this
            await asyncio.sleep(0.05)
