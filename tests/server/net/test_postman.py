"""Which addresses notices go to: nothing on the operator's own network unless the operator names it."""

import asyncio
import ipaddress
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from commands.serving.notices import wording
from protocol.codes import Code
from server.config import PlayerNotice
from server.net.postman import NoticePostman, is_public
from server.refusal import Refusal
from tests.server.net.receivers import http_receiver

NOTICE = PlayerNotice("turn", "ABCD", "key")


def postman(*allowed: str) -> NoticePostman:
    return NoticePostman(allowed, None, wording=wording)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
        "0.0.0.0",  # noqa: S104 - nothing listens there
        *("224.0.0.1", "255.255.255.255", "240.0.0.1", "198.18.0.1", "192.0.2.1"),
        *("::", "::1", "fe80::1", "fe80::1%1", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8"),
        *("64:ff9b::7f00:1", "2002:7f00:1::", "2001:0:7f00:1::", "2001:db8::1", "::127.0.0.1"),
    ],
)
def test_addresses_that_are_not_on_the_internet(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2a00:1450:4001:831::200e"])
def test_addresses_on_the_internet(address: str) -> None:
    assert is_public(address)


def test_addresses_on_the_networks_of_this_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is at home may have public IPv6 addresses."""
    here = ipaddress.ip_interface("2a00:1450:4001:831::1/64")
    monkeypatch.setattr("server.net.postman.all_interfaces", lambda: (here,))
    assert not is_public("2a00:1450:4001:831::200e")


async def test_a_name_is_resolved_once_and_every_address_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    async def getaddrinfo(host: str, port: int, **_options: object) -> list[Any]:
        asked.append(host)
        return [(2, 1, 6, "", (address, port)) for address in ("8.8.8.8", "127.0.0.1")]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    assert (
        await postman("url").send("http://example.org/", "en", "ws://here", NOTICE) == "not a public address"
    )
    assert asked == ["example.org"]


@pytest.mark.parametrize("name", ["localhost", "elsewhere.example.org"])
async def test_certificates_are_checked(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(name).configure_cert(tls)
    async with http_receiver(tls) as receiver:
        sender = postman(f"url:localhost:{receiver.port}")
        fault = await sender.send(f"https://localhost:{receiver.port}/ann?a=1", "en", "ws://here", NOTICE)
        if name == "localhost":
            assert fault is None
            assert receiver.heads[0].startswith("POST /ann?a=1 HTTP/1.1\r\nHost: localhost:")
        else:
            assert fault == "SSLCertVerificationError"


@pytest.mark.parametrize(
    "url",
    [
        *("http://localhost/", "http://127.1/", "http://0x7f000001/", "http://2130706433/", "http://[::1]/"),
        *("http://[::ffff:127.0.0.1]/", "http://0/"),
    ],
)
async def test_nothing_is_sent_to_this_computer(url: str) -> None:
    """However its address is written: what the name leads to is looked at."""
    assert await postman("url").send(url, "en", "ws://here", NOTICE) in {"not a public address", "gaierror"}


@pytest.mark.parametrize(
    "address",
    [
        *("nonsense", "ftp://example.org/", "http://", "http://ann@example.org/", "http://[::1/"),
        *("http://example.org\\@10.0.0.1/", "http://example.org:99999/", "http://example.org/a b"),
        *("http://example.org/\r\nHost: x", "http://ex\u00e4mple.org/", "ann@localhost"),
        *("ann@example.org, bob@example.org", "ann@example.org\nBcc: bob@example.org"),
        *("http://example.org:22/", "https://example.org:80/"),
    ],
)
def test_addresses_that_are_refused(address: str) -> None:
    """Those that are none, and those at ports where no notice is meant to go."""
    with pytest.raises(Refusal) as refused:
        postman("url", "mail").kind_of(address)
    other_port = address.endswith((":22/", ":80/"))
    assert refused.value.code == (Code.ADDRESS_NOT_ALLOWED if other_port else Code.BAD_ADDRESS)


def test_the_operator_can_name_hosts_and_domains() -> None:
    chosen = postman("mail:example.org", "url:ntfy.lan:8080", "url:ntfy.sh")
    assert chosen.kind_of("ann@EXAMPLE.org") == "mail"
    assert chosen.kind_of("http://ntfy.lan:8080/ann") == chosen.kind_of("https://ntfy.sh/ann") == "url"
    elsewhere = ("http://ntfy.lan/ann", "https://ntfy.sh:8080/ann", "https://example.org/")
    for other in ("ann@example.com", *elsewhere):
        with pytest.raises(Refusal):
            chosen.kind_of(other)
