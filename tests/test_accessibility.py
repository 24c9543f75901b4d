"""The pages for those who hear them, go through them by keys, enlarge them, or cannot bear what moves."""

import json
import random
from collections.abc import Iterator
from importlib.resources import files

import pytest

from engine.view import Phase
from pages.drawing.pages import WebPages
from pages.shared import OnTelevision
from protocol.admin import EveningPlan
from protocol.messages import ChangeSetting, Say, StartGame
from protocol.settings import Spectators
from server.app import running
from server.config import Config
from tests.browser import PHONE, Tab, browser, tab
from tests.pages.drawing.test_pages import evening
from tests.pages.serving.viewer import web_server
from tests.server.peer import connected
from tests.server.playing import game, play_on
from tests.test_browser import NAMELESS, PIECES, TURN, join, move, sign_up

AXE = files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with browser(tmp_path_factory.mktemp("browser")) as where:
        yield where


async def faults(page: Tab) -> list[str]:
    """Return what axe-core finds on the page as it is now, in a light theme and in a dark one."""
    await page.value(f"if (!window.axe) {{ {AXE} }} 0")
    found = []
    for dark in (False, True):
        await page.prefer(dark=dark)
        await page.value(
            "faults = null; axe.run(document, {resultTypes: ['violations']}).then(({violations}) => {"
            "faults = violations.flatMap(({id, nodes}) => nodes.map(({html}) => id + html)); }); 0"
        )
        await page.until("faults")
        found += await page.value("faults")
    await page.prefer(dark=False)
    return found


@pytest.mark.slow
async def test_axe_finds_nothing_where_people_come_in_watch_and_wait(chromium: str) -> None:
    config = Config(pages=WebPages(1e6), evening=EveningPlan("Friday", rounds=2))
    async with running(config) as server, game(server.port, 3) as peers, tab(chromium) as page:
        home = f"http://127.0.0.1:{server.port}"
        await page.go(f"{home}/")
        await page.until("document.querySelector('#tables a')")
        assert await faults(page) == []
        await page.go(f"{home}/play/")
        await page.until(NAMELESS)
        assert await faults(page) == []
        await page.go(f"{home}/watch/ABCD")
        assert await faults(page) == []
        await page.go(f"{home}/watch/{peers[0].code}")
        await play_on(peers, random.Random(1), 8)
        await page.until(f"{PIECES} > 2")
        assert await faults(page) == []
        await play_on(peers, random.Random(1))
        await page.until("document.querySelector('#result table')")
        assert await faults(page) == []
        await sign_up(page, server.port, "Anna")
        assert await faults(page) == []
        await page.go(f"{home}/host#{await server.lobby.evenings.host_key.renew()}")
        await page.until("document.querySelector('#evening details')")
        await page.value("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert await faults(page) == []


@pytest.mark.slow
async def test_axe_finds_nothing_where_a_password_is_asked_for(chromium: str) -> None:
    config = Config(pages=WebPages(1e6), password="arx")  # noqa: S106 - a test's own
    async with running(config) as server, tab(chromium) as page:
        for place in ("", "play/", "watch/ABCD", "tv"):
            await page.go(f"http://127.0.0.1:{server.port}/{place}")
            assert await faults(page) == []
            if place == "play/":
                await page.until("document.querySelector('#join [name=password]')")
                assert await faults(page) == []


@pytest.mark.slow
@pytest.mark.parametrize("size", [PHONE, (1280, 900)])
async def test_axe_finds_nothing_at_a_seat(chromium: str, size: tuple[int, int]) -> None:
    """While it waits, lays a tile, places a piece, and shows the menu and the rules."""
    async with web_server() as server, connected(server.port) as host, tab(chromium) as page:
        await page.resize(*size)
        code = (await host.open(2, "Anna", starting=1)).table
        await join(page, server.port, code, "Bruno")
        await host.done(Say(host.next_id(), "Ave"))
        assert await faults(page) == []
        await host.done(StartGame(host.next_id()))
        await page.until("document.querySelector('#ask .main') && document.querySelector('.touch')")
        assert await faults(page) == []
        chooser = random.Random(1)
        while (game := server.lobby.tables[code].state.game) is not None and game.view.phase is Phase.LAYING:
            if game.view.turn == 1:
                await move(page, chooser)
                continue
            while host.legal is None:
                await host.news()
            await host.done(host.random_move(chooser))
        await page.until("document.querySelectorAll('#hand button').length > 2")
        assert await faults(page) == []
        await page.value("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert await faults(page) == []


@pytest.mark.slow
async def test_axe_finds_nothing_on_a_television(chromium: str) -> None:
    async with web_server(pages_cpu=1.0) as server, game(server.port, 3) as peers, tab(chromium) as page:
        await page.resize(1920, 1080)
        await play_on(peers, random.Random(1), 8)
        await page.go(f"http://127.0.0.1:{server.port}/tv")
        await page.until(f"{PIECES} > 2")
        assert await faults(page) == []
        for shown in (evening(9, "gathering"), evening(9, None), evening(9, None, over=True)):
            parts = WebPages().on_tv("en", OnTelevision({}, [], 0, [], shown))
            await page.value(f"show({json.dumps(parts)}); 0")
            assert await faults(page) == []


@pytest.mark.slow
async def test_a_game_is_played_by_keys_alone(chromium: str) -> None:
    """The board is one stop, over which arrows walk; after a move, the focus is on it still."""
    async with web_server() as server, connected(server.port) as host, tab(chromium) as page:
        code = (await host.open(2, "Anna", starting=1, random_layout=True)).table
        await join(page, server.port, code, "Bruno")
        await host.done(StartGame(host.next_id()))
        await page.until("document.querySelectorAll('#hand button').length > 2")
        assert await page.value("document.querySelectorAll('.touch[tabindex=\"0\"]').length") == 1
        for turn in range(2):
            await page.value("document.querySelector('#hand button:enabled').focus()")
            await page.press("Enter")
            await page.value("document.querySelector('.touch[tabindex=\"0\"]').focus()")
            walked = []
            for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowLeft"):
                await page.press(key)
                walked.append(await page.value("document.activeElement.dataset.choose"))
            assert len(set(walked)) > 1
            await page.press(" ")
            await page.until("document.querySelector('#ask .main')")
            assert await page.value("document.activeElement.dataset.choose") == walked[-1]
            assert await page.value("scrollY") == 0
            await page.value("document.querySelector('#ask .main').focus()")
            await page.press("Enter")
            await page.until(f"{PIECES} === {2 * turn + 1} && !{TURN}")
            await page.until("document.activeElement.matches('.touch[tabindex=\"0\"]')")
            await host.caught_up(3 + 2 * turn + 1)
            await host.done(host.random_move(random.Random(turn)))
            await page.until(f"{TURN} && {PIECES} === {2 * turn + 2}")
            assert await page.value("document.activeElement.matches('.touch')")
        assert page.complaints == []


@pytest.mark.slow
async def test_arrow_keys_lead_from_any_field_to_any_other(chromium: str) -> None:
    """However few of them can be touched."""
    reached = (
        "fields = [...document.querySelectorAll('.touch')]; fields.every((from) => { "
        "const seen = new Set([from]), ways = Object.values(directions); "
        "for (const each of seen) for (const way of ways) seen.add(beside(each, way) ?? from); "
        "return seen.size === fields.length; })"
    )
    async with web_server() as server, connected(server.port) as host, tab(chromium) as page:
        code = (await host.open(2, "Anna", starting=1, random_layout=True)).table
        await join(page, server.port, code, "Bruno")
        await host.done(StartGame(host.next_id()))
        await page.until("document.querySelectorAll('.touch').length === 42")
        chooser = random.Random(1)
        for left in range(42, 1, -1):
            assert await page.value(reached)
            await page.value(f"fields[{chooser.randrange(left)}].remove()")


@pytest.mark.slow
async def test_what_is_open_typed_or_has_the_focus_stays_when_the_page_changes(chromium: str) -> None:
    """Whatever the others do meanwhile."""
    async with web_server() as server, connected(server.port) as host, tab(chromium) as page:
        code = (await host.open(2, "Anna", random_layout=True)).table
        await join(page, server.port, code, "Bruno")
        await host.done(StartGame(host.next_id()))
        await page.until("document.querySelector('#menu input')")
        await page.value("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        await page.value("field = document.querySelector('#menu input'); field.value = '2030-01-01T10:00'; 0")
        await page.value("field.focus(); opened = document.querySelectorAll('details[open]').length; 0")
        await page.value("before = document.querySelector('#menu').innerHTML; 0")
        await host.done(ChangeSetting(host.next_id(), Spectators(on=False)))
        await page.until("document.querySelector('#menu').innerHTML !== before")
        await host.done(Say(host.next_id(), "Ave"))
        await page.until("document.querySelector('#said li')")
        assert await page.value("document.querySelectorAll('details[open]').length - opened") == 0
        assert await page.value("document.activeElement === field && field.value") == "2030-01-01T10:00"


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height"), [(640, 400), (320, 256)])
async def test_a_page_can_be_enlarged(chromium: str, width: int, height: int) -> None:
    """By 200 % and 400 % of 1280x800 and 1280x1024, as WCAG asks: it scrolls in one direction at most."""
    async with web_server() as server, connected(server.port) as host, tab(chromium) as page:
        await page.resize(width, height)
        code = (await host.open(2, "Anna", starting=1, random_layout=True)).table
        await join(page, server.port, code, "Bruno")
        await host.done(StartGame(host.next_id()))
        await page.until("document.querySelectorAll('#hand button').length > 2")
        assert await page.value("document.documentElement.scrollWidth") == width
        await move(page, random.Random(1))


@pytest.mark.slow
async def test_nothing_moves_for_those_who_do_not_want_that(chromium: str) -> None:
    async with web_server() as server, connected(server.port) as host, tab(chromium) as page:
        await page.prefer(still=True)
        code = (await host.open(2, "Anna", starting=0, random_layout=True)).table
        await join(page, server.port, code, "Bruno")
        await host.done(StartGame(host.next_id()))
        await page.value("moving = []; setInterval(() => moving.push(...document.getAnimations()), 1); 0")
        await page.value("busy = -Infinity")
        await host.done(host.random_move(random.Random(1)))
        await page.until(f"{TURN} && {PIECES} === 1 && part('called').hidden")
        assert await page.value("moving.length") == 0
