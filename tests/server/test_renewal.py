"""What changes while the server runs: certificate, key, password and log level, by SIGHUP."""

import asyncio
import contextlib
import logging
import os
import random
import re
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pexpect
import pytest
import trustme
from websockets.asyncio.client import connect

from engine.events import GameEnded
from protocol.codes import Code
from protocol.limits import VERSIONS
from protocol.messages import Hello, Refused, StartGame, Welcome
from server.app import running
from server.config import Config
from server.errors import StartError
from server.monitoring.logs import describe
from server.net import access
from server.net.access import AccessControl, load_certificate
from tests.cases import cases
from tests.pages.serving.viewer import asked
from tests.program import PROGRAM
from tests.server.manual_clock import ManualClock
from tests.server.peer import TIMEOUT, Peer, connected_without_hello, eventually
from tests.server.playing import peer_on_turn, play_on
from tests.server.process import Serving, refused_to_start, serving

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGHUP")

DAY = timedelta(days=1)
OPTIONS = 'tls-cert = "cert.pem"\ntls-key = "key.pem"\npassword-file = "password"\nmemory = true\n'


def certify(folder: Path, days: float = 365, host: str = "127.0.0.1", *, since: float = 400) -> None:
    """Write a new authority, certificate and key into a folder.

    The certificate ends in so many days, and has been valid `since` so many.
    """
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    now = datetime.now(UTC)
    made = authority.issue_cert(host, not_before=now - since * DAY, not_after=now + days * DAY)
    made.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    made.private_key_pem.write_to_path(folder / "key.pem")


@contextlib.asynccontextmanager
async def peer_at(port: int, authority: Path, password: str | None = None) -> AsyncIterator[Peer]:
    """Connect by TLS, trusting an authority, and say hello."""
    trusting = ssl.create_default_context(cafile=authority)
    async with connect(f"wss://127.0.0.1:{port}", ssl=trusting, proxy=None, compression=None) as client:
        peer = Peer(client)
        await peer.send(Hello(list(VERSIONS), "peer", password))
        yield peer


async def hang_up(server: Serving, expected: str) -> str:
    """Send SIGHUP; return the first line of the log that contains `expected`."""
    server.process.send_signal(signal.SIGHUP)
    assert server.process.stderr is not None
    async with asyncio.timeout(TIMEOUT):
        while expected not in (line := (await server.process.stderr.readline()).decode()):
            assert line, "the server has ended"
    return line


@pytest.mark.slow
async def test_a_new_certificate_and_password_hold_for_new_connections(tmp_path: Path) -> None:
    """A game under way goes on over its old connections, to the end."""
    certify(tmp_path)
    (tmp_path / "old.pem").write_bytes((tmp_path / "ca.pem").read_bytes())
    (tmp_path / "password").write_text("old\n")
    (tmp_path / "serve.toml").write_text(f"{OPTIONS}verbose = true\n")
    async with (
        serving("--config", str(tmp_path / "serve.toml")) as server,
        peer_at(server.port, tmp_path / "old.pem", "old") as one,
        peer_at(server.port, tmp_path / "old.pem", "old") as two,
    ):
        for peer in (one, two):
            assert isinstance(await peer.receive(), Welcome)
        await one.open(2, random_layout=True, starting=0)
        await two.join(one.code, "Ben")
        await one.done(StartGame)
        while one.legal is None:
            await one.receive()
        await two.caught_up(one.seq)
        await play_on([one, two], random.Random(1), moves=2)

        certify(tmp_path)
        (tmp_path / "password").write_text("new\n")
        with (tmp_path / "serve.toml").open("a") as file:
            file.write("lobby-chat = false\n")
        await hang_up(server, "INFO the configuration was reloaded")
        async with peer_at(server.port, tmp_path / "ca.pem", "new") as late:
            welcome = await late.receive()
            assert isinstance(welcome, Welcome)
            assert not welcome.lobby
        with pytest.raises(ssl.SSLCertVerificationError):
            async with peer_at(server.port, tmp_path / "old.pem", "new"):
                pass
        async with peer_at(server.port, tmp_path / "ca.pem", "old") as late:
            answer = await late.receive()
            assert isinstance(answer, Refused)
            assert answer.code == Code.BAD_PASSWORD
        await play_on([one, two], random.Random(2))
        assert peer_on_turn([one, two]) is None
        assert {type(event) for event in one.seen} >= {GameEnded}


async def test_the_metrics_have_the_certificates_end(tmp_path: Path) -> None:
    certify(tmp_path, days=100)
    config = Config(tls_cert=tmp_path / "cert.pem", tls_key=tmp_path / "key.pem", watched=True)
    async with running(config) as server:
        for days in (100, 200):
            trusting = ssl.create_default_context(cafile=tmp_path / "ca.pem")
            text = (await asked(server.port, "/metrics", tls=trusting)).text
            found = re.search(r"^palatinus_certificate_expires_timestamp_seconds (\S+)$", text, re.MULTILINE)
            assert found
            assert abs(float(found[1]) - (datetime.now(UTC) + days * DAY).timestamp()) < TIMEOUT
            certify(tmp_path, days=200)
            server.renew(AccessControl.of(config))


async def test_bad_files_change_nothing(tmp_path: Path) -> None:
    certify(tmp_path)
    old = {name: (tmp_path / name).read_bytes() for name in ("cert.pem", "key.pem")}
    (tmp_path / "ca.pem").rename(tmp_path / "old.pem")
    (tmp_path / "password").write_text("old\n")
    (tmp_path / "serve.toml").write_text(OPTIONS)
    async with serving("--config", str(tmp_path / "serve.toml")) as server:
        certify(tmp_path)
        (tmp_path / "key.pem").write_bytes(old["key.pem"])
        (tmp_path / "password").write_text("new\n")
        line = await hang_up(server, "ERROR the configuration was not reloaded")
        told = f"the key in {tmp_path}/key.pem does not belong to the certificate in {tmp_path}/cert.pem"
        assert told in line
        (tmp_path / "cert.pem").unlink()
        assert f"cannot read {tmp_path}/cert.pem: No such file" in await hang_up(server, "not reloaded")
        (tmp_path / "cert.pem").write_bytes(old["cert.pem"])
        (tmp_path / "password").write_text("")
        assert "contains no password" in await hang_up(server, "not reloaded")
        (tmp_path / "serve.toml").write_text(f"{OPTIONS}prot = 1\n")
        assert "line 5: prot is not an option. Did you mean port?" in await hang_up(server, "not reloaded")
        (tmp_path / "serve.toml").write_text(re.sub("tls.*\n", "", OPTIONS))
        (tmp_path / "password").write_text("new\n")
        assert "by a restart" in await hang_up(server, "not reloaded")
        async with peer_at(server.port, tmp_path / "old.pem", "old") as peer:
            assert isinstance(await peer.receive(), Welcome)
        (tmp_path / "serve.toml").write_text(f"{OPTIONS}verbose = true\n")
        await hang_up(server, "INFO the configuration was reloaded")
        async with peer_at(server.port, tmp_path / "old.pem", "new") as peer:
            assert isinstance(await peer.receive(), Welcome)
        (tmp_path / "serve.toml").write_text(f'{OPTIONS}rate = 30\nrecords = "records"\nverbose = true\n')
        line = await hang_up(server, "WARNING these options change with the next start")
        assert line.rstrip().endswith('options="records, rate"')


async def test_a_server_that_loses_its_password_keeps_it(tmp_path: Path) -> None:
    """Only a restart opens it: a line may be missing by mistake."""
    file = tmp_path / "serve.toml"
    (tmp_path / "password").write_text("old\n")
    file.write_text('password-file = "password"\nmemory = true\n')
    async with serving("--config", str(file)) as server:
        file.write_text("memory = true\nverbose = true\n")
        line = await hang_up(server, "ERROR the configuration was not reloaded")
        assert "no longer sets a password" in line
        async with connected_without_hello(server.port) as peer:
            await peer.send(Hello(list(VERSIONS), "peer"))
            assert isinstance(answer := await peer.receive(), Refused)
            assert answer.code == Code.PASSWORD_NEEDED
        file.write_text('password-file = "password"\nmemory = true\nverbose = true\n')
        await hang_up(server, "INFO the configuration was reloaded")


@pytest.mark.parametrize(
    ("days", "since", "told"), [(-1, 400, "expired on"), (365, -1, "is not valid before")]
)
async def test_a_certificate_that_clients_refuse_does_not_replace_a_good_one(
    days: float, since: float, told: str, tmp_path: Path
) -> None:
    certify(tmp_path)
    config = Config(tls_cert=tmp_path / "cert.pem", tls_key=tmp_path / "key.pem")
    access = AccessControl.of(config)
    good, access.password = access.certificate, "old"
    certify(tmp_path, days, since=since)
    new = AccessControl.of(config)
    new.password = "new"
    with pytest.raises(StartError) as error:
        access.renew(new)
    assert f"the certificate in {tmp_path}/cert.pem {told} 2" in str(error.value)
    assert (access.certificate, access.password) == (good, "old")


async def test_a_certificate_for_another_purpose_does_not_replace_a_good_one(tmp_path: Path) -> None:
    certify(tmp_path)
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    config = Config(tls_cert=cert, tls_key=key)
    access = AccessControl.of(config)
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-subj", "/CN=x", "-addext", "extendedKeyUsage=clientAuth"]
    openssl(*words, "-keyout", str(key), "-out", str(cert))
    useless = AccessControl.of(config)
    with pytest.raises(StartError, match=r"clients refuse the certificate in .*: "):
        access.renew(useless)
    useless.renew(AccessControl.of(config))  # which loses nothing


@pytest.mark.slow
def test_a_closed_terminal_ends_the_server(tmp_path: Path) -> None:
    """Nobody could stop it any more; without a terminal the same signal renews it."""
    terminal = pexpect.spawn(
        sys.executable, [str(PROGRAM), "serve", "--port", "0", "--data", str(tmp_path), "-v"], timeout=TIMEOUT
    )
    terminal.expect_exact("palatinus join ws://")
    pid = terminal.pid
    os.kill(pid, signal.SIGHUP)  # the terminal is still there
    terminal.expect_exact("the configuration was reloaded")
    terminal.ptyproc.fileobj.close()
    terminal.closed = terminal.ptyproc.closed = True  # by us
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.parametrize(
    ("valid", "level", "told"),
    [
        ((31.5, 400), None, ""),
        ((29.5, 400), "WARNING", "the certificate expires soon"),
        ((6.5, 400), "ERROR", "the certificate expires soon"),
        ((-1, 400), "ERROR", "the certificate has expired, and clients refuse it"),
        ((365, -1), "ERROR", "the certificate is not valid yet, and clients refuse it"),
    ],
)
async def test_the_end_of_a_certificate_is_told_in_time(
    valid: tuple[float, float], level: str | None, told: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    days, since = valid
    certify(tmp_path, days, since=since)
    clock = ManualClock()
    config = Config(tls_cert=tmp_path / "cert.pem", tls_key=tmp_path / "key.pem", timers=lambda: clock)
    lines = [(level, told)] if level else []
    async with running(config):
        for seconds in (0, 86_399, 2):
            clock.advance(seconds)
            begun = 1 if seconds < 86_400 and clock.time() < 86_400 else 2
            ours = [line for line in caplog.records if line.name.startswith("server")]
            assert [(line.levelname, line.getMessage()) for line in ours] == lines * begun


def openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


async def test_what_is_wrong_with_a_certificate_is_told_in_words(tmp_path: Path) -> None:
    certify(tmp_path)
    cert, key, encrypted = (tmp_path / f"{name}.pem" for name in ("cert", "key", "encrypted"))
    for name in ("other", "folder.pem"):
        (tmp_path / name).mkdir()
    certify(tmp_path / "other")
    openssl("pkcs8", "-topk8", "-in", str(key), "-out", str(encrypted), "-passout", "pass:secret")
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(tmp_path / "ec.pem"))
    (tmp_path / "short.pem").write_bytes(cert.read_bytes()[:200] + b"\n")
    for chain, private, told in cases(__file__, "certificates"):
        with pytest.raises(StartError) as error:
            load_certificate(tmp_path / chain, None if private == "-" else tmp_path / private)
        assert told.replace("FOLDER", str(tmp_path)) in str(error.value)
    for files, told in (
        (("--tls-cert", cert, "--tls-key", encrypted), "is encrypted"),
        (("--tls-key", key), "cert"),
    ):
        code, said = await refused_to_start("--memory", *map(str, files))
        assert (code, said.count("\n")) == (2, 1)
        assert told in said


@pytest.mark.slow
def test_a_certificate_for_clients_and_a_slow_key_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It serves, but no client accepts it; or each handshake takes long."""
    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(access, "_SLOW_RSA", 2048)
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x"]
    openssl(*words, "-addext", "extendedKeyUsage=clientAuth", "-keyout", str(key), "-out", str(cert))
    assert load_certificate(cert, key).ends is None
    slow, refused = caplog.records
    assert describe(slow) == f"the certificate's key is slow: file={cert} bits=2048"
    assert refused.getMessage() == "clients refuse the certificate"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGHUP")
async def test_a_file_that_cannot_be_read_to_its_end_does_not_hold_up_the_stop(tmp_path: Path) -> None:
    """As on a disk that does not answer."""
    (tmp_path / "serve.toml").write_text('password-file = "password"\nmemory = true\n')
    (tmp_path / "password").write_text("old\n")
    async with serving("--config", str(tmp_path / "serve.toml")) as server:
        (tmp_path / "password").unlink()
        os.mkfifo(tmp_path / "password")
        server.process.send_signal(signal.SIGHUP)
        writers: list[int] = []

        def being_read() -> bool:
            try:
                writers.append(os.open(tmp_path / "password", os.O_WRONLY | os.O_NONBLOCK))
            except OSError:
                return False
            return True

        await eventually(being_read)
        server.process.terminate()
        try:
            assert (await server.ended())[0] == 0
        finally:
            os.close(writers[0])
