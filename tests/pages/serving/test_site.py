"""The pages as answers to plain HTTP, and those of players, which show what their own messages tell."""

import asyncio
import contextlib
import gzip
import html
import ipaddress
import json
import logging
import random
import re
import signal
import socket
import ssl
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed, InvalidStatus

from client.bots.brains import at_random
from client.ui.texts.pieces import WITH_WOLF
from client.ui.texts.tables import describe_news
from engine.view import eyes_of, folded
from pages.drawing.pages import WebPages
from pages.serving import site
from pages.shared import MoveChoice, PlayerHand
from protocol import messages
from protocol.events import legal_of
from protocol.settings import ChosenSwitches, Private, Spectators
from protocol.settings import Hints as AllowHints
from server.app import running
from server.config import Config, Limits
from server.net.addresses import RemoteEnd
from server.net.connections.plain_http import PageRequest
from tests.cases import cases
from tests.pages.serving.viewer import PagePeer, asked, player_page, seated_in_browser, viewer, web_server
from tests.server.peer import all_connected, connected, http_get, upgrade_status
from tests.server.playing import changed, full_table, play_on
from tests.server.process import serving

CONFIG = Config(pages=WebPages())
PROXY = replace(CONFIG, trusted_proxies=(ipaddress.ip_network("127.0.0.1"),))
WORD = "Aventinus"
ODD_PATHS = (
    *("//", "/x", "/watch", "/watch/", "/watch/ABC", "/watch/ABCDE", "/watch/ABCD/", "/watch/AB%43D"),
    *("/watch/../watch/ABCD", "/../../etc/passwd", "/page.js", "/healthz", "/metrics", "*"),
    "http://127.0.0.1/",
)


async def test_the_front_page_lists_public_tables_and_tells_how_to_join() -> None:
    async with web_server() as server, all_connected(server.port, 3) as (public, private, closed):
        await public.open(2, "Anna")
        await private.ask(messages.OpenTable, 2, "Hidden", switches=ChosenSwitches(private=True))
        await closed.open(2, "Carla")
        await changed(server, closed, Spectators(on=False))
        answer = await asked(server.port, "/")
    assert answer.status == 200
    assert f'href="watch/{public.code}"' in answer.text
    assert "Anna" in answer.text
    assert "Hidden" not in answer.text
    assert f'href="watch/{closed.code}"' not in answer.text
    assert "Carla" in answer.text
    assert f"palatinus join ws://127.0.0.1:{server.port}<" in answer.text
    assert 'class="qr"' in answer.text


@pytest.mark.parametrize("path", ["/", "/x"])
async def test_pages_can_do_nothing_but_what_they_are_for(path: str) -> None:
    async with web_server() as server:
        headers = (await asked(server.port, path)).headers
    policy = dict(each.strip().split(" ", 1) for each in headers["content-security-policy"].split(";"))
    for subject in ("default-src", "base-uri", "form-action", "frame-ancestors"):
        assert policy[subject] == "'none'"
    assert policy["script-src"].startswith("'sha256-")
    assert policy["style-src"].startswith("'sha256-")
    assert "unsafe" not in str(policy)
    names = ("x-content-type-options", "x-frame-options", "referrer-policy", "cache-control")
    assert [headers[name] for name in names] == ["nosniff", "DENY", "no-referrer", "no-store"]
    assert "server" not in headers


async def test_tables_that_may_not_be_seen_are_as_if_they_did_not_exist() -> None:
    """A private, a closed and an unknown code get the same answer, to the last byte."""
    async with web_server() as server, full_table(server.port, 2) as peers, connected(server.port) as private:
        opened = await asked(server.port, f"/watch/{peers[0].code}")
        small = await asked(server.port, f"/watch/{peers[0].code.lower()}")
        await changed(server, peers[0], Spectators(on=False))
        await private.ask(messages.OpenTable, 2, "Hidden", switches=ChosenSwitches(private=True))
        unknown = next(code for code in ("AAAA", "BBBB", "CCCC") if code not in server.lobby.tables)
        codes = (peers[0].code, private.code, unknown)
        answers = [await asked(server.port, f"/watch/{code}") for code in codes]
    assert opened.status == small.status == 200
    assert {answer.status for answer in answers} == {404}
    assert len({answer.body for answer in answers}) == 1


async def test_only_get_and_head_of_these_pages_are_answered() -> None:
    """There are no files and no folders; what a page needs is in it."""
    async with web_server() as server:
        for path in ODD_PATHS:
            odd = await asked(server.port, path)
            assert odd.status == 404, path
            assert b"passwd" not in odd.body
        whole, head = [await asked(server.port, "/?a=b", method) for method in ("GET", "HEAD")]
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW"):
            answer = await asked(server.port, "/", method)
            assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
        body = await asked(server.port, "/", "POST", headers={"Content-Length": "5"})
        connect = await asked(server.port, "127.0.0.1:22", "CONNECT")
    assert whole.status == head.status == 200
    assert head.body == b""
    assert whole.headers["content-length"] == head.headers["content-length"] == str(len(whole.body))
    assert body.status == 400
    assert connect.status == 405


async def test_a_flood_of_requests_is_answered_briefly() -> None:
    async with web_server(pages_per_address=3) as server:
        answers = [await asked(server.port, path) for path in ("/", "/x", "/watch/ABCD", "/", "/x")]
    assert [answer.status for answer in answers] == [200, 404, 404, 429, 429]
    assert 0 < int(answers[-1].headers["retry-after"]) <= 60
    assert len(answers[-1].body) < 200


async def test_who_asks_often_for_the_list_of_tables_delays_nobody() -> None:
    """It is drawn in the turns of those who ask."""
    ready, drawn = threading.Event(), list[str]()

    class Slow(WebPages):
        def tables(self, language: str, tables: Sequence[messages.TableSummary]) -> dict[str, str]:
            ready.wait()
            drawn.append(language)
            return super().tables(language, tables)

    def request(address: str, language: str) -> PageRequest:
        headers = Headers({"Host": "127.0.0.1", "Accept-Language": language})
        return PageRequest("GET", "/", "", headers, False, False, "127.0.0.1:1", True, (address,))

    async with running(replace(CONFIG, pages=Slow())) as server, asyncio.TaskGroup() as tasks:
        site = server.connections.site
        assert site is not None
        for asked_for in (*[request("198.51.100.1", "en")] * 9, request("192.0.2.1", "it")):
            tasks.create_task(site.page(asked_for))
        await asyncio.sleep(0)  # so that all have asked
        ready.set()
    assert drawn.index("it") <= 2


async def test_only_the_servers_own_pages_open_websockets() -> None:
    async with web_server() as server:
        here = f"127.0.0.1:{server.port}"
        for path in ("/watch", "/watch/ABCD", "/watch/abcd?lang=it", "/play/ABCD"):
            assert await upgrade_status(server.port, path, f"http://{here}") == 101
            for origin in ("http://evil.example", f"http://{here}.evil.example", "null", here, "http://"):
                assert await upgrade_status(server.port, path, origin) == 403
        for path in ("/", "/watch/", "/watch/ABCDEFGHI", "/play"):
            assert await upgrade_status(server.port, path, f"http://{here}") == 403
        assert await upgrade_status(server.port, "/watch/ABCD", None) == 101  # a game client, wherever
        for port, host in ((80, "http://here"), (443, "https://here")):
            assert await upgrade_status(server.port, "/watch", host, {"Host": f"here:{port}"}) == 101


async def test_a_page_whose_name_was_made_to_lead_here_neither_sees_nor_plays() -> None:
    """DNS rebinding: for the browser it is a page of this server's own, so only the name gives it away."""
    async with web_server() as server, connected(server.port) as host:
        code = (await host.open(2, "Anna")).table
        for name in ("evil.example", "evil_.example", "127.0.0.1.evil.example", "0x7f.1", "x.arpa."):
            there = {"Host": f"{name}:{server.port}"}
            for path in ("/", f"/watch/{code}", f"/play/{code}"):
                answer = await asked(server.port, path, headers=there | {"X-Forwarded-Host": "127.0.0.1"})
                assert answer.status == 421
                assert code not in answer.text
            for path in ("/watch", f"/watch/{code}", f"/play/{code}"):
                assert await upgrade_status(server.port, path, f"http://{there['Host']}", there) == 403


async def test_a_page_is_opened_by_every_name_that_no_stranger_can_have() -> None:
    names = ("[::1]", "attic", "attic.local", "attic.home.arpa", "ATTIC.LAN.", "games.example")
    await check_opened_by(*names)


async def test_a_page_is_opened_by_the_name_that_dns_has(monkeypatch: pytest.MonkeyPatch) -> None:
    if not isinstance(asyncio.get_running_loop(), asyncio.BaseEventLoop):
        pytest.skip("uvloop asks the system itself")
    monkeypatch.setattr(socket, "getnameinfo", lambda *_: ("Attic.fritz.box", "0"))
    await check_opened_by("attic.fritz.box")


async def check_opened_by(*names: str) -> None:
    async with running(replace(CONFIG, address="ws://games.example:7733")) as server:
        for name in names:
            there = {"Host": f"{name}:{server.port}"}
            assert (await asked(server.port, "/", headers=there)).status == 200
            origin = f"http://{name.lower()}:{server.port}"
            assert await upgrade_status(server.port, "/watch", origin, there) == 101


@pytest.mark.parametrize(("there", "here", "where"), cases(__file__, "near"))
def test_only_browsers_with_public_addresses_are_not_near(there: str, here: str, where: str) -> None:
    """A firewall may keep strangers out of the addresses that somebody's own network has (RFC 6177)."""
    assert RemoteEnd.at(there).near(here) == (where == "near")


async def test_a_server_with_a_password_shows_no_tables() -> None:
    """It says that a password is needed; every table's page has the same answer."""
    async with running(replace(CONFIG, password=WORD)) as server:
        front = await asked(server.port, "/")
        tables = [await asked(server.port, f"/watch/{code}") for code in ("ABCD", "EFGH")]
        refused = await upgrade_status(server.port, "/watch", f"http://127.0.0.1:{server.port}")
        # Players are asked for it in the hello, as any client is.
        assert 'type="password"' in (await asked(server.port, "/play/ABCD")).text
        with pytest.raises(AssertionError):
            async with player_page(server.port, "ABCD"):
                pass
    assert front.status == 200
    assert "password" in front.text
    assert 'id="tables"' not in front.text
    assert f"palatinus join ws://127.0.0.1:{server.port}<" in front.text
    assert WORD not in front.text
    assert [answer.status for answer in tables] == [403, 403]
    assert tables[0].body == tables[1].body
    assert refused == 403


async def test_the_address_to_join_is_the_one_that_the_browser_used(
    certificate: Path, trusting: ssl.SSLContext
) -> None:
    """What cannot be a host is not repeated: the server's own end of the connection stands there instead."""
    own = ("attic:7733", "ATTIC.local", "[::1]:7733")
    strange = ('x"><script>', "attic:7733/path", "user@attic", "attic:99999")
    joins = ["ws://attic:7733<", "ws://attic.local:80<", "ws://[::1]:7733<", *["ws://127.0.0.1:"] * 4]
    async with web_server() as server:
        for host, join in zip((*own, *strange), joins, strict=True):
            answer = await asked(server.port, "/", headers={"Host": host})
            assert f"palatinus join {join}" in answer.text
            assert 'x"><script>' not in answer.text
            assert "user@" not in answer.text
    async with running(replace(CONFIG, tls_cert=certificate)) as server:
        answer = await asked(server.port, "/", tls=trusting)
    assert f"palatinus join wss://127.0.0.1:{server.port}<" in answer.text
    assert f"https://127.0.0.1:{server.port}/<" in answer.text


async def test_a_page_opened_at_home_shows_an_address_that_phones_can_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unless nobody else reaches the server, or the page was found elsewhere."""
    monkeypatch.setattr(site, "reachable", lambda _host: ["192.0.2.7", "127.0.0.1"])
    async with running(replace(CONFIG, host="0.0.0.0")) as server:  # noqa: S104 - as for a network
        port = server.port
        for here in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"):
            for path in ("/", "/tv"):
                answer = await asked(port, path, headers={"Host": here})
                assert f"QR code that leads to http://192.0.2.7:{port}/" in answer.text
        elsewhere = await asked(port, "/tv", headers={"Host": f"198.51.100.7:{port}"})
        assert f"http://198.51.100.7:{port}/" in elsewhere.text
        async with player_page(port, "") as page:
            await page.open(2, "Anna")
            await page.until_shown(lambda parts: "ask" in parts)
            assert f"http://192.0.2.7:{port}/play/{page.code}" in page.parts["ask"]
    async with web_server() as server:
        answer = await asked(server.port, "/tv")
        assert f"http://127.0.0.1:{server.port}/" in answer.text


async def test_a_trusted_proxy_says_under_which_address_it_was_found() -> None:
    forwarded = {
        "X-Forwarded-For": "203.0.113.7",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Host": "games.example",
        "X-Forwarded-Prefix": "/palatinus",
    }
    async with running(replace(PROXY, watched=True)) as server:
        trusted = await asked(server.port, "/", headers=forwarded)
        live = await upgrade_status(server.port, "/watch", "https://games.example", forwarded)
        metrics = await asked(server.port, "/metrics", headers=forwarded)
        assert (await http_get(server.port, "/healthz"))[0] == 200
    async with web_server() as server:
        stranger = await asked(server.port, "/", headers=forwarded)
        refused = await upgrade_status(server.port, "/watch", "https://games.example", forwarded)
    assert "palatinus join wss://games.example:443/palatinus/<" in trusted.text
    assert "https://games.example/palatinus/<" in trusted.text
    assert (live, metrics.status, refused) == (101, 404, 403)
    assert "games.example" not in stranger.text


async def test_a_page_speaks_the_readers_language() -> None:
    """One chosen on the page comes first, then those of the browser by their weight, then English."""
    accepted = {"": "en", "it": "it", "xx-CH,xx;q=0.9,fr-BE;q=0.8,en;q=0.7": "fr"}
    accepted |= {"en;q=0.5,nl;q=0.7,it;q=0": "nl", "it;q=x,,;;q=1,=": "it"}
    chosen = {"?lang=fr": "fr", "?a=1&lang=nl&b=2": "nl", "?lang=<script>": "it", "?lang=xx": "it"}
    async with web_server() as server:
        for query, words, language in (
            *(("", words, language) for words, language in accepted.items()),
            *((query, "it", language) for query, language in chosen.items()),
        ):
            answer = await asked(server.port, f"/{query}", headers={"Accept-Language": words})
            assert f'<html lang="{language}">' in answer.text


async def test_nothing_of_a_request_reaches_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with web_server() as server:
            headers = {"Accept-Language": "secret-language", "Host": "secret-host"}
            await asked(server.port, "/secret-path?x=y", headers=headers)
    assert "secret" not in caplog.text


async def test_the_program_says_where_its_pages_are(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text("web = true\nmemory = true\n", encoding="utf-8")
    async with serving("--config", str(file), "--lang", "en") as server:
        page = await asked(server.port, "/", headers={"Accept-Language": "nl"})
        server.process.send_signal(signal.SIGTERM)
        code, output, errors = await server.ended()
    assert (page.status, code, errors) == (200, 0, "")
    assert "<h1>Palatinus</h1>" in page.text
    assert '<html lang="nl">' in page.text
    assert f"  http://127.0.0.1:{server.port}/\n" in output


PAGES = WebPages()


def drawn(page: PagePeer, language: str, choice: MoveChoice) -> dict[str, str]:
    """Return the page as it is drawn from nothing but the messages that its own connection has received."""
    state = next(each for each in reversed(page.received) if isinstance(each, messages.TableState))
    assert page.seat is not None
    hand = PlayerHand(page.seat, None, choice, (), page.seq if state.stage == "playing" else 0)
    view, seen = page.view, page.seen
    if hand.moment is not None:
        seen = seen[: hand.moment]
        view = folded(seen, eyes_of(page.seat))
    elif page.legal is not None:
        hand = replace(hand, legal=legal_of(page.legal, page.seat))
    parts, _seconds = PAGES.table(language, state, view, seen[-8:], None, hand=hand)
    return parts


async def test_a_page_shows_what_its_seats_messages_tell_and_nothing_else() -> None:
    """R4.2, R3.5: all that the server draws follows from what this very client was sent as any client is."""
    async with web_server() as server, contextlib.AsyncExitStack() as stack:
        host = await stack.enter_async_context(connected(server.port))
        code = (await host.open(5, "Host", starting=0)).table
        pages = {}
        for number, language in enumerate(("en", "fr", "it", "nl")):
            page = await stack.enter_async_context(player_page(server.port, code, language=language))
            await page.join(code, f"P{number}")
            pages[language] = page
        await host.send(messages.StartGame(host.next_id()))
        peers = [host, *pages.values()]
        for peer in peers:
            while (await peer.until(messages.TableState)).stage == "gathering":
                pass
        chosen = dict.fromkeys(pages, MoveChoice())
        chosen["en"] = MoveChoice(piece="Em", field="A1", position=1, orientation=2)
        await pages["en"].socket.send('{"piece": "Em", "field": "A1", "position": 1, "orientation": 2}')
        chosen["it"] = MoveChoice(moment=20)
        await pages["it"].socket.send('{"moment": 20}')
        for moves in (1, 5, 1, 20, 13):  # tiles, the first pieces, most of them
            await play_on(peers, random.Random(moves), moves)
            for language, page in pages.items():
                wanted = drawn(page, language, chosen[language])
                await page.until_shown(lambda parts, wanted=wanted: parts == wanted)  # type: ignore[misc]
        for page in pages.values():
            (own,) = page.sight.start.peoples[page.seat or 0]
            kinds = set(re.findall(rf"\b([ESLMA])[mf](?:\*|{re.escape(WITH_WOLF)})", "".join(page.shown)))
            assert kinds == {own}
        await play_on(peers, random.Random(0))
        for page in pages.values():
            await page.until_shown(lambda parts: "rematch" in parts["ask"])


async def test_a_player_looks_back_move_by_move_and_steps_through_the_scoring() -> None:
    """As a terminal does: nothing can be touched in the past, and the present is one step away.

    After the game, the steps are those of the whole record.
    """
    async with seated_in_browser(starting=1) as (host, page):
        await host.send(messages.StartGame(host.next_id()))
        await page.news()
        await host.news()
        await play_on((host, page), random.Random(1), 12)
        await page.until_shown(lambda parts: f"{page.seq}/{page.seq}" in parts.get("look", ""))
        for moment in (1, 4, page.seq - 1):
            await page.socket.send(f'{{"moment": {moment}}}')
            there = f">{moment}/{page.seq}<"
            await page.until_shown(lambda parts, there=there: there in parts["look"])  # type: ignore[misc]
            assert "Looking back" in page.parts["now"]
            assert not any("data-choose" in page.parts[f"hex{each}"] for each in range(50))
            assert "data-choose" not in page.parts["hand"]
        assert "Back to the present" in page.parts["ask"]
        await page.socket.send('{"moment": 0}')
        await page.until_shown(lambda parts: "Looking back" not in parts["now"])
        await play_on((host, page), random.Random(2))
        await page.until_shown(lambda parts: "rematch" in parts["ask"])
        await page.socket.send('{"moment": 2}')
        await page.until_shown(lambda parts: ">2/" in parts["look"])
        assert page.parts["result"] == ""
        await page.socket.send('{"moment": 999}')
        await page.until_shown(lambda parts: "<table>" in parts["result"])


async def test_who_waits_at_a_page_sees_who_comes_to_the_lobby_and_invites_them() -> None:
    """The page enters the lobby without its player, who need not know if the name is taken there."""
    async with web_server() as server, all_connected(server.port, 2) as (host, guest):
        code = (await host.open(4, "Host")).table
        async with player_page(server.port, code) as page:
            await page.join(code, "Page")
            assert await page.refusal(messages.EnterLobby, "Host", by="browser") == "name-in-use"
            await page.done(messages.EnterLobby, "Page", [page.token], "browser")
            await guest.done(messages.EnterLobby, "Gina", by="text")
            await page.until_shown(lambda parts: "in the lobby: Gina (text mode)" in parts.get("ask", ""))
            assert "&#34;invite&#34;" in page.parts["ask"]
            assert not page.parts.get("refusal")
            await page.done(messages.Invite)
            (invited,) = (await guest.until(messages.SaidInLobby)).remarks
            assert (invited.name, invited.table) == ("Page", code)
            await changed(server, host, Private(on=True))
            await page.until_shown(lambda parts: "&#34;invite&#34;" not in parts["ask"])


async def test_a_player_at_a_page_hears_all_news_of_the_server() -> None:
    news = messages.Announced("Down <at> ten."), messages.Stopping(60), messages.Stopping()
    assert {*map(type, news)} == {*get_args(messages.News)}
    async with web_server() as server, player_page(server.port, "") as page:
        for each in news:
            server.clients.broadcast(each)
            told = describe_news(each)
            await page.until_shown(lambda parts, told=told: parts.get("told") == told)  # type: ignore[misc]


async def test_players_in_browsers_see_who_watches_and_strangers_how_many() -> None:
    async with seated_in_browser(starting=1) as (host, page), connected(page.port) as zoe:
        await host.send(messages.StartGame(host.next_id()))
        await page.news()
        await zoe.answer(messages.Watching, messages.Watch, page.code, name="Zoe")
        await page.until_shown(lambda parts: "spectators: Zoe" in parts.get("players", ""))
        async with viewer(page.port, f"/watch/{page.code}") as stranger:
            await stranger.until("players", "2 spectators")
            assert not any("Zoe" in frame for frame in stranger.received)


async def test_a_page_shows_the_way_to_another_device(caplog: pytest.LogCaptureFixture) -> None:
    """To whoever has the token, which nobody else learns, and no log; the code leads to this server."""
    token = "t0ken" + "-" * 38
    async with seated_in_browser() as (_host, page):
        await page.socket.send(json.dumps({"device": f"{page.code}#{token}"}))
        await page.until_shown(lambda parts: f"/play/{page.code}#{token}</code>" in parts.get("device", ""))
        assert 'class="qr"' in page.parts["device"]
        for odd in (token, f"../{token}", f"{page.code}#{token}x", f"{page.code}#<b>"):
            await page.socket.send(json.dumps({"device": odd}))
            assert (await page.until(messages.Refused)).code == "bad-message"
    assert "t0ken" not in caplog.text


async def test_a_page_without_its_seats_token_shows_nothing_of_it() -> None:
    async with seated_in_browser(starting=1, random_layout=True) as (host, page):
        code, token = page.code, page.token
        await host.send(messages.StartGame(host.next_id()))
        await page.until_shown(lambda parts: "data-choose" in parts.get("hand", ""))
        async with player_page(page.port, code) as other:
            assert await other.refusal(messages.Resume, code, "x" * 43) == "bad-token"
            shown = {part for part, inside in other.parts.items() if inside}
            assert shown <= {"refusal", "now", "way-in"}
        async with player_page(page.port, code) as again:
            await again.resume(code, token)
            await again.until_shown(lambda parts: "data-choose" in parts.get("hand", ""))
            assert token not in "".join(again.shown)


async def test_what_a_page_says_is_a_choice_a_message_or_refused() -> None:
    async with seated_in_browser(starting=1, random_layout=True) as (host, page):
        await page.socket.send('{"field": "A1", "piece": "As"}')  # there is no game
        await host.send(messages.StartGame(host.next_id()))
        await page.until_shown(lambda parts: "Touch a piece" in parts.get("ask", ""))
        own = json.loads(re.findall(r"data-choose=\"([^\"]*)", page.parts["hand"])[0].replace("&#34;", '"'))
        await page.socket.send(json.dumps(own))
        await page.until_shown(lambda parts: f"Place {own['piece']} on A1" in parts["ask"])
        assert " influence on " in page.parts["ask"]
        async with player_page(page.port, page.code) as other:
            for said in ('{"field": "H9"}', "[" * 8000, "[1]", '{"t": 1}', f'{{"t": "ping", "id": {2**70}}}'):
                await other.socket.send(said)
                assert (await other.until(messages.Refused)).code == "bad-message"
            await other.socket.send(" " * 70_000)
            with pytest.raises(ConnectionClosed):
                await other.until_shown(lambda _parts: False)
            assert other.socket.close_code == 1009


@pytest.mark.parametrize(
    ("codings", "short"),
    [("gzip, br", True), ("br;q=1, gzip;q=0.5", True), ("gzip;q=0", False), ("br", False), ("", False)],
)
async def test_pages_are_compressed_for_those_who_can_read_that(codings: str, short: bool) -> None:
    async with web_server() as server:
        plain = await asked(server.port, "/play/")
        answer = await asked(server.port, "/play/", headers={"Accept-Encoding": codings})
        head = await asked(server.port, "/play/", "HEAD", headers={"Accept-Encoding": codings})
    assert answer.headers.get("content-encoding") == ("gzip" if short else None)
    assert (gzip.decompress(answer.body) if short else answer.body) == plain.body
    assert head.headers["content-length"] == str(len(answer.body))
    assert answer.headers["vary"] == "Accept-Encoding"


@pytest.mark.parametrize("random_layout", [False, True])
async def test_a_move_is_suggested_at_a_page_where_the_host_allows_hints(*, random_layout: bool) -> None:
    """It is chosen then, and the player may choose another one; the next one has to be asked for."""
    config = Config(pages=WebPages(), brains={"random": at_random}, limits=Limits(pages_cpu=1.0))
    async with running(config) as server, connected(server.port) as host:
        code = (await host.open(2, "Host", starting=1, random_layout=random_layout)).table
        async with player_page(server.port, code) as page:
            await page.join(code, "Anna")
            await host.done(messages.StartGame(host.next_id()))
            await page.until_shown(lambda parts: "Touch" in parts.get("ask", ""))
            await page.socket.send('{"hint": true}')
            assert "suggest a move" not in page.parts["ask"]
            await changed(server, host, AllowHints(on=True))
            await page.until_shown(lambda parts: "suggest a move" in parts["ask"])
            await page.socket.send('{"hint": true}')
            await page.until_shown(lambda parts: "Hint: " in parts["ask"])
            chosen = json.loads(html.unescape(re.findall('data-do="([^"]*)', page.parts["ask"])[0]))
            hint = page.parts["ask"].partition("Hint: ")[2]
            assert all(str(chosen[each]) in hint for each in ("piece", "field", "position") if each in chosen)
            await page.done(page.random_move(random.Random(1)))
            await page.until_shown(lambda parts: "Hint: " not in parts["ask"])


async def test_a_refusal_is_told_in_the_readers_language() -> None:
    async with seated_in_browser(language="it", starting=0, random_layout=True) as (host, page):
        await host.send(messages.StartGame(host.next_id()))
        await page.news()
        assert await page.refusal(messages.PlacePiece, "Em", "A1") == "not-your-turn"
        await page.until_shown(lambda parts: "Non è il tuo turno" in parts.get("refusal", ""))


async def test_the_page_of_a_seat_is_small_and_the_same_for_all_codes() -> None:
    """Nobody learns from it which tables there are; it loads nothing else, 60 KB at most.

    Without a code it opens a table, as any client does, and shows the seat that comes of it.
    """
    async with web_server() as server, connected(server.port) as host:
        code = (await host.open(2, "Host", switches=ChosenSwitches(private=True))).table
        pages = [await asked(server.port, f"/play/{each}") for each in (code, "ABCDEFGH")]
        odd = [await asked(server.port, path) for path in ("/play", "/play/ABC", "/play/ABCD/")]
        assert "select" in (await asked(server.port, "/play/")).text
        async with player_page(server.port, "") as page:
            await page.open(2, "Anna")
            await page.until_shown(lambda parts: "Anna" in parts.get("players", ""))
            assert server.lobby.tables.keys() == {page.code, code}
    assert [page.status for page in pages] == [200, 200]
    assert pages[0].text.replace(code, "ABCDEFGH") == pages[1].text
    assert len(pages[0].body) < 60_000
    assert {page.status for page in odd} == {404}


async def test_pages_that_are_for_watching_only_seat_nobody() -> None:
    """`--web=watch`: no page of a seat, no link to one, and no websocket there."""
    async with running(Config(pages=WebPages(plays=False))) as server, connected(server.port) as host:
        code = (await host.open(2, "Host")).table
        for path in (f"/play/{code}", "/play/"):
            assert (await asked(server.port, path)).status == 404
        with pytest.raises(InvalidStatus, match="403"):
            async with player_page(server.port, code):
                pass
        async with viewer(server.port, f"/watch/{code}") as page:
            assert (await page.receive())["play"] == ""
    async with web_server() as server, connected(server.port) as host:
        code = (await host.open(2, "Host")).table
        async with viewer(server.port, f"/watch/{code}") as page:
            assert f'href="../play/{code}"' in (await page.receive())["play"]
