"""The admin socket under attack: whatever comes in, it is answered or cut, and the games go on."""

import asyncio
import contextlib
import json
import random
import socket
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.admin import LINE_BYTES
from server.admin import listener
from server.admin.endpoint import SOCKET_NAME, listen_at
from server.admin.listener import admin_server
from server.app import running
from server.config import Config
from server.monitoring.failures import Tasks
from tests.server.admin.admin_peer import answer, failure_of, raw_answer
from tests.server.peer import TIMEOUT, eventually, game, play_on


@contextlib.asynccontextmanager
async def administered(data: Path) -> Any:
    async with running(Config(data=data, admin=data / SOCKET_NAME)) as server:
        yield server


GARBAGE = [
    *(b"\n", b"hello\n", b"\x00\xff\xfe\n", b"[]\n", b"{}\n", b"null\n", b'{"v": "1"}\n', b'{"v": 1}\n'),
    *(b'{"v": 1, "ask": {"do": "sudo"}}\n', b'{"v": 1, "ask": {"do": "status", "more": 1}}\n'),
    *(b'{"v": 1, "ask": {"do": "status"}, "more": 1}\n', b'{"v": 1, "ask": {"do": "drain", "seconds": 0}}\n'),
    b'{"v": 1, "ask": {"do": "drain", "seconds": 1e9}}\n',
    b'{"v": 1, "ask": {"do": "close", "tables": []}}\n',
    b'{"v": 1, "ask": {"do": "close", "tables": ["../.."]}}\n',
    b'{"v": 1, "ask": {"do": "announce", "text": ""}}\n',
    b'{"v": 1, "ask": {"do": "log-level", "level": "debug"}}\n',
    b'{"v": 1, "ask": ' + b"[" * 20_000 + b"]" * 20_000 + b"}\n",
    b'{"v": 1, "ask": {"do": "status"}, "token": "\xed\xa0\x80"}\n',
]


async def test_what_is_no_request_is_refused_in_one_line_or_cut_off(tmp_path: Path) -> None:
    """A line that is not whole, or never ends, has no answer, and does nothing."""
    path = tmp_path / SOCKET_NAME
    async with administered(tmp_path):
        for line in GARBAGE:
            (found,) = (await raw_answer(path, line)).splitlines()
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
    """Whatever a line is, it is either a request or refused, and never an error of ours."""

    do = AsyncMock(return_value=("done", None))
    line, _ = asyncio.run(listener.answer_to(content, do, "admin.sock"))
    found = json.loads(line)
    assert "ok" in found or found["error"]["code"] in {"bad-request", "other-version"}


async def test_a_thousand_connections_stop_neither_the_host_nor_the_game(tmp_path: Path) -> None:
    """Beyond the first few they learn that there are too many, and cut."""
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


async def test_whoever_stalls_in_an_answer_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without holding up whoever comes next."""
    monkeypatch.setattr(listener, "_SECONDS", 0.2)
    answered = []

    async def do(_request: object) -> Any:
        answered.append(_request)
        return "x" * 20_000_000, None

    with listen_at(tmp_path / SOCKET_NAME) as endpoint:
        async with Tasks() as tasks, admin_server(endpoint, tasks, do):
            stalled = socket.socket(socket.AF_UNIX)
            stalled.connect(str(endpoint.path))
            stalled.sendall(b'{"v": 1, "ask": {"do": "status"}}\n')
            await eventually(lambda: len(answered) == 1)
            whole = await raw_answer(endpoint.path, b'{"v": 1, "ask": {"do": "status"}}\n')
            assert len(whole) > 20_000_000
            await eventually(lambda: not being_served())
            stalled.close()


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
