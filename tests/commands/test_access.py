"""Certificates and passwords, on the command line."""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

import pytest
import trustme

from client.player.preferences import Clusters, kept_in
from protocol.limits import VERSIONS
from protocol.messages import Hello
from server.app import Running, running
from server.config import Config
from tests.client.ui.pty_terminal import Terminal
from tests.games import rest_slow
from tests.program import PROGRAM, ran
from tests.server.peer import TIMEOUT
from tests.server.process import serving

PASSWORD = "seven hills, één wolf"


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    """Write a host's own authority to ca.pem, and its certificate for 127.0.0.1 to host.pem."""
    own = trustme.CA()
    own.cert_pem.write_to_path(tmp_path / "ca.pem")
    own.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(tmp_path / "host.pem")
    trustme.CA().cert_pem.write_to_path(tmp_path / "other.pem")
    return tmp_path


async def bot(port: int, *options: str, scheme: str = "ws", password: str | None = None) -> tuple[int, str]:
    """Let two bots play a game, with a password in the environment; return exit code and output."""
    words = ("bot", f"{scheme}://127.0.0.1:{port}", "--seats", "2", "--brain", "random", "--lang", "en")
    code, out, err = await ran(
        *words, *options, environment={**os.environ, "PALATINUS_PASSWORD": password or ""}
    )
    return code, out + err


async def test_a_hosts_own_certificate_is_trusted_if_its_authority_is(authority: Path) -> None:
    """And only then; otherwise a sentence says what to do."""
    (authority / "text.pem").write_text("no certificate")
    async with serving("--memory", "--tls-cert", str(authority / "host.pem")) as server:

        async def trusting(file: str | None) -> tuple[int, str]:
            options = [] if file is None else ["--tls-ca", str(authority / file)]
            return await bot(server.port, *options, scheme="wss")

        files = ("ca.pem", None, "other.pem", "missing.pem", "text.pem")
        good, none, other, missing, text = await asyncio.gather(*map(trusting, files))
        code, said = await bot(server.port)
        assert (code, said.count("\n")) == (1, 1)
        assert "write wss:// instead of ws://" in said
    assert good[0] == 0
    assert "Game 1" in good[1]
    for code, said in (none, other):
        assert code == 1
        assert "is not trusted" in said
        assert "--tls-ca" in said
    assert missing[0] == text[0] == 2
    assert "contains no certificate" in text[1]
    for _, said in (none, other, missing, text):
        assert said.count("\n") == 1


@pytest.mark.slow
async def test_a_password_lets_in_who_knows_it(tmp_path: Path) -> None:
    """From a file or the environment; without it there is one sentence."""
    file = tmp_path / "password"
    file.write_text(f"{PASSWORD}\nnot this line\n", encoding="utf-8")
    async with serving("--memory", "--password-file", str(file)) as server:
        by_file, by_environment, none, wrong = await asyncio.gather(
            bot(server.port, "--password-file", str(file)),
            bot(server.port, password=PASSWORD),
            bot(server.port),
            bot(server.port, password=PASSWORD[:-1]),
        )
        assert (by_file[0], by_environment[0]) == (0, 0)
        means = " Give the password with --password-file or in the environment variable PALATINUS_PASSWORD.\n"
        assert none == (1, f"This server asks for a password. Get it from the host.{means}")
        assert wrong == (1, f"That is not this server's password.{means}")
        file.write_text("\n")
        code, said = await bot(server.port, "--password-file", str(file))
        assert (code, said.count("\n")) == (2, 1)
        server.process.terminate()
        _, out, err = await server.ended()
        assert "hills" not in out + err
    assert PASSWORD not in repr(Config(password=PASSWORD)) + repr(Hello(list(VERSIONS), "test", PASSWORD))


@pytest.mark.parametrize("lines", rest_slow(False, True))
async def test_a_terminal_is_asked_for_the_password(tmp_path: Path, *, lines: bool) -> None:
    """Again after a wrong one; what is typed is not shown."""
    file = tmp_path / "password"
    file.write_text(PASSWORD, encoding="utf-8")

    def joined(port: int) -> bytes:
        environment = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
        words = ("--plain",) if lines else ("join", f"ws://127.0.0.1:{port}")
        with Terminal(*words, environment=environment) as terminal:
            if lines:
                terminal.shows("Join a game")
                terminal.press("4", "enter")
                terminal.shows("Type an address")
                terminal.press("a", "enter", f"127.0.0.1:{port}", "enter")
            terminal.shows("This server asks for a password", "[Pp]assword:")
            terminal.press("six hills", "enter")
            terminal.shows("That is not this server's password.\n[Pp]assword:")
            terminal.press(PASSWORD, "enter")
            terminal.press(*(["tables", "enter"] if lines else []))
            terminal.shows("No tables are open")
            terminal.press("q", *(["enter", "y", "enter"] if lines else []))
            assert terminal.ended()[0] == 0
            return terminal.raw

    async with serving("--memory", "--password-file", str(file)) as server:
        seen = await asyncio.to_thread(joined, server.port)
    assert b"hills" not in seen.replace(b"the seven hills of Rome", b"")


async def test_the_hosts_of_a_cluster_are_confirmed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For any of its hosts; a player who says no plays on all the same."""
    monkeypatch.setattr(Running, "other_addresses", lambda _: ["ws://other.example:7733"])
    environment = {"XDG_STATE_HOME": str(tmp_path)}

    def joined(port: int, *answers: str) -> None:
        with Terminal("join", f"ws://127.0.0.1:{port}", environment=environment) as terminal:
            for answer in answers:
                terminal.shows("This server is one of several.", "[y/N]")
                terminal.press(answer, "enter")
            terminal.shows("No tables are open")
            terminal.press("q")
            assert terminal.ended()[0] == 0

    async with running(Config()) as server:
        await asyncio.to_thread(joined, server.port, "n")
        await asyncio.to_thread(joined, server.port, "y")
        await asyncio.to_thread(joined, server.port)
    confirmed = kept_in(tmp_path / "palatinus" / "clusters.json", Clusters)
    assert confirmed is not None
    assert confirmed.hosts_with("other.example") == {"127.0.0.1", "other.example"}
    assert not confirmed.hosts_with("stranger.example")


async def test_a_server_is_not_open_to_all_because_its_password_is_empty() -> None:
    """An empty variable is a slip of whoever set it; the server says so and does not start."""
    words = ("serve", "--port", "0", "--memory", "--lang", "en")
    code, out, err = await ran(*words, environment={**os.environ, "PALATINUS_PASSWORD": ""})
    assert (code, out) == (2, "")
    assert err == "palatinus: PALATINUS_PASSWORD is empty: put the password in it, or unset it\n"


@pytest.mark.slow
async def test_a_server_serves_on_when_nobody_reads_what_it_prints(tmp_path: Path) -> None:
    """As with `palatinus serve | head -1`."""
    read, write = os.pipe()
    os.close(read)
    data = ("--data", str(tmp_path))
    command = (sys.executable, str(PROGRAM), "serve", "--host", "127.0.0.1", "--port", "0", *data)
    server = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=write, stderr=PIPE)
    os.close(write)
    async with asyncio.timeout(TIMEOUT):
        status = None
        while status != 0 and server.returncode is None:
            status, _, _ = await ran("admin", *data, "status")
        server.terminate()
        _, err = await server.communicate()
    assert (status, server.returncode) == (0, 0)
    assert b"Traceback" not in err
