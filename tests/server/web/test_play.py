"""Playing in a browser: a client like any other, whose page shows what its own messages tell, and no more."""

import contextlib
import html
import json
import random
import re
from dataclasses import replace

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from client.language import LANGUAGES
from client.ui.web.pages import WebPages
from engine.view import eyes_of, folded
from protocol.events import legal_of
from protocol.messages import CallMe, ConfirmCall, PlacePiece, Resume, Show, StartGame, TableState
from protocol.pages import MoveChoice, PlayerHand
from server.app import running
from server.config import Config
from tests.server.peer import connected, play_on
from tests.server.tables.test_notices import called_by_url
from tests.server.web.viewer import PagePeer, asked, player_page, seated_in_browser, viewer, web_server

PAGES = WebPages()
WORD = "Aventinus"


def drawn(page: PagePeer, language: str, choice: MoveChoice) -> dict[str, str]:
    """Return the page as it is drawn from nothing but the messages that its own connection has received."""
    state = next(each for each in reversed(page.received) if isinstance(each, TableState))
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
        for number, language in enumerate(LANGUAGES):
            page = await stack.enter_async_context(player_page(server.port, code, language=language))
            await page.join(code, f"P{number}")
            pages[language] = page
        await host.send(StartGame(host.next_id()))
        peers = [host, *pages.values()]
        for peer in peers:
            while (await peer.until(TableState)).stage == "gathering":
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
            kinds = set(re.findall(r"\b([ESLMA])[mf]\*", "".join(page.shown)))
            assert kinds == {own}
        await play_on(peers, random.Random(0))
        for page in pages.values():
            await page.until_shown(lambda parts: "rematch" in parts["ask"])


async def test_a_player_looks_back_move_by_move_and_steps_through_the_scoring() -> None:
    """As a terminal does: nothing can be touched in the past, and the present is one step away.

    After the game, the steps are those of the whole record, through which somebody may lead.
    """
    async with seated_in_browser(starting=1) as (host, page):
        await host.send(StartGame(host.next_id()))
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
        await host.done(Show, 5)
        await page.until_shown(lambda parts: "Host leads" in parts["look"])
        assert "<table>" in page.parts["result"]
        await page.socket.send('{"follow": true}')
        await page.until_shown(lambda parts: ">6/" in parts["look"] and "Looking back" in parts["now"])
        await host.done(Show, 255)
        await page.until_shown(lambda parts: "<table>" in parts["result"])
        await host.done(Show, 36)
        await page.until_shown(lambda parts: ">37/" in parts["look"])
        assert not re.search(r"\?\*", "".join(page.parts[f"hex{each}"] for each in range(50)))
        await page.socket.send('{"follow": false, "moment": 3}')
        await page.until_shown(lambda parts: ">3/" in parts["look"])
        await host.done(Show)
        await page.until_shown(lambda parts: "leads" not in parts["look"])


async def test_a_page_without_its_seats_token_shows_nothing_of_it() -> None:
    """Whoever knows the table, or has the page open, sees no seat; who comes back with the token does."""
    async with seated_in_browser(starting=1, random_layout=True) as (host, page):
        code, token = page.code, page.token
        await host.send(StartGame(host.next_id()))
        await page.until_shown(lambda parts: "data-choose" in parts.get("hand", ""))
        async with player_page(page.port, code) as other:
            assert await other.refusal(Resume, code, "x" * 43) == "bad-token"
            assert not any(
                inside for part, inside in other.parts.items() if part not in {"refusal", "now", "way-in"}
            )
        async with player_page(page.port, code) as again:
            await again.resume(code, token)
            await again.until_shown(lambda parts: "data-choose" in parts.get("hand", ""))
            assert token not in "".join(again.shown)


async def test_what_a_page_says_besides_is_a_choice_or_ends_the_connection() -> None:
    """A choice that makes no sense now is shown as none; a text that is no choice is not taken."""
    async with seated_in_browser(starting=1, random_layout=True) as (host, page):
        await page.socket.send('{"field": "A1", "piece": "As"}')  # there is no game
        await host.send(StartGame(host.next_id()))
        await page.until_shown(lambda parts: "Touch a piece" in parts.get("ask", ""))
        own = json.loads(re.findall(r"data-choose=\"([^\"]*)", page.parts["hand"])[0].replace("&#34;", '"'))
        await page.socket.send(json.dumps(own))
        await page.until_shown(lambda parts: f"Place {own['piece']} on A1" in parts["ask"])
        assert " influence on " in page.parts["ask"]
        for said, code in (('{"field": "H9"}', 1003), ("[" * 8000, 1003), (" " * 70_000, 1009)):
            async with player_page(page.port, page.code) as other:
                await other.socket.send(said)
                with pytest.raises(ConnectionClosed):
                    await other.until_shown(lambda _parts: False)
                assert other.socket.close_code == code


async def test_a_refusal_is_told_in_the_readers_language() -> None:
    """The code comes in the message, the sentence with the page."""
    async with seated_in_browser(language="it", starting=0, random_layout=True) as (host, page):
        await host.send(StartGame(host.next_id()))
        await page.news()
        refused = await page.refused(PlacePiece, "Em", "A1")
        assert refused.code == "not-your-turn"
        await page.until_shown(lambda parts: "Non è il tuo turno" in parts.get("refusal", ""))


async def test_a_player_in_a_browser_leaves_an_address_confirms_it_and_removes_it() -> None:
    """The menu offers it if the server calls anybody; what is typed goes into the button's message."""
    async with called_by_url() as called:
        config = replace(called.config, pages=WebPages())
        async with running(config) as server, connected(server.port) as host:
            code = (await host.open(2, "Host")).table
            async with player_page(server.port, code, language="it") as page:
                await page.join(code, "Anna")
                await page.until_shown(lambda parts: 'name="to"' in parts.get("menu", ""))
                assert "un URL" in page.parts["menu"]
                called.receiver.answers.append(b"HTTP/1.1 404 No\r\n\r\n")
                await page.done(CallMe, called.url, "it")
                await page.until_shown(lambda parts: "non ha potuto essere consegnato" in parts["menu"])
                await called.receiver.next()
                await page.done(CallMe, called.url, "it")
                await page.until_shown(lambda parts: 'name="digits"' in parts["menu"])
                await page.done(ConfirmCall, await called.receiver.code())
                await page.until_shown(lambda parts: 'name="' not in parts["menu"])
                assert "secret-topic" not in "".join(page.shown)
                off = next(
                    each for each in re.findall('data-do="([^"]*)', page.parts["menu"]) if "call-me" in each
                )
                assert json.loads(html.unescape(off)) == {"t": "call-me", "id": 0}
                await page.done(CallMe)
                await page.until_shown(lambda parts: 'name="to"' in parts["menu"])


async def test_the_page_of_a_seat_is_small_and_the_same_for_all_codes() -> None:
    """Nobody learns from it which tables there are; it loads nothing else, 60 KB at most."""
    async with web_server() as server, connected(server.port) as host:
        code = (await host.open(2, "Host", private=True)).table
        pages = [await asked(server.port, f"/play/{each}") for each in (code, "ABCDEFGH")]
        odd = [await asked(server.port, path) for path in ("/play", "/play/ABC", "/play/ABCD/")]
    assert [page.status for page in pages] == [200, 200]
    assert pages[0].text.replace(code, "ABCDEFGH") == pages[1].text
    assert len(pages[0].body) < 60_000
    assert {page.status for page in odd} == {404}


async def test_a_table_can_be_opened_where_no_table_is() -> None:
    """The page has no code; opening is what any client does, and the page shows the seat that comes of it."""
    async with web_server() as server:
        assert "select" in (await asked(server.port, "/play/")).text
        async with player_page(server.port, "") as page:
            await page.open(2, "Anna")
            await page.until_shown(lambda parts: "Anna" in parts.get("players", ""))
            assert server.lobby.tables.keys() == {page.code}


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


async def test_a_server_with_a_password_asks_players_in_browsers_for_it() -> None:
    """In the hello, as it asks any client: without it there is nothing to be seen."""
    async with running(Config(pages=WebPages(), password=WORD)) as server:
        answer = await asked(server.port, "/play/ABCD")
        assert 'type="password"' in answer.text
        with pytest.raises(AssertionError):
            async with player_page(server.port, "ABCD"):
                pass
