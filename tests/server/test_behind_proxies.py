"""Several servers behind one name, with nginx and HAProxy configured as the documents do it."""

import asyncio
import contextlib
import ipaddress
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

from client.network.connection import open_connection as client_at
from client.ui.web.pages import WebPages
from protocol.messages import NEW, JoinTable, OpenTable, Say, Watch
from server.app import running
from server.config import Config
from tests.server.peer import TIMEOUT, Peer, eventually, full_table
from tests.server.test_leaving import PATIENT, Node
from tests.server.web.viewer import Viewer, asked

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "cluster"
# Not an address from which anybody plays.
ADDRESS = "127.0.0.99"
_MAIN = """\
worker_processes 1;
worker_rlimit_nofile 20000;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log crit;
events {{ worker_connections 10000; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{site}
}}
"""


def nginx_command(folder: Path, site: str) -> list[str]:
    """Write a configuration that serves `site` into the folder, and return the command that runs it."""
    configuration = folder / "nginx.conf"
    configuration.write_text(_MAIN.format(folder=folder, site=site), encoding="utf-8")
    return ["nginx", "-p", str(folder), "-c", str(configuration), "-e", "stderr"]


def with_addresses(text: str, ports: Sequence[int]) -> str:
    """Return a configuration with the nodes at these ports of this machine."""
    for number, port in enumerate(ports, 1):
        text = text.replace(f"10.0.0.{number}:7733", f"127.0.0.1:{port}")
    return text


def nginx(folder: Path, own: int, ports: Sequence[int]) -> list[str]:
    """Configure nginx without TLS, and return its command."""
    return nginx_command(folder, with_addresses(without_tls(EXAMPLES / "nginx.conf", own), ports))


def nginx_below_path(folder: Path, own: int, port: int) -> list[str]:
    """Configure nginx for one server below a path, and return its command."""
    site = without_tls(EXAMPLES.parent / "nginx.conf", own)
    site = site.replace("http://127.0.0.1:7733", f"http://127.0.0.1:{port}")
    return nginx_command(folder, f"proxy_bind {ADDRESS};\n{site}")


def without_tls(example: Path, own: int) -> str:
    """Return a configuration of nginx that serves this port of this machine."""
    site = re.sub(r" *(ssl_certificate|listen \[::\]).*\n", "", example.read_text(encoding="utf-8"))
    return site.replace("listen 443 ssl", f"listen 127.0.0.1:{own}")


def haproxy(folder: Path, own: int, ports: Sequence[int]) -> list[str]:
    """Configure HAProxy without TLS, and return its command."""
    text = with_addresses((EXAMPLES / "haproxy.cfg").read_text(encoding="utf-8"), ports)
    text = re.sub(r"bind :443 .*", f"bind 127.0.0.1:{own}", text)
    text = text.replace("X-Forwarded-Proto https", "X-Forwarded-Proto http")
    (folder / "haproxy.cfg").write_text(text, encoding="utf-8")
    return ["haproxy", "-db", "-q", "-f", str(folder / "haproxy.cfg")]


@contextlib.contextmanager
def run(command: list[str]) -> Iterator[None]:
    """Run a proxy while the context lasts."""
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


async def answers(port: int, path: str = "/") -> None:
    """Wait until a proxy answers, and knows a node that does."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            with contextlib.suppress(OSError, EOFError):
                if (await asked(port, path)).status == 200:
                    return
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("proxy", [nginx, haproxy])
async def test_players_find_their_tables_behind_one_name(
    proxy: Callable[[Path, int, Sequence[int]], list[str]], database: str, tmp_path: Path
) -> None:
    """Newcomers come to any server, and go to that of the table by its path; and on, when it stops."""
    if shutil.which(proxy.__name__) is None:
        pytest.skip(f"there is no {proxy.__name__} here")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    here = f"ws://127.0.0.1:{port}"

    def node(name: str) -> Node:
        trusted = (ipaddress.ip_network("127.0.0.1"),)
        config = Config(address=f"{here}/{name}", trusted_proxies=trusted, watched=True, pages=WebPages())
        return Node(database, name, config)

    async with node("first") as first, node("second") as second:
        with run(proxy(tmp_path, port, (first.port, second.port, second.port))):
            await answers(port)
            async with (
                client_at(f"{here}/first", timeouts=PATIENT) as anna,
                client_at(f"{here}/second/", timeouts=PATIENT) as bruno,
                client_at(here, timeouts=PATIENT) as carla,
            ):
                code = (await anna.ask(OpenTable(NEW, 2, "Anna"))).table
                assert list(first.server.lobby.tables) == [code]
                await bruno.ask(JoinTable(NEW, code, "Bruno"))
                await carla.ask(Watch(NEW, code))
                assert (await asked(port, f"/first/watch/{code}")).status == 200
                assert f"palatinus join {here}/first/" in (await asked(port, "/first/")).text
                assert len(list(first.server.clients)) == 3
                await first.stop()
                await anna.ask(Say(NEW, "still here"))
                await eventually(lambda: len(second.server.lobby.tables[code].audience.seated) == 2)
                await eventually(lambda: len(list(second.server.clients)) == 3)
                async with client_at(here, timeouts=PATIENT) as late:
                    assert (await late.ask(OpenTable(NEW, 2, "Late"))).table in second.server.lobby.tables


# -- the pages behind nginx, configured as the documents do it, below a path of its own ------------------


CONFIG = Config(pages=WebPages(), trusted_proxies=(ipaddress.ip_network(ADDRESS),))


@pytest.mark.skipif(shutil.which("nginx") is None, reason="there is no nginx here")
async def test_pages_and_games_are_found_below_the_proxys_path(tmp_path: Path) -> None:
    """The page, its live part, and the game at the address that the page tells."""
    async with running(CONFIG) as server, full_table(server.port, 2) as peers:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with run(nginx_below_path(tmp_path, port, server.port)):
            await answers(port, "/palatinus/")
            front = await asked(port, "/palatinus/")
            assert f"palatinus join ws://127.0.0.1:{port}/palatinus/<" in front.text
            assert f"http://127.0.0.1:{port}/palatinus/<" in front.text
            table = await asked(port, f"/palatinus/watch/{peers[0].code}")
            assert f"http://127.0.0.1:{port}/palatinus/watch/{peers[0].code}<" in table.text
            live = f"ws://127.0.0.1:{port}/palatinus/watch/{peers[0].code}"
            own = {"Origin": f"http://127.0.0.1:{port}"}
            async with connect(live, additional_headers=own, proxy=None) as line:
                page = Viewer(line)
                await page.until("players", "Player 1")
            for game in ("/palatinus/", "/palatinus"):  # without the slash nginx sends clients on
                async with connect(f"ws://127.0.0.1:{port}{game}", proxy=None) as line:
                    await Peer(line).hello()
