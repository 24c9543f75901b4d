"""`palatinus serve --ssh` and `palatinus guests`, in earnest, and the ssh program that most guests have."""

import asyncio
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path

import asyncssh
import psutil
import pyte
import pytest

from palatinus import main
from tests.commands.guests.visitor import connection, new_key, visiting
from tests.program import PROGRAM
from tests.server.peer import TIMEOUT
from tests.server.process import Serving, serving

OPENSSH = shutil.which("ssh")


@contextlib.asynccontextmanager
async def serving_guests(folder: Path, *options: str) -> AsyncIterator[tuple[Serving, int, str]]:
    """Serve with a door; yield the server, the door's port, and the fingerprint of its key."""
    async with serving("--data", str(folder), "--no-config", "--ssh", "0", *options) as server:
        assert server.process.stdout is not None
        told = ""
        async with asyncio.timeout(TIMEOUT):
            while (found := re.search(r"is (SHA256:\S+)\n  ssh -p (\d+) 127\.0\.0\.1\n", told)) is None:
                told += (await server.process.stdout.readline()).decode()
        yield server, int(found[2]), found[1]


async def back_at(port: int, key: asyncssh.SSHKey) -> None:
    """Come in as soon as the door is open again."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            with contextlib.suppress(OSError, asyncssh.Error):
                async with visiting(port, key=key) as guest:
                    await guest.until("A new table")
                return
            await asyncio.sleep(0.05)


@pytest.mark.slow
async def test_a_door_that_is_killed_is_opened_again_and_ends_with_its_server(tmp_path: Path) -> None:
    """At the same port, with the same key; guests are told even if the server is killed."""
    key = new_key()
    async with serving_guests(tmp_path) as (server, port, fingerprint):
        connected = await connection(port)
        shown = connected.get_server_host_key()
        assert shown is not None
        assert shown.get_fingerprint() == fingerprint
        (door,) = psutil.Process(server.process.pid).children()
        assert not any("ws://" in word for word in door.cmdline())
        door.kill()
        await connected.wait_closed()
        await back_at(port, key)
        (door,) = psutil.Process(server.process.pid).children()
        async with visiting(port, key=key) as guest:
            await guest.until("A new table")
            server.process.kill()
            await guest.until("The server stopped.")
            guest.vanish()
        _code, _out, err = await server.ended()
        await asyncio.to_thread(door.wait, TIMEOUT)
    assert "the ssh gateway has ended, and is started again" in err
    assert "Traceback" not in err


@pytest.mark.slow
@pytest.mark.usefixtures("restored_logging")
def test_what_keeps_a_door_shut_is_said_in_one_sentence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    serve = ("serve", "--host", "127.0.0.1", "--port", "0", "--no-config", "--ssh")
    assert main([*serve, "--memory"]) == 2
    assert "--ssh needs a data folder" in capfd.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main([*serve, port, "--data", str(tmp_path)]) == 2
    said = capfd.readouterr().err
    assert f"cannot listen on 127.0.0.1 port {port}" in said
    assert "Traceback" not in said
    assert (
        main(["guests", "--ssh", "0", "--host", "127.0.0.1", "--server", "http://x", "--data", str(tmp_path)])
        == 2
    )
    assert "is not a server address" in capfd.readouterr().err
    monkeypatch.setitem(sys.modules, "asyncssh", None)
    for command in ((*serve, "--data", str(tmp_path)), ("guests", "--data", str(tmp_path))):
        assert main(command) == 2
        (line,) = capfd.readouterr().err.splitlines()
        assert "asyncssh: install it with " in line
        assert line.endswith("palatinus[ssh]'")


@pytest.mark.slow
async def test_a_door_of_its_own_outlives_the_server(tmp_path: Path) -> None:
    """Guests who come while the server is away learn so."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        nobody = free.getsockname()[1]
    words = f"guests --host 127.0.0.1 --ssh 0 --data {tmp_path} --server ws://127.0.0.1:{nobody}".split()
    door = await asyncio.create_subprocess_exec(sys.executable, PROGRAM, *words, stdout=PIPE, stderr=PIPE)
    assert door.stdout is not None
    try:
        async with asyncio.timeout(TIMEOUT):
            await door.stdout.readline()
            port = int((await door.stdout.readline()).split()[2])
        async with visiting(port, environment={"LANG": "nl_NL.UTF-8"}) as guest:
            await guest.until(f"ws://127.0.0.1:{nobody}")
            assert await guest.ended() == 1
            assert "Is the server running?" not in guest.shown
        door.terminate()
        async with asyncio.timeout(TIMEOUT):
            _out, err = await door.communicate()
        assert (door.returncode, err) == (0, b"")
    finally:
        if door.returncode is None:
            door.kill()
            await door.wait()


@pytest.mark.skipif(OPENSSH is None, reason="there is no ssh here")
async def test_openssh_plays(tmp_path: Path) -> None:
    """With a key, in a terminal of its own; and what it asks for besides is refused."""
    key = tmp_path / "id"
    new_key().write_private_key(key)
    key.chmod(0o600)
    async with serving_guests(tmp_path / "data", "-v") as (server, port, _fingerprint):
        words = [
            *("ssh", "-F", "none", "-p", str(port), "-i", str(key), "-o", "IdentitiesOnly=yes"),
            *("-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={tmp_path / 'known'}"),
            *("-o", "SendEnv=LANG", "-o", "LogLevel=ERROR"),
        ]
        shown = await asyncio.to_thread(_in_a_terminal, [*words, "anna@127.0.0.1"])
        assert "Un tavolo nuovo" in shown
        for asked, told in (
            (("anna@127.0.0.1", "cat /etc/passwd"), "There is only the game here."),
            (("-s", "anna@127.0.0.1", "sftp"), "subsystem request failed"),
            (("-N", "-o", "ExitOnForwardFailure=yes", "-R", "0:127.0.0.1:1", "anna@127.0.0.1"), "failed"),
        ):
            done = await asyncio.to_thread(_without_keys, [*words, *asked])
            assert done.returncode != 0
            assert told in done.stdout + done.stderr
        done = await asyncio.to_thread(_without_keys, [*words, "-T", "anna@127.0.0.1"], "tables\nquit\n")
        assert "No tables are open." in done.stdout
        assert done.returncode == 0
        # No key will ever come, and the program says so before there is a screen.
        done = await asyncio.to_thread(_without_keys, [*words, "-tt", "anna@127.0.0.1"])
        assert done.returncode == 0
        (door,) = psutil.Process(server.process.pid).children()
        server.process.send_signal(signal.SIGTERM)
        code, _out, err = await server.ended()
    assert code == 0
    assert "guest came" in err
    assert "anna" not in err
    assert not psutil.pid_exists(door.pid)


def _without_keys(words: list[str], typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT, input=typed, check=False)


def _in_a_terminal(words: list[str]) -> str:
    """Return the first screen, after which the game is left."""
    import pexpect

    environment = {**os.environ, "LANG": "it_IT.UTF-8", "TERM": "xterm-256color"}
    child = pexpect.spawn(words[0], words[1:], env=environment, dimensions=(24, 80), timeout=TIMEOUT)
    try:
        screen = pyte.Screen(80, 24)
        stream = pyte.ByteStream(screen)
        while "Un tavolo nuovo" not in "".join(screen.display):
            stream.feed(
                child.read_nonblocking(4096, TIMEOUT)
                .replace(b"\x1b[?2026h", b"")
                .replace(b"\x1b[?2026l", b"")
            )
        shown = "\n".join(screen.display)
        child.send("q")
        child.expect(pexpect.EOF)
        return shown
    finally:
        child.close(force=True)
