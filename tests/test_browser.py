"""The pages in a real browser of a phone's size, and of a television's."""

import contextlib
import hashlib
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from client.language import LANGUAGES
from client.ui.screens.scoring import last_step
from engine.events import GameStarted
from engine.game import GameOptions
from engine.pieces import Seat
from engine.redaction import redacted, snapshot
from engine.view import SPECTATOR, eyes_of
from pages.drawing.pages import WebPages
from pages.drawing.table_parts import table_parts
from pages.serving import television
from pages.shared import SMALL_TABLES, MoveChoice, OnTelevision, PlayerHand
from protocol.absence import MoveClock
from protocol.admin import EveningPlan
from protocol.codes import Code
from protocol.messages import (
    Announced,
    AskPause,
    ChangeSetting,
    EnterLobby,
    Online,
    PersonOnline,
    Refused,
    Resume,
    Said,
    SaidInLobby,
    Say,
    SayInLobby,
    SignUp,
    StartGame,
    TableState,
)
from protocol.settings import Private, Title
from server.app import running
from server.config import Config
from tests.browser import PHONE, Tab, browser, tab
from tests.games import played, some_command
from tests.line import line_to
from tests.pages.drawing.test_pages import evening, table
from tests.pages.serving.viewer import web_server
from tests.server.cluster.running_cluster import LONG_LEASE
from tests.server.peer import Peer, all_connected, connected, eventually
from tests.server.playing import changed, full_table, game, play_on, rematch, table_of
from tests.server.tables.calling import called_by_url

pytestmark = pytest.mark.slow

PIECES = "document.querySelectorAll('.board .piece').length"
HOSTILE = ("<b onclick=x()>A</b>", "'\"><img src=x>", "<script>x()</script>")


ASKED = "document.querySelector('#link') && !document.querySelector('#link').hidden"
NAMELESS = "document.querySelector('#join') && !document.querySelector('#join').hidden"
# Instead of taking in the next answer of this kind.
LOSE = (
    "hears = take; take = (m) => {{ if (m.t === '{answer}') {{ take = hears; {then}; }} else hears(m); }}; 0"
)
TURN = "/^(Your turn|Tocca a te)/.test(document.querySelector('#now').innerText)"


async def join(page: Tab, port: int, code: str, name: str) -> None:
    """Go from the table's page, where a QR code leads, to a seat."""
    await page.go(f"http://127.0.0.1:{port}/watch/{code}")
    await page.until("document.querySelector('#play a')")
    await page.click("#play a")
    await page.until("location.pathname.startsWith('/play/') && document.readyState === 'complete'")
    await page.value(f"document.querySelector('#join input').value = {json.dumps(name)}")
    await page.click("#join button")
    await page.until("document.querySelector('#menu button')")


async def move(page: Tab, chooser: random.Random) -> None:
    """Make a random move by touching what the page offers, once it is this player's turn."""
    await page.until(f"{TURN} && document.title.startsWith('* ')")
    if await page.value("document.querySelector('#ask .main') === null"):
        for choices in ("#hand button:enabled", ".board .touch"):
            number = await page.value(f"document.querySelectorAll('{choices}').length")
            chosen = f"document.querySelectorAll('{choices}')[{chooser.randrange(number)}]"
            await page.value(f"{chosen}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
        await page.until("document.querySelector('#ask .main')")
    await page.click("#ask .main")
    await page.until(f"!{TURN}")


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with browser(tmp_path_factory.mktemp("browser")) as where:
        yield where


async def test_a_phone_follows_a_game_move_by_move(chromium: str) -> None:
    """From the list to the table, to the scoring; nothing is wider than the phone, nothing was refused."""
    async with running(Config(pages=WebPages(1000))) as server, game(server.port, 3) as peers:
        code = peers[0].code
        async with tab(chromium) as page:
            await page.go(f"http://127.0.0.1:{server.port}/")
            assert "Player 0 · 3 of 3 · playing" in await page.text("#tables")
            assert await page.text("code") == f"palatinus join ws://127.0.0.1:{server.port}"
            await page.click("#tables a")
            await page.until("document.querySelectorAll('#players li').length > 3")
            assert await page.value("document.title") == f"Table {code} - Palatinus"
            assert "1 spectator" in await page.text("#players")
            for moves in range(1, 4):
                await play_on(peers, random.Random(moves), 1)
                await page.until(f"{PIECES} === {moves}")
            assert "Player 2 places" in await page.text("#moves li")
            assert await page.text("#now") == "Player 0's turn to place"
            width = await page.value("document.documentElement.scrollWidth")
            assert width == PHONE[0]
            board = await page.value("document.querySelector('.board').getBoundingClientRect().width")
            assert board > 300
            await play_on(peers, random.Random(4))
            await page.until("document.querySelector('#now').innerText.includes('wolves turn up')")
            await page.until("document.querySelector('.board .now')")
            assert "points" in await page.text("#players .amount")
            assert page.complaints == []


async def test_a_page_comes_back_by_itself_when_the_server_does(chromium: str, tmp_path: Path) -> None:
    """It says that the connection is lost, tries again, and goes on where the table is."""
    config = Config(pages=WebPages(), data=tmp_path)
    async with tab(chromium) as page:
        async with running(config) as server, game(server.port, 2) as peers:
            code, tokens = peers[0].code, [peer.token for peer in peers]
            await page.go(f"http://127.0.0.1:{server.port}/watch/{code}")
            await play_on(peers, random.Random(1), 3)
            await page.until(f"{PIECES} === 3")
        await page.until("!document.getElementById('lost').hidden")
        assert "lost" in await page.text("#lost")
        async with (
            running(replace(config, port=server.port)),
            connected(server.port) as one,
            connected(server.port) as two,
        ):
            for peer, token in zip((one, two), tokens, strict=True):
                await peer.resume(code, token)
                await peer.news()
            await play_on((one, two), random.Random(2), 1)
            await page.until(f"document.getElementById('lost').hidden && {PIECES} === 4")


async def test_a_link_keeps_the_focus_while_the_list_goes_on(chromium: str) -> None:
    """Who goes through the list by keys is not sent back to its beginning by every new table."""
    async with web_server() as server, connected(server.port) as one, connected(server.port) as two:
        await one.open(2, "Anna")
        async with tab(chromium) as page:
            await page.go(f"http://127.0.0.1:{server.port}/")
            await page.value("document.querySelector('#tables a').focus()")
            await two.open(2, "Berta")
            await page.until("document.querySelectorAll('#tables a').length === 2")
            focused = await page.value("document.activeElement.getAttribute('href')")
            assert focused == f"watch/{one.code}"


async def test_hostile_names_are_text(chromium: str) -> None:
    """Names and titles that look like HTML show as they are; no element, handler or request comes of them."""
    async with web_server() as server, contextlib.AsyncExitStack() as stack:
        host, *others = [await stack.enter_async_context(connected(server.port)) for _ in HOSTILE]
        code = (await host.open(3, HOSTILE[0])).table
        for peer, name in zip(others, HOSTILE[1:], strict=True):
            await peer.join(code, name)
        await host.done(ChangeSetting(host.next_id(), Title("</p><script>x()</script>")))
        page = await stack.enter_async_context(tab(chromium))
        await page.go(f"http://127.0.0.1:{server.port}/")
        assert HOSTILE[0] in await page.text("#tables")
        await page.go(f"http://127.0.0.1:{server.port}/watch/{code}")
        await page.until("document.querySelectorAll('#players li').length > 3")
        told = await page.text("#players")
        assert all(name in told for name in HOSTILE)
        assert await page.text("#title") == "</p><script>x()</script>"
        assert await page.value("document.querySelectorAll('main script, main b, main img').length") == 0
        assert page.complaints == []


async def test_without_javascript_the_list_is_there_and_a_table_says_what_to_do(chromium: str) -> None:
    """The list is loaded again and again; a table points to the command."""
    async with (
        web_server() as server,
        full_table(server.port, 2) as peers,
        tab(chromium, scripts=False) as page,
    ):
        await page.go(f"http://127.0.0.1:{server.port}/")
        assert peers[0].code in await page.text("#tables")
        assert await page.text("code")
        await page.go(f"http://127.0.0.1:{server.port}/watch/{peers[0].code}")
        assert "JavaScript" in await page.text("main")
        assert peers[0].code in await page.text("code")


async def test_a_dark_page_in_italian_is_readable_and_the_command_can_be_copied(chromium: str) -> None:
    """The browser's language and theme count, also for what comes later; the button copies without HTTPS."""
    async with (
        web_server() as server,
        game(server.port, 2) as peers,
        tab(chromium, dark=True, language="it-IT,it") as page,
    ):
        await page.go(f"http://127.0.0.1:{server.port}/watch/{peers[0].code}")
        await page.until("document.querySelectorAll('#players li').length > 2")
        assert await page.value("document.documentElement.lang") == "it"
        assert "Tocca a Player 0" in await page.text("#now")
        ground = await page.value("getComputedStyle(document.body).backgroundColor")
        assert ground == "rgb(27, 26, 24)"
        assert await page.value("document.querySelector('.board').getAttribute('aria-label')")
        await page.value("document.querySelector('.in-words').open = true")
        assert "A1" in await page.text("#words")
        await page.click("button")
        copied = await page.value("getSelection().toString()")
        assert copied == f"palatinus join ws://127.0.0.1:{server.port} {peers[0].code} --watch"
        assert page.complaints == []


async def test_a_television_shows_everything_without_scrolling_and_follows_the_players(chromium: str) -> None:
    """The board, the game and its result fill the screen in large type; the next game comes automatically."""
    async with (
        running(Config(pages=WebPages(1e6))) as server,
        game(server.port, 5) as peers,
        tab(chromium) as page,
    ):
        await page.resize(1920, 1080)
        await page.go(f"http://127.0.0.1:{server.port}/watch/{peers[0].code}?lang=it")
        await page.until(f"{PIECES} === 0 && document.querySelectorAll('#players li').length > 5")
        await play_on(peers, random.Random(1))
        await page.until("document.querySelector('#result table')")
        table = await page.value("JSON.stringify(document.querySelector('#result').getBoundingClientRect())")
        board = await page.value("JSON.stringify(document.querySelector('.board').getBoundingClientRect())")
        assert json.loads(table)["bottom"] < 1080
        assert json.loads(table)["right"] > 1800
        assert json.loads(board)["height"] > 900
        assert await page.value("parseFloat(getComputedStyle(document.body).fontSize)") > 20
        again = [await rematch(peer) for peer in peers]
        await page.until("document.querySelector('#result a')")
        await peers[0].done(StartGame(peers[0].next_id()))
        await page.until(f"location.pathname.endsWith('/{again[0].table}') && {PIECES} === 0")
        assert await page.value("document.documentElement.lang") == "it"
        assert page.complaints == []


async def test_a_television_shows_all_tables_in_type_that_is_read_across_a_room(
    chromium: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is cut off or scrolled at 1920x1080, with one table or with twelve."""
    monkeypatch.setattr(television, "_SECONDS_BETWEEN_LOOKS", 0.01)
    async with (
        web_server(pages_cpu=1.0) as server,
        contextlib.AsyncExitStack() as stack,
        tab(chromium) as page,
    ):
        await page.resize(1920, 1080)
        await page.go(f"http://127.0.0.1:{server.port}/tv")
        await page.until("document.querySelector('#waiting h2')")
        for players, tables in ((5, 1), (2, 3), (3, 12)):
            while len(server.lobby.tables) < tables:
                peers = await stack.enter_async_context(game(server.port, players))
                await play_on(peers, random.Random(tables), 8)
            small = min(tables - 1, SMALL_TABLES)
            await page.until(f"document.querySelectorAll('#small div > .board').length === {small}")
            assert await page.value("document.documentElement.scrollHeight") <= 1080
            inside = "[...document.querySelectorAll('#small > *, #players, #now')].every(one => {"
            inside += (
                "const box = one.getBoundingClientRect(); return box.bottom <= 1080 && box.right <= 1920; })"
            )
            assert await page.value(inside)
            sizes = (
                "[...document.querySelectorAll('main p, main li, main span')].filter(one => one.offsetHeight)"
            )
            smallest = f"Math.min(...{sizes}.map(one => parseFloat(getComputedStyle(one).fontSize)))"
            assert await page.value(smallest) >= 27  # 1/40 of the height
        assert page.complaints == []


async def test_nothing_lies_under_the_code_on_a_television(chromium: str) -> None:
    """At any step of a scoring, while no other game runs."""
    view = snapshot(played(GameOptions(5, random_layout=True), 3).view, SPECTATOR)
    told = "document.querySelector('#moves').getBoundingClientRect().bottom"
    code = "document.querySelector('#joins').getBoundingClientRect().top"
    async with web_server() as server, tab(chromium) as page:
        await page.resize(1920, 1080)
        await page.go(f"http://127.0.0.1:{server.port}/tv")
        await page.until("document.querySelector('#waiting h2')")
        step = 0
        while True:
            large, due = WebPages().table("en", table(5, "over"), view, [], step, within=50.0)
            if due is None:
                break
            shown = WebPages().on_tv("en", OnTelevision(large, [], 0, [], evening(9, "playing")))
            await page.value(f"show({json.dumps(shown)}); 0")
            assert await page.value(f"{told} <= {code}"), large["moves"]
            step += 1


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_television_shows_a_whole_evening_without_scrolling(chromium: str, language: str) -> None:
    """The call, the standings and the podium of ten people or of eighty; the seconds are counted."""
    async with web_server() as server, tab(chromium, language=language) as page:
        await page.resize(1920, 1080)
        await page.go(f"http://127.0.0.1:{server.port}/tv")
        await page.until("document.querySelector('#waiting h2')")
        for people in (10, 40, 80):
            for shown in (
                evening(people, "gathering"),
                evening(people, None),
                evening(people, None, over=True),
                evening(people, "playing"),
            ):
                parts = WebPages().on_tv(language, OnTelevision({}, [], 0, [], shown))
                await page.value(f"show({json.dumps(parts)}); 0")
                inside = (
                    "[...document.querySelectorAll('#waiting li, #waiting p, #joins, #strip')].every(one => {"
                )
                inside += "const box = one.getBoundingClientRect(); return box.bottom <= 1080; })"
                assert await page.value(inside)
                assert await page.value("document.documentElement.scrollHeight") <= 1080
        await page.until("document.querySelector('#strip b').innerText === '1:14'")
        assert page.complaints == []


async def test_a_phone_takes_a_seat_talks_moves_and_comes_back(chromium: str) -> None:
    """What can be touched is large and on the screen; the seat is the browser's own, and in no address."""
    async with web_server() as server, connected(server.port) as host, tab(chromium) as page:
        code = (await host.open(2, "Anna", starting=1, random_layout=True, absence=MoveClock(3599))).table
        await join(page, server.port, code, "<b>Bruno")
        await host.done(Say(host.next_id(), "Salve <i>"))
        await page.until("document.querySelector('#said').innerText.includes('Anna Salve <i>')")
        await page.value("document.querySelector('#words-said').value = 'Ave'")
        await page.click("#say button")
        assert (await host.until(Said)).text == "Ave"
        server.clients.broadcast(Announced("Down <b>at ten."))
        await page.until("document.querySelector('#said').innerText.includes('server: Down <b>at ten.')")
        await host.send(StartGame(host.next_id()))
        await page.until("document.querySelectorAll('#hand button').length > 5")
        assert await page.value("document.querySelector('#hand button').getBoundingClientRect().height") >= 44
        assert await page.value("document.documentElement.scrollWidth") == PHONE[0]
        await page.until("/^[1-5][0-9]:[0-5][0-9]$/.test(document.querySelector('#clock').innerText)")
        lines = ["", "palatinus", "x" * 55, "x" * 56, "x" * 64, "x" * 200]
        hashes = await page.value(f"{lines}.map(hashed)")
        assert hashes == [hashlib.sha256(line.encode()).hexdigest() for line in lines]
        assert await page.value("[299, 5400, 270000].map(duration)") == ["4:59", "1 hr 30 min", "3 days 3 hr"]
        await move(page, random.Random(1))
        await host.caught_up(4)
        draws = next(each for each in host.seen if isinstance(each, GameStarted)).draws
        assert draws is not None
        assert draws.shares[1] == await page.value("call.share")
        await page.value("witness({t: 'ended', seed: '0'.repeat(64)})")
        assert "DO NOT TRUST THE DRAWS OF THIS GAME: the server's seed" in await page.text("#said")
        await page.click("#look button")
        await page.until(f"{PIECES} === 0 && document.querySelectorAll('.touch').length === 0")
        assert await page.value("document.documentElement.scrollWidth") == PHONE[0]
        await page.click("#ask .main")
        await page.until(f"{PIECES} === 1")
        await page.go(f"http://127.0.0.1:{server.port}/")
        await page.value(f"document.querySelector('#find input').value = '{code.lower()}'")
        await page.click("#find button")
        await page.until(f"location.pathname === '/play/{code}' && {PIECES} > 0")
        await page.go(f"http://127.0.0.1:{server.port}/watch/{code}")
        await page.click("#back")
        await page.until(f"location.pathname === '/play/{code}' && {PIECES} > 0")
        assert await page.value("location.search + location.hash") == ""
        assert await page.value("document.querySelectorAll('main i, main bdi b').length") == 0
        await page.value("dead = socket; dead.send = () => {}; dead.onmessage = null")  # as in a pocket
        await host.done(host.random_move(random.Random(2)))
        await page.value("document.dispatchEvent(new Event('visibilitychange'))")
        await page.until("socket !== dead")
        await move(page, random.Random(3))
        assert page.complaints == []


@pytest.mark.parametrize("size", [(360, 640), (390, 844), (430, 932), (844, 390), (640, 360)])
async def test_a_phone_makes_a_move_without_scrolling(chromium: str, size: tuple[int, int]) -> None:
    """Board, hand and button are in view, numbers can be read, and what is touched shows at once."""
    width, height = size
    async with web_server() as server, connected(server.port) as host, tab(chromium) as page:
        await page.resize(width, height)
        code = (await host.open(2, "Anna", starting=1, random_layout=True)).table
        await join(page, server.port, code, "Bruno")
        await host.done(StartGame(host.next_id()))
        await page.until("document.querySelectorAll('#hand button').length > 2 && scrollY === 0")
        await page.value("sends = socket.send.bind(socket); socket.send = () => {}; 0")
        await page.value("document.querySelectorAll('#hand button:enabled')[1].click()")
        assert await page.value("document.querySelectorAll('#hand [aria-pressed=true]').length") == 1
        await page.value("socket.send = sends; document.querySelectorAll('#hand button')[1].click()")
        for field in (3, 7):
            touch = f"document.querySelectorAll('.board .touch')[{field}]"
            await page.value(f"{touch}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
        await page.until("document.querySelector('#ask .main')")
        seen = "['.board', '#hand', '#ask .main', '#players', '#now'].every((each) => {"
        seen += "const box = document.querySelector(each).getBoundingClientRect();"
        seen += f"return box.top >= 0 && box.bottom <= {height} && box.right <= {width}; }})"
        assert await page.value(seen)
        assert await page.value("document.documentElement.scrollWidth") == width
        scale = "document.querySelector('.board').getScreenCTM().a"
        sizes = "[...document.querySelectorAll('.board .worth, .board .spot')]"
        sizes += ".map((each) => parseFloat(getComputedStyle(each).fontSize))"
        smallest = await page.value(f"{scale} * Math.min(...{sizes})")
        assert smallest >= 11 or height == 360  # where the board itself is small
        await page.value("part('said').innerHTML = '<li>Salve'.repeat(30); tell('Anna', 'Ave')")
        assert await page.value("scrollY") == 0
        await page.click("#ask .main")
        await page.until(f"{PIECES} > 0 && !{TURN}")
        await page.click(".sheet summary")
        assert "soldiers take captives" in await page.text(".sheet div")
        assert page.complaints == []


async def test_a_phone_on_the_table_is_called_to_its_turn(chromium: str) -> None:
    """By vibration, a sound unless it is not wanted, and the whole screen; not whoever is playing already."""
    async with web_server() as server, connected(server.port) as host, tab(chromium) as page:
        code = (await host.open(2, "Anna", starting=0, random_layout=True)).table
        await join(page, server.port, code, "Bruno")
        assert await page.value("localStorage.getItem('silent')") is None
        await page.value(
            "Object.defineProperty(navigator, 'userActivation', {value: {hasBeenActive: true}}); 0"
        )
        await page.value("busy = -Infinity; shaken = 0; navigator.vibrate = () => { shaken++; }; 0")
        await page.value(
            "rung = 0; audio = new AudioContext(); oscillator = audio.createOscillator.bind(audio); 0"
        )
        await page.value("audio.createOscillator = () => { rung++; return oscillator(); }; 0")
        await host.done(StartGame(host.next_id()))
        await host.done(host.random_move(random.Random(1)))
        await page.until("!part('called').hidden && part('called').className.includes('people-')")
        assert await page.text("#called") == "Your turn"
        await page.until("part('called').hidden")
        assert await page.value("[shaken, rung]") == [1, 2]
        await move(page, random.Random(2))
        await host.caught_up(5)
        await page.value("busy = Infinity")  # as if it were being touched
        await host.done(host.random_move(random.Random(3)))
        await move(page, random.Random(4))
        await host.caught_up(7)
        await page.value("busy = -Infinity; localStorage.setItem('silent', 'yes')")
        await host.done(host.random_move(random.Random(5)))
        await page.until(f"{TURN} && shaken === 2")
        assert await page.value("rung") == 2
        assert page.complaints == []


async def test_a_phone_that_waits_hears_who_comes_to_the_lobby_and_invites_them(chromium: str) -> None:
    """And what is said there. It is listed itself, as what it is; who was there before it is no news."""
    async with web_server() as server, all_connected(server.port, 3) as (host, gina, emma):
        code = (await host.open(4, "Anna")).table
        await gina.done(EnterLobby, "Gina", by="terminal")
        async with tab(chromium) as page:
            await join(page, server.port, code, "Bruno")
            while PersonOnline("Bruno", "playing", code, "browser") not in (await gina.until(Online)).people:
                pass
            await page.until("document.querySelector('#ask').innerText.includes('Gina (terminal)')")
            assert await page.value("part('called').hidden")
            await page.value("busy = -Infinity; 0")
            await emma.done(EnterLobby, "Emma", by="ssh")
            await page.until("!part('called').hidden")
            assert await page.text("#called") == "Emma has come to the lobby."
            await page.until("document.querySelector('#ask').innerText.includes('Emma (ssh)')")
            await page.click("""#ask [data-do*='"invite"']""")
            for peer in (gina, emma):
                (invited,) = (await peer.until(SaidInLobby)).remarks
                assert (invited.name, invited.table) == ("Bruno", code)
            await gina.done(SayInLobby, "Room for two?")
            await page.until("part('said').innerText.includes('Gina (in the lobby) Room for two?')")
            await page.until("part('words-said').placeholder === 'The lobby hears this, too.'")
            await changed(server, host, Private(on=True))
            await page.until("part('words-said').placeholder === ''")
            assert await page.value("document.documentElement.scrollWidth") == PHONE[0]
            assert page.complaints == []


MOVES = (
    "document.getAnimations().filter(({effect}) => effect.target.matches('.stone, .won'))"
    ".map(({effect}) => `${effect.target.classList[0]} ${effect.getTiming().duration}`).join()"
)


async def test_whatever_was_shown_before_a_page_is_as_the_server_has_drawn_it(chromium: str) -> None:
    """Of any moments of a game in any order, although what stays is kept."""
    rng, drawn = random.Random(1), list[Mapping[str, str]]()
    for moves in (0, 3, 8, 9, 10, 20, 30, 200):
        game = played(GameOptions(3, random_layout=moves == 0), 1, moves)
        seat = Seat(rng.randrange(3))
        legal = game.legal()
        own = legal if legal is not None and legal.seat == seat else None
        chosen = MoveChoice(piece="Em", field="A1", position=1)
        hand = PlayerHand(seat, own, chosen, ("citizen",), moments=len(game.events))
        view, state = snapshot(game.view, eyes_of(seat)), table(3, "over" if game.over else "playing")
        latest = [redacted(event, eyes_of(seat)) for event in game.events[-8:]]
        for step in (None, 1, 20) if game.over else (None,):
            drawn.append(table_parts(state, view, latest, step, hand)[0])
    host = PlayerHand(Seat(0), None, MoveChoice(), ())
    drawn.append(table_parts(table(4, "gathering"), None, [], None, host)[0])
    different = (
        "Object.entries(parts).map(([id, inside]) => { const model = part(id)?.cloneNode(false); "
        "if (model) model.innerHTML = inside; return model && !part(id).isEqualNode(model) && id; })"
        ".filter(Boolean)"
    )
    async with web_server() as server, tab(chromium) as page:
        await page.go(f"http://127.0.0.1:{server.port}/play/")
        await page.until(NAMELESS)
        await page.prefer(still=True)
        for parts in rng.choices(drawn, k=40):
            assert await page.value(f"parts = {json.dumps(parts)}; show(parts); {different}") == []


async def test_moves_are_seen(chromium: str) -> None:
    """A piece arrives, a captive leaves, a laurel goes to its owner; another moment is just shown."""
    game = played(GameOptions(3, random_layout=True), 2)
    view, state = snapshot(game.view, SPECTATOR), table(3, "over")
    async with (
        web_server(pages_cpu=1.0) as server,
        full_table(server.port, 3) as peers,
        tab(chromium) as page,
    ):
        await page.go(f"http://127.0.0.1:{server.port}/watch/{peers[0].code}")
        await page.until("document.querySelectorAll('#players li').length === 4")

        async def shown(parts: Mapping[str, str]) -> str:
            """Show a page, and return what moves; after that, the board is as it should be."""
            moving = await page.value(f"show({json.dumps(parts)}); {MOVES}")
            await page.value("document.getAnimations().forEach((each) => each.finish())")
            there = sum(each.count('class="stone ') for each in parts.values())
            await page.until(f"document.querySelectorAll('.stone').length === {there}")
            return str(moving)

        scoring = [WebPages().table("en", state, view, [], step)[0] for step in range(last_step(view))]
        assert await shown(scoring[0]) == ""
        assert {each for parts in scoring[1:] for each in (await shown(parts)).split(",")} == {
            "",
            "stone 300",
            "won 300",
        }
        assert await shown(scoring[0]) == ""
        placed = played(GameOptions(3, random_layout=True), 2, 9)
        parts = WebPages().table("en", table(3), snapshot(placed.view, SPECTATOR), [], None)[0]
        await shown(parts)
        placed.apply(some_command(placed, random.Random(1)))
        parts = WebPages().table("en", table(3), snapshot(placed.view, SPECTATOR), [], None)[0]
        assert await shown(parts) == "stone 300"
        await page.prefer(still=True)
        await shown(parts)
        placed.apply(some_command(placed, random.Random(1)))
        parts = WebPages().table("en", table(3), snapshot(placed.view, SPECTATOR), [], None)[0]
        assert await shown(parts) == ""
        assert page.complaints == []


async def test_phones_give_signs_that_are_seen_at_the_seat_for_some_seconds(chromium: str) -> None:
    """In the reader's words; what was said before somebody came is in the chat alone."""
    async with (
        web_server() as server,
        connected(server.port) as host,
        tab(chromium) as page,
        tab(chromium, language="it") as other,
    ):
        code = (await host.open(3, "Anna")).table
        await join(page, server.port, code, "Bruno")
        await page.click("#signs button")
        assert (await host.until(Said)).text == "👏"
        await page.until("document.querySelector('.sign')")
        middle = "((box) => box.left + box.width / 2)"
        at, seat = [
            await page.value(f"{middle}(document.querySelector('{each}').getBoundingClientRect())")
            for each in (".sign", "#players li:nth-child(2)")
        ]
        assert at == pytest.approx(seat, abs=2)
        await page.until("document.querySelector('.sign') === null")
        assert "Bruno 👏 Well played!" in await page.text("#said")
        await join(other, server.port, code, "Carla")
        await host.done(Say(host.next_id(), "🎉"))
        await other.until("document.querySelector('#said').innerText.includes('Anna 🎉 Evviva!')")
        assert await other.value("document.querySelectorAll('.sign').length") == 1
        assert page.complaints == []


# What a page says of its line, and of the table, from now on.
LISTEN = (
    "lines = []; said = []; "
    "new MutationObserver(() => lines.push(line)).observe(document.body, {attributeFilter: ['data-line']}); "
    "new MutationObserver(() => said.push(part('now').innerText))"
    ".observe(part('now'), {childList: true, characterData: true, subtree: true}); 0"
)


async def test_a_phone_keeps_the_board_while_its_line_is_dead(chromium: str) -> None:
    """It notices that without being told; the notice is in view wherever one looks; the next line goes on."""
    async with (
        web_server() as server,
        line_to(server.port) as wire,
        connected(server.port) as host,
        tab(chromium) as page,
    ):
        code = (await host.open(2, "Anna", starting=1, random_layout=True)).table
        await join(page, wire.port, code, "Bruno")
        await host.done(StartGame(host.next_id()))
        await move(page, random.Random(1))
        await host.caught_up(4)
        await page.value(LISTEN)
        wire.dead = True
        await page.until("line === 'gone'")
        assert await page.value(PIECES) == 1
        await page.value("scrollTo(0, document.body.scrollHeight)")
        assert await page.value("document.elementFromPoint(100, 10).id") == "lost"
        await host.done(host.random_move(random.Random(2)))
        wire.dead = False
        await page.until(f"line === 'here' && {PIECES} === 2 && {TURN}")
        await page.value("lines = []; socket.close()")
        await page.until("lines[0] === 'gone' && line === 'here'")
        await move(page, random.Random(3))
        assert not any("no table" in each for each in await page.value("said"))
        assert page.complaints == []


async def test_a_watched_page_notices_that_its_line_is_dead(chromium: str) -> None:
    """Although it asks for nothing itself."""
    async with (
        web_server() as server,
        line_to(server.port) as wire,
        game(server.port, 2) as peers,
        tab(chromium) as page,
    ):
        await page.go(f"http://127.0.0.1:{wire.port}/watch/{peers[0].code}")
        await page.until("line === 'here'")
        wire.dead = True
        await page.until("line === 'gone'")
        assert await page.value("document.querySelectorAll('#players li').length") > 2
        await play_on(peers, random.Random(1), 1)
        wire.dead = False
        await page.until(f"line === 'here' && {PIECES} === 1")


async def test_a_phone_asks_for_a_pause_until_a_moment(chromium: str) -> None:
    """Typed and shown in the phone's own time zone."""
    async with web_server() as server, connected(server.port) as host, tab(chromium) as page:
        code = (await host.open(2, "Anna", random_layout=True)).table
        await join(page, server.port, code, "Bruno")
        await host.send(StartGame(host.next_id()))
        await page.until("document.querySelector('#menu input')")
        await page.value("window.when = document.querySelector('#menu input')")
        await page.value("when.value = new Date(Date.now() + 864e5).toISOString().slice(0, 16)")
        await page.value("when.nextElementSibling.click()")
        state = await host.until(TableState)
        while state.asked is None:
            state = await host.until(TableState)
        assert state.asked.until == await page.value("Date.parse(when.value) / 1000")
        await host.done(AskPause(host.next_id(), on=True))
        await page.until(
            "document.querySelector('#now').innerText === `The game is paused until ${"
            "local(when.value)}: Bruno has asked for it.`"
        )
        await host.done(AskPause(host.next_id(), on=False))
        assert page.complaints == []


async def test_a_phone_leaves_an_address_to_be_called_at(chromium: str) -> None:
    """With the code that comes there; what cannot be right is not sent."""
    async with called_by_url() as called:
        config = replace(called.config, pages=WebPages())
        async with running(config) as server, connected(server.port) as host, tab(chromium) as page:
            code = (await host.open(2, "Anna")).table
            await join(page, server.port, code, "Bruno")
            await page.value("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
            await page.value("window.field = (name) => document.querySelector(`#menu input[name=${name}]`)")
            await page.value("field('to').nextElementSibling.click()")
            assert await page.value("unanswered.size") == 0
            await page.value(f"field('to').value = {json.dumps(called.url)}")
            await page.value("field('to').nextElementSibling.click()")
            await page.until("field('digits')")
            await page.value(f"field('digits').value = '{await called.receiver.code()}'")
            await page.value("field('digits').nextElementSibling.click()")
            await page.until("!field('digits') && !field('to')")
            await page.click("#menu [data-do*=call-me]")
            await page.until("field('to')")
            assert page.complaints == []


async def sign_up(page: Tab, port: int, name: str) -> None:
    """Go from the front page, where a television's QR code leads, to the evening."""
    await page.go(f"http://127.0.0.1:{port}/")
    await page.click('a[href="play/EVENING"]')
    await page.until("document.querySelector('#join') && !document.querySelector('#join').hidden")
    await page.value(f"document.querySelector('#join input').value = {json.dumps(name)}")
    await page.click("#join button")
    await page.until("document.querySelector('#call').innerText.includes('will be notified here')")


async def go_to_table(page: Tab) -> str:
    """Follow the call to a table, and return its code."""
    await page.until("document.querySelector('#call [data-go]')")
    await page.click("#call [data-go]")
    await page.until("document.querySelector('#menu button')")
    return str(await page.value("location.pathname")).rpartition("/")[2]


async def test_a_phone_signs_up_for_an_evening_pauses_and_is_called(chromium: str) -> None:
    """It comes back as the same person, and sits down with one touch; no address has the token."""
    config = Config(pages=WebPages(), evening=EveningPlan("Friday", rounds=2))
    async with running(config) as server, connected(server.port) as peer, tab(chromium) as page:
        evening = server.lobby.evenings.running
        assert evening is not None
        await peer.ask(SignUp(peer.next_id(), "Anna", "x" * 43))
        await sign_up(page, server.port, "<b>Bruno")
        await page.go(f"http://127.0.0.1:{server.port}/play/EVENING")
        await page.until("document.querySelector('#call').innerText.includes('<b>Bruno')")
        await page.click("#call [data-do*=pause]")
        await page.until("document.querySelector('#call').innerText.includes('You are not playing now.')")
        await page.click("#call [data-do*=play]")
        await page.until("document.querySelector('#call [data-do*=pause]')")
        assert await page.value("document.documentElement.scrollWidth") == PHONE[0]
        evening.draw_now()
        code = await go_to_table(page)
        await peer.resume(code, "x" * 43)
        await page.until("document.querySelector('.board .hill, .board .open')")
        assert [table.table for table in evening.message().tables] == [code]
        assert await page.value("location.search + location.hash") == ""
        assert page.complaints == []


@pytest.mark.parametrize("then", ["socket.close()", "location.reload()"])
async def test_a_phone_whose_sign_up_was_not_answered_takes_part(chromium: str, then: str) -> None:
    """It is the same person when it asks again, under a name that nobody has to wait for."""
    config = Config(pages=WebPages(), evening=EveningPlan("Friday", rounds=2))
    async with running(config) as server, connected(server.port) as peer, tab(chromium) as page:
        evening = server.lobby.evenings.running
        assert evening is not None
        await peer.ask(SignUp(peer.next_id(), "Anna", "x" * 43))
        await page.go(f"http://127.0.0.1:{server.port}/play/EVENING")
        await page.until(NAMELESS)
        for name in ("Anna", "Bruno"):
            await page.value(f"document.querySelector('#join input').value = '{name}'")
            if name == "Bruno":
                await page.until("joining === null && document.querySelector('#refusal').innerText")
                assert await page.value("localStorage.getItem('evening')") is None
                await page.value(LOSE.format(answer="signed-up", then=then))
            await page.value("document.querySelector('#join button').click()")
        await page.until("document.querySelector('#call [data-do*=pause]')")
        await page.until("document.querySelector('#join').hidden")
        assert [person.name for person in evening.message().people] == ["Anna", "Bruno"]


async def test_a_phone_that_was_removed_from_an_evening_can_sign_up_as_somebody_else(chromium: str) -> None:
    """It says who did that, and shows the form again."""
    config = Config(pages=WebPages(), evening=EveningPlan("Friday", rounds=2))
    async with running(config) as server, tab(chromium) as page:
        evening = server.lobby.evenings.running
        assert evening is not None
        await sign_up(page, server.port, "Bruno")
        assert await evening.remove("Bruno")
        await page.until("!document.querySelector('#join').hidden")
        told = "The host of the server removed you from the evening."
        await page.until(f"document.body.innerText.includes({json.dumps(told)})")
        await sign_up(page, server.port, "Anna")
        assert [each.name for each in evening.message().people] == ["Anna"]
        assert page.complaints == []


async def test_a_phone_hosts_an_evening(chromium: str, tmp_path: Path) -> None:
    """Its link opens the page, which keeps the key to itself, and what is asked for there is done."""
    config = Config(pages=WebPages(), data=tmp_path, evening=EveningPlan("Friday", rounds=2))
    async with tab(chromium) as page, tab(chromium) as guest:
        async with running(config) as server, connected(server.port) as peer:
            home, evening = f"http://127.0.0.1:{server.port}", server.lobby.evenings.running
            assert evening is not None
            key = await server.lobby.evenings.host_key.renew()
            await peer.ask(SignUp(peer.next_id(), "Anna", "x" * 43))
            await sign_up(guest, server.port, "Bruno")
            await page.go(f"{home}/host")
            await page.until("document.querySelector('#refusal').innerText.includes('admin evening host')")
            await page.go(f"{home}/")
            await page.go(f"{home}/host#{key}")
            await page.until("document.querySelector('#evening').innerText.includes('Bruno')")
            assert await page.value("location.hash") == ""
            assert await page.value("document.documentElement.scrollWidth") == PHONE[0]
            await page.click("#evening ol summary")
            await page.value("window.confirm = () => false; 0")
            await page.click("#evening [data-ask*=remove]")
            await page.value("window.confirm = (words) => words.includes('Anna'); 0")
            await page.click("#evening [data-ask*=remove]")
            assert (await peer.until(Refused)).code == Code.REMOVED_FROM_EVENING
            await page.until("!document.querySelector('#evening').innerText.includes('Anna')")
            await page.value("window.confirm = () => true; 0")
            await page.click("#evening [data-ask*=hand-over]")
            await page.until("document.querySelector('#device .qr')")
            await guest.until("document.querySelector('#refusal').innerText.includes('another device')")
            link = await page.text("#device code")
            await guest.go(f"{home}/")
            assert not await guest.value("document.querySelector('#hosts').offsetHeight")
            await guest.go(f"{home}/play/EVENING#{link.partition('#')[2]}")
            await guest.until(ASKED)
            await guest.click("#link .main")
            await guest.until("document.querySelector('#call').innerText.includes('will be notified here')")
            await peer.ask(SignUp(peer.next_id(), "Carla", "y" * 43))
            await page.click("#evening [data-ask*=draw]")
            await go_to_table(guest)
            await page.until("document.querySelector('#evening').innerText.includes('1/2')")
            await page.go(f"{home}/")
            await page.click("#hosts a")
            await page.until("document.querySelector('#evening')?.innerText.includes('Bruno')")
        async with running(replace(config, port=server.port)):
            await page.until("!document.getElementById('lost').hidden")
            await page.until("document.getElementById('lost').hidden")
            await page.value("window.confirm = () => true; 0")
            await page.click("#evening [data-ask*=close]")
            await page.until("!document.querySelector('#evening [data-ask*=close]')")
        assert page.complaints == []


async def test_somebody_in_an_evening_goes_on_on_another_phone(chromium: str) -> None:
    """By a code on their own, or one that the host gives; at a table too. The one of before says so."""
    config = Config(pages=WebPages(), evening=EveningPlan("Friday", rounds=2))
    async with (
        running(config) as server,
        connected(server.port) as peer,
        tab(chromium) as first,
        tab(chromium) as second,
        tab(chromium) as third,
    ):
        evening, home = server.lobby.evenings.running, f"http://127.0.0.1:{server.port}"
        assert evening is not None
        await peer.ask(SignUp(peer.next_id(), "Anna", "x" * 43))
        await sign_up(first, server.port, "Bruno")
        await first.click("#elsewhere summary")
        await first.until("document.querySelector('#device .qr')")
        link = await first.text("#device code")
        assert link.startswith("http://")
        await second.go(f"{home}/play/EVENING#{'y' * 43}")
        await second.until(ASKED)
        await second.click("#link .main")
        await second.until(NAMELESS)
        assert await second.value("location.hash") == ""
        await second.go(f"{home}/")
        await second.go(f"{home}/play/EVENING#{link.partition('#')[2]}")
        await second.until(ASKED)
        assert "signed up for the evening" in await second.text("#link p")
        await second.click("#link .main")
        await second.until("document.querySelector('#call').innerText.includes('will be notified here')")
        assert await second.value("location.hash") == ""
        await first.until("document.querySelector('#refusal').innerText.includes('another device')")
        await first.go(f"{home}/")
        await first.go(f"{home}/play/EVENING")
        await first.until(NAMELESS)
        evening.draw_now()
        code = await go_to_table(second)
        given = await evening.hand_over_person("Bruno")
        await second.until("document.querySelector('#refusal').innerText.includes('another device')")
        await third.go(f"{home}/play/EVENING#{given}")
        await third.until(ASKED)
        await third.click("#link .main")
        assert await go_to_table(third) == code
        await third.until("document.querySelector('.board .hill, .board .open')")
        assert len(evening.message().people) == 2
        await third.go(f"{home}/")
        assert await third.text("#seats a") == code
        await third.click("#seats a")
        await third.until("document.querySelector('#menu button')")
        await third.click("#elsewhere summary")
        await third.until("document.querySelector('#device .qr')")
        assert "/play/EVENING#" in await third.text("#device code")
        for page in (first, second, third):
            assert page.complaints == []


async def test_phones_are_called_to_one_table_after_the_other(chromium: str) -> None:
    """Where the result of a game stands, the call to the next one comes."""
    chooser = random.Random(5)
    config = Config(pages=WebPages(1e6), evening=EveningPlan("Friday", rounds=2))
    async with running(config) as server, tab(chromium) as one, tab(chromium) as two:
        evening = server.lobby.evenings.running
        assert evening is not None
        pages = {"Anna": one, "Bruno": two}
        for name, page in pages.items():
            await sign_up(page, server.port, name)
        evening.draw_now()
        codes = {await go_to_table(page) for page in pages.values()}
        (code,) = codes
        table = server.lobby.tables[code]
        await eventually(lambda: table.state.game is not None)
        while (game := table.state.game) is not None and game.view.turn is not None:
            moves = len(game.events)
            await move(pages[table.state.names[game.view.turn]], chooser)
            await eventually(lambda game=game, moves=moves: len(game.events) > moves)  # type: ignore[misc]
        await eventually(lambda: not evening.state.running)
        await one.until("document.querySelector('#ask .main')")
        assert await one.text("#ask") == "The evening"  # and no rematch, which there is not
        evening.draw_now()
        assert {await go_to_table(page) for page in pages.values()}.isdisjoint(codes)


@pytest.mark.parametrize("place", ["EVENING", ""])
async def test_no_link_shuts_a_phone_out(chromium: str, place: str) -> None:
    """Of its evening, or of opening a table: no seat is there that a link could hold."""
    config = Config(pages=WebPages(), evening=EveningPlan("Friday", rounds=2))
    async with running(config) as server, tab(chromium) as page:
        home = f"http://127.0.0.1:{server.port}/"
        await page.go(f"{home}play/{place}#anything")
        await page.until(NAMELESS)
        assert await page.value("location.hash") == ""
        await page.value(f"localStorage.setItem('seat {place}', 'left by an earlier link')")
        await page.go(home)
        await page.go(f"{home}play/{place}")
        await page.until(NAMELESS)
        assert await page.value(f"localStorage.getItem('seat {place}')") is None
        await page.value("document.querySelector('#join input').value = 'Anna'")
        await page.value("document.querySelector('#join button').click()")
        await page.until("document.querySelector('#menu button, #call [data-do*=pause]')")
        assert page.complaints == []


async def test_a_link_with_a_seat_is_asked_about_and_used_once(chromium: str) -> None:
    """Whoever has sent it is told that the seat is somebody else's now, and cannot come back to it."""
    async with (
        web_server() as server,
        connected(server.port) as host,
        connected(server.port) as sender,
        connected(server.port) as again,
        tab(chromium) as page,
    ):
        code = (await host.open(3, "Anna")).table
        await sender.join(code, "Bruno")
        here = f"http://127.0.0.1:{server.port}/play/{code}"
        await page.go(f"{here}#{sender.token}")
        await page.until(ASKED)
        assert f"a seat at table {code}" in await page.text("#link p")
        assert await page.value("socket") is None
        await page.value("document.querySelector('#link .main').click()")
        await page.until("document.querySelector('#menu button')")
        assert await page.value("location.hash") == ""
        assert (await sender.closed())[0] == 4000
        assert await again.refusal(Resume, code, sender.token) == Code.BAD_TOKEN
        await page.go(f"http://127.0.0.1:{server.port}/")
        await page.go(here)
        await page.until("document.querySelector('#menu button')")
        assert await page.value("seat") == 1
        assert await page.value("Object.keys(localStorage).filter((key) => key.startsWith('new '))") == []
        assert page.complaints == []


async def test_a_player_moves_on_to_another_device_by_a_link_of_their_own(chromium: str) -> None:
    """The old device says so, and forgets the seat."""
    async with web_server() as server, connected(server.port) as host, tab(chromium) as old:
        code = (await host.open(3, "Anna")).table
        await join(old, server.port, code, "Bruno")
        here = f"http://127.0.0.1:{server.port}/play/{code}"
        token = await old.value("token")
        async with tab(chromium) as new:
            await new.go(f"{here}#{token}")
            await new.until(ASKED)
            await new.value("document.querySelector('#link .main').click()")
            await new.until("document.querySelector('#menu button')")
            await old.until("document.querySelector('#refusal').innerText.includes('another device')")
            await old.go(f"http://127.0.0.1:{server.port}/")
            await old.go(here)
            await old.until(NAMELESS)
            assert "no longer kept" in await old.text("#refusal")
            assert await old.value(f"localStorage.getItem('seat {code}')") is None
            await new.value("document.querySelector('#menu [data-do*=ready]').click()")
            await eventually(lambda: server.lobby.tables[code].state.ready == {1})
            assert new.complaints + old.complaints == []


@pytest.mark.parametrize("token", ["x" * 43, "x"])
async def test_a_link_to_no_seat_leads_to_the_form(chromium: str, token: str) -> None:
    """Nothing of it stays, whether there is such a table or not; and a player may say no."""
    async with web_server() as server, connected(server.port) as host, tab(chromium) as page:
        code = (await host.open(3, "Anna")).table
        for table in (code, "ZZZZ"):
            await page.go(f"http://127.0.0.1:{server.port}/")
            await page.go(f"http://127.0.0.1:{server.port}/play/{table}#{token}")
            await page.until(ASKED)
            await page.value("document.querySelector('#link .main').click()")
            await page.until(NAMELESS)
            assert await page.value("location.hash") == ""
            assert await page.value("localStorage.length") == 0
        await page.go(f"http://127.0.0.1:{server.port}/play/{code}#{token}")
        await page.until(ASKED)
        await page.value("document.querySelector('#link button:not(.main)').click()")
        await page.until(NAMELESS)
        await page.value("document.querySelector('#join input').value = 'Bruno'")
        await page.value("document.querySelector('#join button').click()")
        await page.until("document.querySelector('#menu button')")
        assert page.complaints == []


async def test_a_seat_that_is_no_longer_kept_gives_way_to_a_link(chromium: str) -> None:
    """As when a table has gone to another server of the cluster and comes back, with another token."""
    async with web_server() as server, connected(server.port) as host, tab(chromium) as page:
        code = (await host.open(3, "Anna")).table
        await page.go(f"http://127.0.0.1:{server.port}/")
        await page.value(f"localStorage.setItem('seat {code}', 'x'.repeat(43))")
        await page.go(f"http://127.0.0.1:{server.port}/play/{code}#{host.token}")
        await page.until(ASKED)
        await page.value("document.querySelector('#link .main').click()")
        await page.until("document.querySelector('#menu button')")
        assert await page.value("seat") == 0


@pytest.mark.parametrize(
    ("place", "then"), [("join", "socket.close()"), ("join", "location.reload()"), ("open", "socket.close()")]
)
async def test_a_phone_whose_answer_was_lost_gets_the_seat_that_it_took(
    chromium: str, place: str, then: str
) -> None:
    """By asking again on the next connection, or when the page is loaded again; nobody else sits there."""
    async with web_server() as server, connected(server.port) as host, tab(chromium) as page:
        code = (await host.open(3, "Anna")).table if place == "join" else ""
        await page.go(f"http://127.0.0.1:{server.port}/play/{code}")
        await page.until(NAMELESS)
        await page.value(LOSE.format(answer="seated", then=then))
        await page.value("document.querySelector('#join input').value = 'Bruno'")
        await page.value("document.querySelector('#join button').click()")
        await page.until("document.querySelector('#menu button')")
        tables = [table.state for table in server.lobby.tables.values()]
        assert [state.names for state in tables] == [["Anna", "Bruno", ""] if code else ["Bruno", ""]]
        assert await page.value("document.querySelector('#join').hidden")


async def test_a_phone_opens_a_table(chromium: str) -> None:
    """From the front page, with what can be chosen there; the page is that of the seat from then on."""
    async with web_server() as server, tab(chromium) as page:
        await page.go(f"http://127.0.0.1:{server.port}/")
        await page.click('a[href="play/"]')
        await page.until("document.querySelector('#join') && !document.querySelector('#join').hidden")
        await page.value("document.querySelector('#join input').value = 'Anna'")
        await page.value("document.querySelector('#join select').value = '2'")
        await page.value("document.querySelector('[name=private]').checked = true")
        await page.click("#join button")
        await page.until("document.querySelector('#menu button')")
        (table,) = server.lobby.tables.values()
        assert (table.state.switches.private, len(table.state.players)) == (True, 2)
        assert await page.value("location.pathname") == f"/play/{table.code}"
        assert await page.text("h1") == f"Table {table.code}"
        link = f"http://127.0.0.1:{server.port}/play/{table.code}"
        assert link in await page.value(
            "document.querySelector('#ask [role=img]').getAttribute('aria-label')"
        )
        await page.click("#ask [data-done]")
        assert await page.value("getSelection().toString()") == link
        assert await page.value("document.documentElement.scrollWidth") == PHONE[0]
        await page.go(f"http://127.0.0.1:{server.port}/play/{table.code}")
        await page.until("document.querySelector('#menu button')")
        assert page.complaints == []


async def test_browsers_play_whole_games_beside_others(chromium: str) -> None:
    """On a phone and on a wide screen, tiles and all, to the result and into the next game."""
    chooser = random.Random(7)
    async with (
        running(Config(pages=WebPages(1e6))) as server,
        connected(server.port) as host,
        connected(server.port) as peer,
        tab(chromium, language="it") as phone,
        tab(chromium) as wide,
    ):
        await wide.resize(1280, 800)
        code = (await host.open(4, "Anna", starting=0)).table
        await peer.join(code, "Bruno")
        await join(phone, server.port, code, "Carla")
        await join(wide, server.port, code, "Dario")
        seats: list[Peer | Tab] = [host, peer, phone, wide]
        await host.done(StartGame(host.next_id()))
        table = table_of(server, [host])
        while (game := table.state.game) is not None and game.view.turn is not None:
            mover, moves = seats[game.view.turn], len(game.events)
            if isinstance(mover, Tab):
                await move(mover, chooser)
            else:
                await mover.caught_up(moves)
                await mover.done(mover.random_move(chooser))
            await eventually(lambda game=game, moves=moves: len(game.events) > moves)  # type: ignore[misc]
        again = await rematch(host)
        await rematch(peer)
        for page in (phone, wide):
            await page.until("document.querySelector('#ask [data-do*=rematch]')")
            await page.go(
                f"http://127.0.0.1:{server.port}/play/{code}"
            )  # who comes later is shown the result
            await page.until("document.querySelector('#result table')")
            assert page.complaints == []
            assert await page.value("document.documentElement.scrollWidth <= innerWidth")
            await page.click("#ask .main")
            await page.until(f"location.pathname === '/play/{again.table}'")
        await host.done(StartGame(host.next_id()))
        for page in (phone, wide):
            await page.until(f"document.querySelector('.board .hill') && {PIECES} === 0")


async def test_a_seat_goes_with_its_table_and_survives_a_restart(chromium: str, database: str) -> None:
    """To another server of the cluster, whose page has a storage of its own; no address keeps the token."""
    chooser = random.Random(1)
    config = Config(database=database, pages=WebPages(), lease_seconds=LONG_LEASE)
    async with contextlib.AsyncExitStack() as first, tab(chromium) as page:
        one = await first.enter_async_context(running(replace(config, node="one")))
        host = await first.enter_async_context(connected(one.port))
        code = (await host.open(2, "Anna", starting=1, random_layout=True)).table
        async with running(replace(config, node="two")) as two:
            await join(page, one.port, code, "Bruno")
            await host.done(StartGame(host.next_id()))
            await move(page, chooser)
            token = await page.value(f"localStorage.getItem('seat {code}')")
            await first.aclose()
            here = f"http://127.0.0.1:{two.port}/play/{code}"
            await page.until(f"location.href.startsWith({json.dumps(here)}) && {ASKED}")
            await page.value("document.querySelector('#link .main').click()")
            await page.until(f"location.href === {json.dumps(here)} && {PIECES} > 0")
            assert await page.value(f"localStorage.getItem('seat {code}')") != token
            port = two.port
        await page.until("!document.getElementById('lost').hidden")
        async with running(replace(config, node="two", port=port)), connected(port) as again:
            await again.resume(code, host.token)
            await again.news()
            await again.done(again.random_move(chooser))
            await page.until("document.getElementById('lost').hidden")
            await move(page, chooser)
