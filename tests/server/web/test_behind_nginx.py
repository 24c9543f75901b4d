"""The pages behind nginx, configured as the documents do it, below a path of its own."""

import ipaddress
import shutil
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

from bench.attack.proxy import ADDRESS, nginx_before
from client.ui.web.pages import WebPages
from server.app import running
from server.config import Config
from tests.server.peer import Peer, full_table
from tests.server.web.viewer import Viewer, asked

CONFIG = Config(pages=WebPages(), trusted_proxies=(ipaddress.ip_network(ADDRESS),))


@pytest.mark.skipif(shutil.which("nginx") is None, reason="there is no nginx here")
async def test_pages_and_games_are_found_below_the_proxys_path(tmp_path: Path) -> None:
    """The page, its live part, and the game at the address that the page tells."""
    async with running(CONFIG) as server, full_table(server.port, 2) as peers:
        with nginx_before(server.port, tmp_path, None, "/palatinus/") as port:
            front = await asked(port, "/palatinus/")
            assert f"palatinus join ws://127.0.0.1:{port}/palatinus/<" in front.text
            assert f"http://127.0.0.1:{port}/palatinus/<" in front.text
            table = await asked(port, f"/palatinus/watch/{peers[0].code}")
            assert f"http://127.0.0.1:{port}/palatinus/watch/{peers[0].code}<" in table.text
            live = f"ws://127.0.0.1:{port}/palatinus/watch/{peers[0].code}"
            own = {"Origin": f"http://127.0.0.1:{port}"}
            async with connect(live, additional_headers=own, proxy=None) as socket:
                page = Viewer(socket)
                await page.until("players", "Player 1")
            for game in ("/palatinus/", "/palatinus"):  # without the slash nginx sends clients on
                async with connect(f"ws://127.0.0.1:{port}{game}", proxy=None) as socket:
                    await Peer(socket).hello()
