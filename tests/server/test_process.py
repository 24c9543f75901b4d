"""`palatinus serve` as a user runs it: addresses, signals, draining, and one-line errors for wrong use."""

import asyncio
import contextlib
import random
import signal
import socket
import ssl
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from protocol.codes import CloseReason, Code
from protocol.messages import OpenTable, Rematch, Resume, Stopping
from server.app import running
from server.config import Config, Limits
from server.net.addresses import reachable
from server.net.event_loop import new_loop
from server.version import VERSION, install_command
from tests.conftest import Run
from tests.server.manual_clock import ManualClock
from tests.server.peer import TIMEOUT, Peer, connected, connected_without_hello, eventually, exchange
from tests.server.playing import game, memory_server, play_on, timed_server
from tests.server.process import refused_to_start, serving

WITH_UVLOOP = pytest.mark.skipif(not find_spec("uvloop"), reason="no uvloop")
LOOPS = [pytest.param(False, id="asyncio"), pytest.param(True, id="uvloop", marks=WITH_UVLOOP)]
ON_BOTH_LOOPS = pytest.mark.parametrize("uvloop", LOOPS)


SAFE = ["--host 127.0.0.1", "--password-file password", "--tls-cert cert.pem"]


@pytest.mark.parametrize("options", ["", *SAFE])
@pytest.mark.usefixtures("files_here")
async def test_a_server_open_to_everybody_warns_once(options: str) -> None:
    """A host should not find out later that strangers can read along."""
    async with serving("--memory", "--host", "0.0.0.0", *options.split()) as server:  # noqa: S104 - that is what it warns of
        server.process.terminate()
        _, out, _ = await server.ended()
    assert out.count("--password-file") == (not options)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_signals_end_the_server_cleanly(number: signal.Signals, tmp_path: Path) -> None:
    """Clients get a close code and a reason, the exit code is 0, and stderr stays empty.

    However often the signal comes, as when somebody holds Ctrl-C down.
    """
    async with serving("--data", str(tmp_path)) as server:
        async with game(server.port, 2, watched=True) as peers, connected(server.port) as in_lobby:
            _, silent = await asyncio.open_connection("127.0.0.1", server.port)
            await in_lobby.nothing_but_pong()
            server.process.send_signal(number)
            for peer in (*peers, in_lobby):
                assert await peer.closed() == (1001, CloseReason.STOPPING)
            ending = asyncio.create_task(server.ended())
            while not ending.done():
                with contextlib.suppress(ProcessLookupError):
                    server.process.send_signal(number)
                await asyncio.sleep(0.001)
            code, out, err = await ending
            silent.close()
        assert (code, err) == (0, "")
        assert out == "Palatinus has stopped.\n"


async def test_what_keeps_a_server_from_starting_is_reported_in_one_line(tmp_path: Path) -> None:
    """It names the option, and what is wrong: also of a host that is unknown, malformed, or elsewhere."""
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("x")
    link.symlink_to(tmp_path / "gone")
    async with memory_server() as other:
        port = str(other.port)
        wrong: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
            (("--memory", "--host", "127.0.0.1", "--port", port), (port, "is using this address", "--port")),
            *(
                (("--memory", "--port", "0", "--host", host), ("--host",))
                for host in ("no such host", "x" * 300, "192.0.2.1")
            ),
            (("--rate", "1e99"), ("--rate",)),
            *(
                (("--port", "0", "--data", str(data)), (f"{named} is not a folder", "--data"))
                for data, named in ((file / "below", file), (link, link))
            ),
        ]
        for (_, words), (code, err) in zip(
            wrong, await asyncio.gather(*(refused_to_start(*options) for options, _ in wrong)), strict=True
        ):
            assert (code, err.count("\n")) == (2, 1), err
            assert err.startswith("palatinus")
            assert err.endswith("\n")
            assert "attempting" not in err
            for word in words:
                assert word in err


def test_all_interfaces_are_announced_by_usable_addresses() -> None:
    everywhere = "0.0.0.0"  # noqa: S104 - nothing listens there
    assert "127.0.0.1" in reachable(everywhere)
    assert everywhere not in reachable(everywhere)
    assert reachable("192.0.2.7") == ["192.0.2.7"]
    assert reachable("game.example") == ["game.example"]


async def test_a_server_on_all_ipv6_addresses_accepts_ipv4() -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("this system has no IPv6")
    async with running(Config(host="::")) as server:
        for host in ("127.0.0.1", "::1"):
            _, writer = await asyncio.open_connection(host, server.port)
            writer.close()
            await writer.wait_closed()


def test_the_help_shows_the_defaults(run: Run) -> None:
    """The help text repeats them, so that it need not import the server."""
    limits, text = Limits(), " ".join(run("serve", "--help-all", "--lang", "en")[0].split())
    opened = f"{limits.tables_per_address}, and {limits.tables_per_connection} from one connection"
    for option, default in {
        "--max-tables": limits.tables,
        "--tables-per-minute": opened,
        "--max-connections": limits.connections,
        "--connections-per-address": limits.connections_per_address,
        "--rate": f"{limits.rate:g}",
    }.items():
        assert text.rpartition(f"{option} ")[2].partition(")")[0].endswith(f"(default: {default}"), option


@pytest.fixture
def files_here(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with a certificate, its key and a file with a password."""
    monkeypatch.chdir(certificate.parent)
    password = Path("password")
    password.write_text("secret\n", encoding="utf-8")
    password.chmod(0o600)


@ON_BOTH_LOOPS
async def test_an_early_tls_handshake(certificate: Path, trusting: ssl.SSLContext, uvloop: bool) -> None:
    """Though what it sends may be there before the server has begun to speak TLS, as with uvloop."""

    def connect_at_once(port: int) -> None:
        plain = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT)
        with plain, trusting.wrap_socket(plain, server_hostname="127.0.0.1") as encrypted:
            encrypted.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
            answer = b"".join(iter(lambda: encrypted.recv(1000), b""))
            assert answer.startswith(b"HTTP/1.1 426 ")
            assert b"palatinus join wss://" in answer

    async with serving("--memory", "--tls-cert", str(certificate), uvloop=uvloop) as server:
        for _ in range(20):
            await asyncio.to_thread(connect_at_once, server.port)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="takes files away from another process")
@pytest.mark.slow
@ON_BOTH_LOOPS
async def test_running_out_of_open_files_is_logged_once(uvloop: bool) -> None:
    """A thousand lines a second would fill the disk."""
    import resource

    async with serving("--memory", uvloop=uvloop) as server:
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (40, 40))
        writers = [(await asyncio.open_connection("127.0.0.1", server.port))[1] for _ in range(60)]
        assert server.process.stderr is not None
        async with asyncio.timeout(TIMEOUT):
            line = (await server.process.stderr.readline()).decode()
        for writer in writers:
            writer.close()
        assert "ERROR no more connections can be accepted" in line
        while not await exchange(server.port, b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"):
            pass  # uvloop closes what it cannot accept
        async with connected(server.port) as peer:
            await peer.open(2)
        server.process.terminate()
        assert (await server.ended())[2] == ""


def test_uvloop_is_used_where_it_is_installed() -> None:
    loop = new_loop()
    try:
        installed = find_spec("uvloop") is not None
        assert type(loop).__module__.startswith("uvloop") == installed
    finally:
        loop.close()


def test_the_command_fits_the_installation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With pip, with uv where there is no pip, and through pipx, as it does beside a single file."""
    monkeypatch.setattr(sys, "executable", "/x/python")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr("server.version.find_spec", lambda _name: find_spec("json"))
    assert install_command("ssh") == "/x/python -m pip install 'palatinus[ssh]'"
    monkeypatch.setattr("server.version.find_spec", lambda _name: None)
    assert install_command("ssh") == "uv pip install --python /x/python 'palatinus[ssh]'"
    (tmp_path / "pipx_metadata.json").touch()
    assert install_command("ssh") == "pipx runpip palatinus install 'palatinus[ssh]'"
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert install_command("rl") == f"pipx install 'palatinus-{VERSION}-py3-none-any.whl[rl]'"


async def told(peer: Peer) -> int | None:
    return (await peer.until(Stopping)).seconds


async def test_newcomers_are_told_directly_after_their_welcome() -> None:
    """Not before: they might still have to give the password. The seconds are those that were asked for."""
    clock = ManualClock()
    clock.advance(757.1179785105686)  # where their sum is rounded up
    async with timed_server(clock) as server, game(server.port, 2), connected(server.port) as before:
        await before.nothing_but_pong()
        async with connected_without_hello(server.port) as stranger:
            server.drain.begin(600)
            assert await told(before) == 600
            await stranger.hello()
            assert [type(message).__name__ for message in stranger.received] == ["Welcome"]
        clock.advance(1.5)
        async with connected(server.port) as late:
            assert await late.receive() == Stopping(599)


async def test_everybody_is_told_at_once_and_as_the_end_comes_closer() -> None:
    clock = ManualClock()
    async with (
        timed_server(clock) as server,
        game(server.port, 2, watched=True) as peers,
        connected(server.port) as visitor,
    ):
        everybody = [*peers, visitor]
        server.drain.begin(400)
        assert [await told(peer) for peer in everybody] == [400] * 4
        clock.advance(99)
        await visitor.nothing_but_pong()
        for left in (300, 60, 10):
            clock.advance((server.drain.seconds_left() or 0) - left)
            assert [await told(peer) for peer in everybody] == [left] * 4
        assert not server.stop.is_set()
        clock.advance(10)
        assert [await peer.closed() for peer in everybody] == [(1001, "stopping")] * 4
        await server.stop.wait()


async def test_no_table_is_opened_or_brought_back(tmp_path: Path) -> None:
    """The refusal has the seconds left; players come back to a game, and to an archived one afterwards."""
    clock = ManualClock()
    async with timed_server(clock, tmp_path, over_seconds=1) as server:
        async with game(server.port, 2) as gone:
            await play_on(gone, random.Random(1))
        await eventually(lambda: len(server.clients) == 0)
        clock.advance(2)
        await eventually(lambda: not server.lobby.tables)
        async with game(server.port, 2) as playing, game(server.port, 2) as over:
            await play_on(over, random.Random(2))
            server.drain.begin(600)
            clock.advance(1)
            async with connected(server.port) as peer:
                for request in (OpenTable(7, 2, "Anna"), Resume(8, gone[0].code, gone[0].token)):
                    refused = await peer.refused(request)
                    assert refused.code == Code.SERVER_STOPPING
                    assert refused.about == {"seconds": "599"}
                await peer.resume(playing[0].code, playing[0].token)
            assert await over[0].refusal(Rematch) == Code.SERVER_STOPPING
            server.drain.cancel()
            async with connected(server.port) as peer:
                await peer.resume(gone[0].code, gone[0].token)


async def test_the_server_stops_soon_after_the_last_game() -> None:
    clock = ManualClock()
    async with timed_server(clock) as server, game(server.port, 2) as peers:
        server.drain.begin(600)
        assert await told(peers[0]) == 600
        await play_on(peers, random.Random(1))
        clock.advance(1)
        assert await told(peers[0]) == 10
        clock.advance(9)
        assert not server.stop.is_set()
        clock.advance(1)
        assert await peers[0].closed() == (1001, "stopping")
        await server.stop.wait()


async def test_a_game_that_everybody_has_left_does_not_keep_the_server() -> None:
    """It would wait for an hour for people who are not coming."""
    clock = ManualClock()
    async with timed_server(clock) as server:
        async with game(server.port, 2):
            pass
        await eventually(lambda: len(server.clients) == 0)
        server.drain.begin(600)
        await server.stop.wait()


@pytest.mark.parametrize(("first", "second"), [(600, 30), (30, 600)])
async def test_the_last_drain_counts(first: int, second: int) -> None:
    clock = ManualClock()
    async with timed_server(clock) as server, game(server.port, 2) as peers:
        server.drain.begin(first)
        server.drain.begin(second)
        assert [await told(peers[0]), await told(peers[0])] == [first, second]
        clock.advance(second - 1)
        assert not server.stop.is_set()
        clock.advance(1)
        await server.stop.wait()
