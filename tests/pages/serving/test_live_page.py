"""Live pages and televisions: spectators like any other, drawn once for all, delaying nobody."""

import asyncio
import gc
import random
import re
import secrets
import socket
import threading
from dataclasses import replace
from typing import Any, NoReturn

import pytest

from client.ui.texts.pieces import UNKNOWN_WOLF, WITH_WOLF
from engine.pieces import Seat
from pages.drawing.pages import WebPages
from pages.serving import live_page, subjects, television
from pages.serving.live_page import LivePage
from pages.serving.subjects import WatchedTable
from pages.serving.television import Television
from protocol import messages
from protocol.admin import EveningPlan
from protocol.messages import OpenTable, SignUp, StartGame
from protocol.settings import ChosenSwitches, Private, Spectators
from server.app import running
from server.config import Config, Limits
from server.storage.entries import EndedByHost
from server.tables.feature import SpectatorRemoved
from tests.pages.serving.viewer import (
    asked,
    player_page,
    seated_in_browser,
    viewer,
    watched_game,
    web_server,
)
from tests.server.peer import TIMEOUT, UPGRADE, all_connected, connected, eventually
from tests.server.playing import changed, full_table, game, happen, play_on, table_of

_HIDDEN = re.compile(rf"\b[ESLMA][mf](?:\*|{re.escape(WITH_WOLF)})")  # a wolf piece whose kind is told


async def test_a_page_follows_a_table_move_by_move() -> None:
    async with watched_game() as (_, peers, page):
        first = await page.receive()
        await page.until("players", "1 spectator")
        for moves in range(1, 4):
            await play_on(peers, random.Random(moves), 1)
            while sum('class="piece"' in inside for inside in page.parts.values()) < moves:
                changed = await page.receive()
            assert len(str(changed)) < len(str(first)) / 2
        assert "Player 1" in page.parts["now"]


async def test_a_page_that_is_watched_is_never_silent_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """So its browser notices when the line is dead."""
    monkeypatch.setattr(live_page, "_SECONDS_OF_SILENCE", 0.01)
    async with watched_game() as (_, _peers, page):
        await page.until("players", "1 spectator")
        while await page.receive():
            pass
        assert await page.receive() == {}


async def test_a_page_that_nobody_sees_any_more_leaves_memory_at_once() -> None:
    """It is freed without the garbage collector: each holds a game, and many would pile up until then."""
    async with web_server() as server, connected(server.port) as host:
        code = (await host.open(2, "Host")).table
        gc.collect()
        before = pages_in_memory()
        gc.disable()
        try:
            async with (
                viewer(server.port, f"/watch/{code}") as page,
                viewer(server.port, "/tv") as television,
                player_page(server.port, code) as player,
            ):
                await player.join(code, "Anna")
                await player.until_shown(lambda parts: "Anna" in parts.get("players", ""))
                await page.until("players", "Anna")
                await television.receive()
                assert pages_in_memory() > before
            await eventually(lambda: pages_in_memory() == before)
        finally:
            gc.enable()


def pages_in_memory() -> int:
    kinds = LivePage, WatchedTable, Television
    return sum(issubclass(type(each), kinds) for each in gc.get_objects())  # of proxies, isinstance fails


async def test_a_page_keeps_what_it_shows_until_its_player_is_back() -> None:
    """Whoever connects again has no seat yet, and is not told that there is no table."""
    async with seated_in_browser() as (_, page):
        await page.until_shown(lambda parts: "Anna" in parts.get("players", ""))
        async with player_page(page.port, page.code) as again:
            await again.resume(page.code, page.token)
            await again.until_shown(lambda parts: "Anna" in parts.get("players", ""))
            await again.done(messages.Leave)
            await again.until_shown(lambda parts: "no table" in parts["now"])
        assert all("no table" not in each for each in again.shown[:-1])


async def test_a_browser_is_a_spectator_like_any_other() -> None:
    async with web_server() as server, full_table(server.port, 2) as peers:
        host = peers[0]
        async with viewer(server.port, f"/watch/{host.code}", address="127.0.0.2") as page:
            await page.receive()
            state = await host.until(messages.TableState)
            assert state.spectators == 1
            await happen(server, host, SpectatorRemoved(state.watching[0].number))
            assert await page.closed() == 1000
            assert "no table" in page.parts["now"]
        await eventually(lambda: not table_of(server, peers).audience.spectators)
        async with viewer(server.port, f"/watch/{host.code}", address="127.0.0.2") as again:
            assert await again.closed() == 1000
            assert again.parts["players"] == ""


@pytest.mark.parametrize("setting", [Spectators(on=False), Private(on=True)])
async def test_a_table_that_is_closed_or_private_is_seen_no_more(setting: Spectators | Private) -> None:
    async with watched_game() as (server, peers, page):
        await page.until("players", "Player 0")
        await changed(server, peers[0], setting)
        assert await page.closed() == 1000
        assert "no table" in page.parts.pop("now")
        assert page.parts.pop("way-in") == "Join"  # as on the page of any code
        assert not any(page.parts.values())
        async with viewer(server.port, f"/watch/{peers[0].code}") as later:
            assert await later.closed() == 1000
        unknown = next(code for code in ("AAAA", "BBBB") if code not in server.lobby.tables)
        async with viewer(server.port, f"/watch/{unknown}") as other:
            assert await other.closed() == 1000
        assert later.received == other.received


async def test_a_table_on_its_way_to_another_server_is_waited_for(database: str) -> None:
    """By pages that have just shown it; what they are told is the same for a private table and for none."""
    config = Config(database=database, pages=WebPages())
    async with (
        running(config) as server,
        all_connected(server.port, 2) as (anna, bruno),
        web_server() as alone,
    ):
        code = (await anna.open(2, "Anna")).table
        private = (await bruno.open(2, "Bruno", switches=ChosenSwitches(private=True))).table
        async with viewer(server.port, f"/watch/{code}") as page:
            await page.until("players", "Anna")
            server.lobby.tables[code].give_up()
            assert await page.closed() == 1012
            assert "no table" not in page.parts["now"]
        none = next(each for each in ("AAAA", "BBBB", "CCCC") if each not in (code, private))
        for each in (code, private, none):
            async with viewer(server.port, f"/watch/{each}?again=1&lang=nl") as page:
                assert await page.closed() == 1013
                assert page.parts == {}
        for port, query in ((server.port, ""), (alone.port, "?again=1")):
            async with viewer(port, f"/watch/{none}{query}") as page:
                assert await page.closed() == 1000


async def test_a_table_has_no_more_browsers_than_spectators() -> None:
    async with watched_game(spectators=1) as (server, peers, first):
        await first.receive()
        async with viewer(server.port, f"/watch/{peers[0].code}") as second:
            assert await second.closed() == 1013
            assert "spectators" in second.parts["now"]
        await first.socket.send("hello")
        assert await first.closed() == 1008


async def test_a_server_that_cannot_say_how_a_table_stands_sends_browsers_away_for_now(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with web_server() as server, game(server.port, 2) as peers:
        monkeypatch.setattr(type(server.lobby.journal), "lapsed", True)
        async with viewer(server.port, f"/watch/{peers[0].code}") as page:
            assert await page.closed() == 1013
        assert not page.received
        monkeypatch.undo()
        async with viewer(server.port, f"/watch/{peers[0].code}") as again:
            await again.until("players", "Player 0")
    assert not [record for record in caplog.records if record.exc_info]


async def test_the_list_of_tables_goes_on_by_itself() -> None:
    async with web_server() as server, viewer(server.port, "/watch") as page:
        assert await page.receive() == {"tables": "<p>No tables are open.</p>"}
        async with connected(server.port) as peer:
            await peer.open(2, "Anna")
            await page.until("tables", peer.code)
            await changed(server, peer, Private(on=True))
            await page.until("tables", "No tables")


async def test_each_reader_has_a_language() -> None:
    """Those who come while another's page is drawn are sent theirs together."""
    go = threading.Event()

    class Slow(WebPages):
        def table(self, *args: Any, **options: Any) -> Any:
            go.wait(TIMEOUT)
            return super().table(*args, **options)

    async with running(Config(pages=Slow())) as server, game(server.port, 2) as peers:
        path = f"/watch/{peers[0].code}"
        async with (
            viewer(server.port, path),
            viewer(server.port, path, language="it") as italian,
            viewer(server.port, f"{path}?lang=nl", language="it") as dutch,
        ):
            await eventually(lambda: len(table_of(server, peers).audience.spectators) == 3)
            go.set()
            assert (await italian.receive())["now"] != (await dutch.receive())["now"]


async def test_a_browser_that_does_not_read_delays_nobody_and_sees_the_latest() -> None:
    """No more than one frame waits for it, however much happens; then it gets all that it has missed."""
    async with web_server() as server, game(server.port, 2) as peers:
        table, code = table_of(server, peers), peers[0].code
        with socket.socket() as lazy:
            lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            lazy.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(lazy, ("127.0.0.1", server.port))
            here = f"/watch/{code} HTTP/1.1\r\nOrigin: http://here".encode()
            await loop.sock_sendall(lazy, UPGRADE.replace(b"/ HTTP/1.1", here))
            await eventually(lambda: len(table.audience.spectators) == 1)
            (session,) = (each for each in server.clients if each.client == "web page")
            async with viewer(server.port, f"/watch/{code}") as page:
                await play_on(peers, random.Random(1), 12)
                await page.until("moves", "Player 1")
                while sum('class="piece"' in inside for inside in page.parts.values()) < 12:
                    await page.receive()
            assert session.connection.transport.get_write_buffer_size() < 64 * 1024
            seen = b""
            async with asyncio.timeout(TIMEOUT):
                while seen.count(b'class=\\"piece\\"') < 12:
                    seen += await loop.sock_recv(lazy, 65536)


async def test_the_scoring_is_walked_through_for_those_who_saw_the_game() -> None:
    pages = WebPages(characters_per_second=1e6)
    async with running(Config(pages=pages)) as server, game(server.port, 2) as peers:
        path = f"/watch/{peers[0].code}"
        async with viewer(server.port, path) as page:
            await page.receive()
            await play_on(peers, random.Random(1))
            await page.until("now", "wolves turn up")
            await page.until("now", "Hill")
            async with viewer(server.port, path) as newcomer:
                first = await newcomer.receive()
                assert "points" in first["players"]
                assert first["result"] == ""
        async with viewer(server.port, path) as later:  # nobody has seen it in the meantime
            assert "<table>" in (await later.receive())["result"]
        subject = WatchedTable(peers[0].code, server.lobby.public, pages)
        subject._step = 0
        sentences = []
        while (sight := subject.sight()) is not None:
            parts, seconds = sight.draw("en")
            sentences.append(parts["now"])
            if seconds is None:
                break
            subject.advance()
    assert len(sentences) > 10
    assert "wins" in sentences[-1] or "share" in sentences[-1]


async def test_a_game_that_was_ended_shows_no_wolf() -> None:
    """It has no result, so nothing is revealed; the page says that the host has ended it."""
    async with watched_game() as (server, peers, page):
        await play_on(peers, random.Random(5), 12)
        await happen(server, peers[0], EndedByHost())
        await page.until("now", "ended")
        assert page.parts["result"] == ""
        assert not _HIDDEN.search("".join(page.received))


async def test_a_drawing_that_fails_stops_no_game() -> None:
    class Broken(WebPages):
        def table(self, *_args: object, **_options: object) -> NoReturn:
            raise ZeroDivisionError

    async with watched_game(Broken()) as (server, peers, page):
        assert await page.closed() == 1011
        await play_on(peers, random.Random(1), 2)
        assert (await asked(server.port, "/")).status == 200


async def test_pages_that_nobody_sees_are_not_drawn() -> None:
    async with web_server() as server, game(server.port, 2) as peers:
        before = len(asyncio.all_tasks())
        async with (
            viewer(server.port, f"/watch/{peers[0].code}") as page,
            viewer(server.port, "/watch") as other,
        ):
            await page.receive()
            await other.receive()
        await eventually(lambda: not table_of(server, peers).audience.spectators)
        await eventually(lambda: len(asyncio.all_tasks()) <= before)


PAGES = WebPages(1e6)
WORD = "Aventinus"
CONFIG = Config(pages=PAGES, limits=Limits(pages_cpu=1.0))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an hour pass in some seconds."""
    monkeypatch.setattr(television, "_SECONDS_AT_A_TABLE", 2)
    monkeypatch.setattr(television, "_SECONDS_FOR_A_RESULT", 2)
    monkeypatch.setattr(television, "_SECONDS_FOR_STANDINGS", 2)


@pytest.mark.slow
async def test_the_game_that_ends_first_is_large_until_its_result_has_been_seen() -> None:
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
        await page.until("result", "<table>")
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
        await changed(server, closed[0], Spectators(on=False))
        await closed[0].done(StartGame)
        await private.ask(OpenTable, 2, "Hidden", switches=ChosenSwitches(private=True))
        for moves in (5, 12):
            await play_on(shown, random.Random(moves), moves)
            await play_on(small, random.Random(moves), moves - 1)
        drawn = set()
        for spectator in (shown[-1], small[-1]):
            state = subjects.public_state(server.lobby.tables[spectator.code].as_seen(), server.lobby.public)
            drawn |= {
                PAGES.small("en", state, spectator.sight, leader)
                for leader in (None, *map(Seat, range(len(state.seats))))
            }
        while page.parts.get("small0") not in drawn:
            await page.receive()
        sent = "".join(page.received)
    assert not _HIDDEN.search(sent)
    assert re.search(rf"\b[ESLMA]{re.escape(UNKNOWN_WOLF)}", sent)
    for code in (closed[0].code, private.code, "Hidden"):
        assert code not in sent


async def test_between_the_games_an_evening_shows_who_plays_next_and_the_standings() -> None:
    """With names that look like HTML as text, and one URL for all that is to come."""
    names = ("<b>Anna", "Bruno", "Carla")
    config = replace(CONFIG, evening=EveningPlan("Idus <i>", rounds=3))
    async with (
        running(config) as server,
        all_connected(server.port, 3) as peers,
        viewer(server.port, "/tv") as page,
    ):
        for name, peer in zip(names, peers, strict=True):
            await peer.ask(SignUp, name, secrets.token_urlsafe(32))
        await page.until("waiting", "Carla")
        assert "<h2>Signed up</h2>" in page.parts["waiting"]
        assert server.lobby.evenings.running is not None
        server.lobby.evenings.running.draw_now()
        await page.until("waiting", "To your tables!")
        told, strip = page.parts["waiting"], page.parts["strip"]
        assert "✓ 0/3" in told
        assert "The games begin within " in strip
    assert "Round 1 of " in strip
    assert "<b>" not in told
    assert "<i>" not in strip
    assert all(name.removeprefix("<b>") in told for name in names)
    assert "Standings" not in told  # nobody has played


@pytest.mark.slow
async def test_a_call_and_the_end_of_an_evening_interrupt_a_scoring() -> None:
    """Nobody in the room misses the next round because of an earlier game's result."""
    config = Config(
        pages=WebPages(0.001), evening=EveningPlan("Idus", rounds=1)
    )  # it is never read to its end
    async with (
        running(config) as server,
        game(server.port, 2) as peers,
        all_connected(server.port, 3) as guests,
        viewer(server.port, "/tv") as page,
    ):
        evening = server.lobby.evenings.running
        assert evening is not None
        for guest, name in zip(guests, ("Anna", "Bruno", "Carla"), strict=True):
            await guest.ask(SignUp, name, secrets.token_urlsafe(32))
        await page.until("players", "Player 0")
        await play_on(peers, random.Random(1))
        await page.until("now", "wolves turn up")
        evening.draw_now()
        await page.until("scene", "between")
        await page.until("waiting", "To your tables!")
        async with game(server.port, 2):
            (code,) = evening.state.tables
            await server.lobby.tables[code].close(None)  # nobody has come to the only round
            await page.until("scene", "podium")
            await page.until("strip", "The evening is over.")
            await page.until("scene", "games")


async def test_a_table_that_everybody_has_left_is_not_shown() -> None:
    async with (
        running(CONFIG) as server,
        game(server.port, 2) as left,
        viewer(server.port, "/tv") as page,
    ):
        await page.until("scene", "games")
        for peer in left:
            await peer.socket.close()
        await page.until("waiting", "No game is being played.")
        async with game(server.port, 3):
            await page.until("players", "Player 2")
            assert page.parts["small0"] == ""


async def test_a_television_joins_everybody_and_needs_no_evening() -> None:
    """The page has a code to join; with a password it shows as little as the others."""
    async with running(CONFIG) as server:
        page = await asked(server.port, "/tv")
        assert f"QR code that leads to http://127.0.0.1:{server.port}/" in page.text
        assert page.headers["content-security-policy"]
        assert len(page.body) < 60_000
    async with running(replace(CONFIG, password=WORD)) as server:
        assert (await asked(server.port, "/tv")).status == 403
