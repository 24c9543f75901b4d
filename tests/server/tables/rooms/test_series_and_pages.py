"""The pages of a finished game, and of its players, lead to the next one."""

import random

from pages.drawing.pages import WebPages
from protocol import messages
from protocol.codes import Code
from protocol.settings import Private, Spectators
from server.app import running
from server.config import Config
from tests.pages.serving.viewer import player_page, seated_in_browser, viewer, web_server
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


async def test_who_comes_too_late_watches_and_is_led_to_a_seat_in_the_next_game() -> None:
    """A table that nobody may watch is no place to be led to."""
    async with web_server() as server, game(server.port, 2) as peers:
        code = peers[0].code
        async with player_page(server.port, code) as late, viewer(server.port, f"/watch/{code}") as page:
            assert await late.refusal(messages.JoinTable, code, "Late") == Code.GAME_RUNNING
            await late.until_shown(lambda parts: parts.get("moved") == f"../watch/{code}")
            await page.until("play", "as soon as one is free")
            await play_on(peers, random.Random(1))
            await rematch(peers[0])
            await rematch(peers[1])
            await peers[1].done(messages.Leave)
            await page.until("play", f"../play/{peers[0].code}")
            await late.join(peers[0].code, "Late")
        await changed(server, peers[0], Spectators(on=False))
        await peers[0].done(messages.StartGame)
        async with player_page(server.port, code) as later:
            await later.refusal(messages.JoinTable, peers[0].code, "Late")
            await later.until_shown(lambda parts: "has begun" in parts.get("refusal", ""))


async def test_a_player_in_a_browser_hears_who_plays_again() -> None:
    async with seated_in_browser() as (host, page):
        await host.send(messages.StartGame(host.next_id()))
        await page.news()
        await host.news()
        await play_on([host, page], random.Random(1))
        await rematch(host)
        await page.until_shown(lambda parts: "Host plays again." in parts.get("ask", ""))
        assert "rematch" in page.parts["ask"]
