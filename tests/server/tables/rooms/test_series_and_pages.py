"""The page of a finished game leads to the next one."""

import random

from pages.drawing.pages import WebPages
from protocol import messages
from protocol.settings import Private
from server.app import running
from server.config import Config
from tests.pages.serving.viewer import viewer, web_server
from tests.server.peer import connected
from tests.server.playing import changed, game, play_on, rematch


async def test_the_page_of_a_finished_game_leads_to_the_next_one() -> None:
    async with web_server() as server, game(server.port, 2) as peers:
        await play_on(peers, random.Random(1))
        async with viewer(server.port, f"/watch/{peers[0].code}") as page:
            await page.receive()
            again = await peers[0].answer(messages.Seated, messages.Rematch)
            await page.until("result", f'<a href="{again.table}">')
            await changed(server, peers[0], Private(on=True))
        async with viewer(server.port, f"/watch/{peers[1].code}") as later:
            assert again.table not in (await later.receive())["result"]


async def test_a_page_goes_on_with_the_players_when_their_next_game_begins() -> None:
    """Not before, but even in the middle of the scoring; who opens the finished game's page later stays."""
    pages = WebPages(characters_per_second=1e-3)
    async with running(Config(pages=pages)) as server, game(server.port, 2) as peers:
        code = peers[0].code
        path = f"/watch/{code}"
        async with viewer(server.port, path) as page:
            await page.receive()
            await play_on(peers, random.Random(1))
            await page.until("now", "wolves turn up")
            again = [await rematch(peer) for peer in peers]
            async with connected(server.port) as another:  # shows that the page has seen the next table
                await another.watch(code)
                await page.until("players", "2 spectators")
            await page.until("players", "1 spectator")
            assert "moved" not in page.parts
            await peers[0].done(messages.StartGame)
            await page.until("moved", again[0].table)
        async with viewer(server.port, path) as later:
            assert again[0].table in (await later.receive())["result"]
            assert "moved" not in later.parts
