"""The page for a television: it follows the games by itself, and shows what spectators may see."""

import contextlib
import random
import re
import secrets
from dataclasses import replace

import pytest

from client.ui.web.pages import WebPages
from protocol.admin import EveningPlan
from protocol.messages import ChangeSetting, OpenTable, SignUp, StartGame
from protocol.settings import Spectators
from server.app import running
from server.config import Config, Limits
from server.web import subjects
from tests.server.peer import connected, full_table, game, play_on
from tests.server.web.viewer import asked, viewer

PAGES = WebPages(1e6)
WORD = "Aventinus"
CONFIG = Config(pages=PAGES, limits=Limits(pages_cpu=1.0))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an hour pass in some seconds."""
    monkeypatch.setattr(subjects, "_SECONDS_AT_A_TABLE", 2)
    monkeypatch.setattr(subjects, "_SECONDS_FOR_A_RESULT", 2)
    monkeypatch.setattr(subjects, "_SECONDS_FOR_STANDINGS", 2)


async def test_the_game_that_ends_first_is_large_until_its_result_has_been_seen() -> None:
    """Then comes the next one, and between the games what comes next."""
    async with (
        running(CONFIG) as server,
        game(server.port, 2) as first,
        game(server.port, 3) as second,
        viewer(server.port, "/tv") as page,
    ):
        await play_on(second, random.Random(1), 30)
        await page.until("players", "Player 2")
        await page.until("small0", first[0].code)
        await play_on(first, random.Random(2), 30)
        while "Player 2" in page.parts["players"]:
            await page.receive()
        assert second[0].code in page.parts["small0"]
        await play_on(first, random.Random(3))
        await page.until("now", "wins")
        assert "<table>" in page.parts["result"]
        await page.until("players", "Player 2")
        assert page.parts["small0"] == ""
        await play_on(second, random.Random(4))
        await page.until("waiting", "No game is being played.")
        assert page.parts["hex0"] == ""


async def test_a_television_is_shown_nothing_that_a_spectator_is_not() -> None:
    """R4.2: no wolf's kind before the scoring, and nothing of tables that nobody may watch."""
    async with (
        running(CONFIG) as server,
        game(server.port, 5, watched=True) as shown,
        game(server.port, 4, watched=True) as small,
        full_table(server.port, 2) as closed,
        connected(server.port) as private,
        viewer(server.port, "/tv") as page,
    ):
        await closed[0].done(ChangeSetting, Spectators(allowed=False))
        await closed[0].done(StartGame)
        await private.ask(OpenTable, 2, "Hidden", private=True)
        for moves in (5, 12):
            await play_on(shown, random.Random(moves), moves)
            await play_on(small, random.Random(moves), moves - 1)
        drawn = set()
        for spectator in (shown[-1], small[-1]):
            state = subjects.public_state(server.lobby.tables[spectator.code].as_seen(), server.lobby.public)
            drawn.add(PAGES.small("en", state, spectator.sight))
        while page.parts.get("small0") not in drawn:
            await page.receive()
        sent = "".join(page.received)
    assert not re.search(r"\b[ESLMA][mf]\*", sent)
    assert re.search(r"\b[ESLMA]\?\*", sent)
    for code in (closed[0].code, private.code, "Hidden"):
        assert code not in sent


async def test_between_the_games_an_evening_shows_who_plays_next_and_the_standings() -> None:
    """With names that look like HTML as text, and one URL for all that is to come."""
    names = ("<b>Anna", "Bruno", "Carla")
    config = replace(CONFIG, evening=EveningPlan("Idus <i>", rounds=3))
    async with (
        running(config) as server,
        contextlib.AsyncExitStack() as stack,
        viewer(server.port, "/tv") as page,
    ):
        for name in names:
            peer = await stack.enter_async_context(connected(server.port))
            await peer.ask(SignUp, name, secrets.token_urlsafe(32))
        await page.until("waiting", "Carla")
        assert server.lobby.evening is not None
        server.lobby.evening.draw_now()
        await page.until("waiting", "Next games")
        told = page.parts["waiting"]
    assert "Round 1 of " in told
    assert "<b>" not in told
    assert "<i>" not in told
    seated = told[told.index("Next games") : told.index("Standings")]
    assert all(name.removeprefix("<b>") in seated for name in names)


async def test_a_television_joins_everybody_and_needs_no_evening() -> None:
    """The page has a code to join; with a password it shows as little as the others."""
    async with running(CONFIG) as server:
        page = await asked(server.port, "/tv")
        assert f"QR code that leads to http://127.0.0.1:{server.port}/" in page.text
        assert page.headers["content-security-policy"]
        assert len(page.body) < 60_000
    async with running(replace(CONFIG, password=WORD)) as server:
        assert (await asked(server.port, "/tv")).status == 403
