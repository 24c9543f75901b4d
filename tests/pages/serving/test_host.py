"""The page of an evening's host: who may use it, and what can be done there."""

import json
import stat
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from pages.drawing.pages import WebPages
from protocol.admin import EveningPlan
from protocol.codes import CloseCode, Code
from protocol.messages import Refused, SignedUp, SignUp
from server.admin.endpoint import SOCKET_NAME
from server.app import Running, running
from server.config import Config, Limits
from server.tables.evening.host_key import FILE_NAME
from tests.pages.serving.viewer import Viewer, asked, viewer
from tests.server.admin.admin_peer import answer, failure_of
from tests.server.peer import connected
from tests.server.tables.evenings import Guest

WORD = "Aventinus"
CONFIG = Config(pages=WebPages(), evening=EveningPlan("Idus <i>", rounds=2))


@asynccontextmanager
async def hosted(data: Path, config: Config = CONFIG) -> AsyncIterator[tuple[Running, str]]:
    """Serve an evening, and yield the key in the host's link."""
    async with running(replace(config, data=data, admin=data / SOCKET_NAME)) as server:
        link = (await answer(data, "evening-host"))["link"]
        page, _, key = link.partition("#")
        assert page.endswith(f":{server.port}/host")
        yield server, key


async def order(page: Viewer, key: str | None, do: str, **fields: str) -> Mapping[str, str]:
    """Ask for something as the page does; return what it shows of the answer."""
    asks = {"v": 1, "ask": {"do": do, **fields}} | ({} if key is None else {"token": key})
    await page.socket.send(json.dumps(asks))
    while "refusal" not in (changed := await page.receive()):
        pass
    return changed


async def test_the_host_draws_rounds_removes_people_and_hands_over(tmp_path: Path) -> None:
    """The page shows who has come, and follows what happens; what it cannot do it says in its language."""
    async with (
        hosted(tmp_path) as (server, key),
        connected(server.port) as one,
        connected(server.port) as two,
        viewer(server.port, "/host", language="it") as page,
    ):
        guests = [Guest("Anna"), Guest("Bruno & Co.")]
        for guest, peer in zip(guests, (one, two), strict=True):
            await guest.sign_up(peer)
        assert (await order(page, key, "evening"))["refusal"] == ""
        await page.until("evening", "Bruno &amp; Co.")
        assert "Idus &lt;i&gt;" in page.parts["evening"]
        told = await order(page, key, "evening-remove", name="Carla")
        assert "Carla" in told["refusal"]
        handed = await order(page, key, "evening-hand-over", name="Anna")
        token = handed["device"].partition("/play/EVENING#")[2][:43]
        assert 'class="qr"' in handed["device"]
        assert (await one.closed())[0] == CloseCode.TAKEN_OVER
        async with connected(server.port) as other:
            again = await other.answer(SignedUp, SignUp, "-", token, back=True, new_token="x" * 43)
            assert again.person == guests[0].person
            await order(page, key, "evening-draw")
            await page.until("evening", "✓ 0/2")
            assert "evening-draw" not in page.parts["evening"]
            assert (await order(page, key, "evening-draw"))["refusal"]
            await other.resume((await guests[1].called(1)).table, "x" * 43)
            await page.until("evening", "✓ 1/2")
        await order(page, key, "evening-remove", name="Bruno & Co.")
        assert (await two.until(Refused)).code == Code.REMOVED_FROM_EVENING
        assert "evening-close" in page.parts["evening"]
        await order(page, key, "evening-close")
        await page.until("evening", "ultimo")


async def test_nobody_without_the_key_sees_or_does_anything(tmp_path: Path) -> None:
    """Whatever they send; a page whose link was replaced is none any more."""
    async with hosted(tmp_path) as (server, key):
        assert server.lobby.evenings.running is not None
        closing = {"v": 1, "ask": {"do": "evening-close"}}
        for sent in (
            json.dumps(closing),
            json.dumps(closing | {"token": ""}),
            json.dumps(closing | {"token": key[:-1]}),
            json.dumps(closing | {"token": "é" * 43}),
            json.dumps(closing | {"v": 2, "token": key}),
            json.dumps({"v": 1, "ask": {"do": "evening-host"}}),
            *("[" * 8000, "null", "", "{}"),
            b"\xff",
        ):
            async with viewer(server.port, "/host") as page:
                await page.socket.send(sent)
                assert await page.closed() == 1000
                assert "admin evening host" in page.parts["refusal"]
                assert not page.parts["evening"]
        assert not server.lobby.evenings.running.state.closed
        async with viewer(server.port, "/host") as page:
            assert (await order(page, key, "evening"))["refusal"] == ""
            await answer(tmp_path, "evening-host")
            told = await order(page, key, "evening-close")
            assert "admin evening host" in told["refusal"]
            assert await page.closed() == 1000
        assert not server.lobby.evenings.running.state.closed


async def test_who_opens_the_page_and_says_nothing_is_cut(tmp_path: Path) -> None:
    config = replace(CONFIG, limits=Limits(hello_seconds=0.05))
    async with hosted(tmp_path, config) as (server, _key), viewer(server.port, "/host") as page:
        assert await page.closed() == CloseCode.POLICY_VIOLATION
        assert page.parts == {}


@pytest.mark.parametrize(
    "do", [{"do": "status"}, {"do": "evening-host"}, {"do": "log-level", "level": "error"}, {"do": "backup"}]
)
async def test_the_host_of_an_evening_has_no_other_power_over_the_server(
    tmp_path: Path, do: dict[str, str]
) -> None:
    async with hosted(tmp_path) as (server, key), viewer(server.port, "/host") as page:
        assert "not for the host" in (await order(page, key, **do))["refusal"]
        assert (await order(page, key, "evening"))["refusal"] == ""


async def test_the_key_outlives_the_server_which_does_not_keep_it(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (_server, key):
        pass
    kept = tmp_path / FILE_NAME
    assert key not in kept.read_text()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    config = replace(CONFIG, data=tmp_path)
    async with running(config) as server, viewer(server.port, "/host") as page:
        assert (await order(page, key, "evening"))["refusal"] == ""
    kept.write_bytes(b"\xff")
    async with running(config) as server, viewer(server.port, "/host") as page:
        assert (await order(page, key, "evening"))["refusal"] != ""


async def test_there_is_no_link_without_an_evening_or_pages(tmp_path: Path) -> None:
    for name, config in (
        ("no-evening", replace(CONFIG, evening=None)),
        ("no-pages", replace(CONFIG, pages=None)),
    ):
        data = tmp_path / name
        async with running(replace(config, data=data, admin=data / SOCKET_NAME)):
            assert (await failure_of(data, "evening-host"))["code"] == name


async def test_the_page_itself_is_everybodys_and_says_nothing(tmp_path: Path) -> None:
    """With a password, too, which a host who has the key need not give."""
    async with hosted(tmp_path, replace(CONFIG, password=WORD)) as (server, key):
        page = await asked(server.port, "/host")
        assert page.status == 200
        assert "Idus" not in page.text
        async with viewer(server.port, "/host") as live:
            assert "/play/EVENING" in (await order(live, key, "evening"))["ways"]
            await live.until("evening", "Idus")
