"""Bans: whom they keep out, that they last, and that nobody else notices."""

import ipaddress
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.exceptions import InvalidStatus

from protocol import messages
from protocol.admin import EveningPlan
from server.admin.endpoint import SOCKET_NAME
from server.app import running
from server.config import Config
from server.errors import StartError
from server.limits.banned import BannedNetworks, IpAddress, IpNetwork, network_to_ban
from server.net.connections.address import RefusedFor
from server.tables.bans import FILE_NAME
from tests.server.admin.admin_peer import answer, failure_of
from tests.server.peer import connected, connected_without_hello, eventually, exchange

HERE = (ipaddress.ip_network("127.0.0.1"),)
STRANGER = "127.0.0.2"
HELLO = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


def administered(data: Path, **options: Any) -> Config:
    return Config(data=data, admin=data / SOCKET_NAME, **options)


async def test_a_banned_address_gets_no_further_and_others_notice_nothing(tmp_path: Path) -> None:
    """Nothing from there is read: there is not even an answer. Connections that are open are closed."""
    async with (
        running(administered(tmp_path)) as server,
        connected(server.port) as friend,
        connected_without_hello(server.port, source=STRANGER) as stranger,
    ):
        await stranger.hello()
        banned = await answer(tmp_path, "ban", kind="network", what=STRANGER)
        assert banned == {"what": f"{STRANGER}/32", "closed": 1}
        await stranger.socket.wait_closed()
        await eventually(lambda: len(server.clients) == 1)
        assert await exchange(server.port, HELLO, source=STRANGER) == b""
        assert server.connections.refused[RefusedFor.BANNED] == 1
        await friend.open(2)


async def test_bans_last_until_they_are_lifted(tmp_path: Path) -> None:
    for _ in range(2):
        async with running(administered(tmp_path)) as server:
            await answer(tmp_path, "ban", kind="network", what=STRANGER)
            await answer(tmp_path, "ban", kind="name", what="Brutus")
            listed = await answer(tmp_path, "bans")
            assert [(each["kind"], each["what"]) for each in listed] == [
                ("network", f"{STRANGER}/32"),
                ("name", "Brutus"),
            ]
            assert await exchange(server.port, HELLO, source=STRANGER) == b""
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600
    async with running(administered(tmp_path)):
        assert await answer(tmp_path, "bans") == listed
        await answer(tmp_path, "unban", kind="network", what=STRANGER)
        await answer(tmp_path, "unban", kind="name", what="BRUTUS")
        assert (await failure_of(tmp_path, "unban", kind="name", what="Brutus"))["code"] == "no-such-ban"
    async with running(administered(tmp_path)) as server:
        assert await answer(tmp_path, "bans") == []
        assert b"426" in await exchange(server.port, HELLO, source=STRANGER)


async def test_who_comes_by_a_proxy_is_banned_by_the_own_address(tmp_path: Path) -> None:
    """A proxy itself is never banned: that would shut out everybody."""
    config = administered(tmp_path, trusted_proxies=HERE)
    async with (
        running(config) as server,
        connected(server.port, "203.0.113.7") as friend,
        connected(server.port, "198.51.100.9") as stranger,
    ):
        await answer(tmp_path, "ban", kind="network", what="127.0.0.0/8")
        banned = await answer(tmp_path, "ban", kind="network", what="198.51.100.0/24")
        assert banned["closed"] == 1
        await stranger.socket.wait_closed()
        with pytest.raises(InvalidStatus, match="503"):
            async with connected(server.port, "198.51.100.77"):
                pass
        async with connected(server.port, "203.0.113.8"):
            await friend.open(2)


async def test_who_comes_with_a_proxy_header_is_banned_too(tmp_path: Path) -> None:
    config = administered(tmp_path, trusted_proxies=HERE, proxy_header=True)
    async with running(config) as server:
        await answer(tmp_path, "ban", kind="network", what="2001:db8::7")
        header = b"PROXY TCP6 %s 2001:db8::1 4711 443\r\n"
        assert await exchange(server.port, header % b"2001:db8::8" + HELLO) == b""
        assert b"426" in await exchange(server.port, header % b"2001:db8:0:1::7" + HELLO)


@pytest.mark.parametrize("name", ["Brutus", "BRUTUS", "Brutu\u0455"])
async def test_a_banned_name_is_nobodys(tmp_path: Path, name: str) -> None:
    """Nor one that looks like it; whoever has a seat under it keeps that until an operator removes it."""
    config = administered(tmp_path, evening=EveningPlan("Ides"))
    async with (
        running(config) as server,
        connected(server.port) as seated,
        connected(server.port) as late,
    ):
        host = await seated.open(3, "Brutus")
        await answer(tmp_path, "ban", kind="name", what="Brutus")
        code = host.table
        assert host.token is not None
        requests: Sequence[tuple[Any, ...]] = (
            (messages.OpenTable, 2, name),
            (messages.JoinTable, code, name),
            (messages.Watch, code, 0, name),
            (messages.EnterLobby, name),
            (messages.SignUp, name, "t" * 43),
        )
        for request, *facts in requests:
            expected = "name-banned" if name.isascii() else "name-mixed-alphabets"
            assert await late.refusal(request, *facts) == expected, request
        async with connected(server.port) as again:
            await again.resume(code, host.token)
        await late.join(code, "Anna")


async def test_who_is_in_the_lobby_under_a_banned_name_leaves_it(tmp_path: Path) -> None:
    async with running(administered(tmp_path)) as server, connected(server.port) as brutus:
        await brutus.done(messages.EnterLobby, "Brutus")
        await answer(tmp_path, "ban", kind="name", what="brutus")
        assert await brutus.refusal(messages.SayInLobby, "Hail.") == "not-in-lobby"
        assert await brutus.refusal(messages.EnterLobby, "Brutus") == "name-banned"
        await brutus.done(messages.EnterLobby, "Marcus")


async def test_what_cannot_be_stored_is_not_banned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_file: int) -> None:
        raise OSError(28, "No space left on device")

    async with running(administered(tmp_path)) as server:
        await answer(tmp_path, "ban", kind="name", what="Cato")
        monkeypatch.setattr(os, "fsync", full)
        refused = await failure_of(tmp_path, "ban", kind="network", what=STRANGER)
        assert refused["about"] == {"reason": "No space left on device"}
        assert (await failure_of(tmp_path, "unban", kind="name", what="Cato"))["code"] == "failed"
        assert b"426" in await exchange(server.port, HELLO, source=STRANGER)
        assert [each["what"] for each in await answer(tmp_path, "bans")] == ["Cato"]
    assert not (tmp_path / f"{FILE_NAME}.unfinished").exists()


async def test_what_is_no_network_and_no_name_cannot_be_banned(tmp_path: Path) -> None:
    async with running(administered(tmp_path)):
        for what in ("Brutus", "192.0.2.7/24", "192.0.2.256"):
            for do in ("ban", "unban"):
                assert (await failure_of(tmp_path, do, kind="network", what=what))["code"] == "bad-request"
        for what, code in ((" x", "name-blank"), ("a\u202eb", "name-unprintable")):
            assert (await failure_of(tmp_path, "ban", kind="name", what=what))["code"] == code
        assert await answer(tmp_path, "bans") == []


@pytest.mark.parametrize("content", ["", "{}", "[1]", '[{"kind":"network","what":"x","since":1}]'])
async def test_a_server_does_not_start_without_its_bans(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE_NAME).write_text(content)
    with pytest.raises(StartError, match=r"the bans in .* cannot be understood"):
        async with running(Config(data=tmp_path)):
            pass
    assert (tmp_path / FILE_NAME).read_text() == content


async def test_without_a_data_folder_bans_end_with_the_server(tmp_path: Path) -> None:
    async with running(Config(admin=tmp_path / SOCKET_NAME)):
        await answer(tmp_path, "ban", kind="name", what="Brutus")
        assert len(await answer(tmp_path, "bans")) == 1
    assert not (tmp_path / FILE_NAME).exists()


@pytest.mark.parametrize(
    ("text", "network"),
    [
        ("192.0.2.7", "192.0.2.7/32"),
        ("192.0.2.0/24", "192.0.2.0/24"),
        ("2001:db8::7", "2001:db8::/64"),
        ("2001:db8::4:0:0:0/80", "2001:db8:0:0:4::/64"),
        ("2001:db8::/48", "2001:db8::/48"),
        ("::ffff:192.0.2.7", "192.0.2.7/32"),
        ("::ffff:192.0.2.0/120", "192.0.2.0/24"),
    ],
)
def test_what_a_ban_covers(text: str, network: str) -> None:
    """Of IPv6 at least what one household has."""
    assert network_to_ban(text) == ipaddress.ip_network(network, strict=False)


def networks(version: int) -> st.SearchStrategy[IpNetwork]:
    most = 32 if version == 4 else 64
    kind: Any = ipaddress.IPv4Network if version == 4 else ipaddress.IPv6Network
    made = st.tuples(st.ip_addresses(v=4 if version == 4 else 6), st.integers(0, most))
    return made.map(lambda found: kind(found, strict=False))


NETWORKS = st.lists(st.one_of(networks(4), networks(6)), max_size=8)


@given(NETWORKS, st.data())
def test_an_address_is_banned_if_it_is_in_a_banned_network(
    listed: list[IpNetwork], data: st.DataObject
) -> None:
    banned = BannedNetworks()
    for network in listed:
        banned.add(network)
    lifted = data.draw(st.sets(st.sampled_from(listed))) if listed else set()
    for network in lifted:
        banned.discard(network)
    addresses: list[IpAddress] = [data.draw(st.ip_addresses()), *(each[-1] for each in listed)]
    for address in addresses:
        assert (address in banned) is any(address in each for each in listed if each not in lifted)
    assert None not in banned
