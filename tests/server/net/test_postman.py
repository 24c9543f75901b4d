"""The postman: at which addresses players may be called, and how notices are sent there."""

import asyncio
import ipaddress
import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import trustme

from commands.serving.notices import wording
from protocol.codes import Code
from server.config import PlayerNotice
from server.limits.networks import networks_of
from server.net.postman import NoticePostman, is_public
from server.refusal import Refusal
from tests.cases import cases
from tests.server.tables.calling import http_receiver

NOTICE = PlayerNotice("turn", "ABCD", "key")
HERE, ELSEWHERE = networks_of("127.0.0.1"), networks_of("127.0.0.2")


def postman(*allowed: str) -> NoticePostman:
    return NoticePostman(allowed, None, wording=wording)


def test_addresses_that_are_not_on_the_internet() -> None:
    assert not [address for (address,) in cases(__file__, "private_addresses") if is_public(address)]


def test_addresses_on_the_internet(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is at home may have public IPv6 addresses."""
    assert is_public("8.8.8.8")
    assert is_public("2a00:1450:4001:831::200e")
    here = ipaddress.ip_interface("2a00:1450:4001:831::1/64")
    monkeypatch.setattr("server.net.postman.all_interfaces", lambda: (here,))
    assert not is_public("2a00:1450:4001:831::200e")


async def test_a_name_is_resolved_once_and_every_address_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def getaddrinfo(host: str, port: int, *, flags: int, **_options: object) -> list[Any]:
        if flags:
            raise socket.gaierror
        asked.append(host)
        return [(2, 1, 6, "", (address, port)) for address in ("8.8.8.8", "127.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    fault = await postman("url").send("http://example.org/", "en", "ws://here", NOTICE, HERE)
    assert fault == "not a public address"
    assert asked == ["example.org"]


@pytest.fixture
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no notice fail because the machine is busy."""
    for name in ("_SECONDS", "_SECONDS_WITH_WAITING"):
        monkeypatch.setattr(f"server.net.postman.{name}", 3600.0)


@pytest.mark.usefixtures("_patient")
async def test_receivers_that_say_nothing_delay_no_others() -> None:
    """Two addresses with nine of them each had all places, and a friend's code came ten seconds late."""
    async with http_receiver() as silent, http_receiver() as receiver:
        silent.may_answer.clear()
        sender = postman(f"url:127.0.0.1:{silent.port}", f"url:127.0.0.1:{receiver.port}")
        askers = [networks_of(f"198.51.100.{number % 2}") for number in range(18)]
        url = f"http://127.0.0.1:{silent.port}/"
        sending = [asyncio.create_task(sender.send(url, "en", "ws://here", NOTICE, each)) for each in askers]
        for _ in range(4):
            await silent.next()
        assert await sender.send(f"http://127.0.0.1:{receiver.port}", "en", "ws://here", NOTICE, HERE) is None
        assert silent.arrived.empty()
        silent.may_answer.set()
        assert await asyncio.gather(*sending) == [None] * 18


@pytest.mark.usefixtures("_patient")
async def test_names_that_are_slow_to_resolve_delay_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither others' names nor what the event loop's threads do for everybody, such as writing records."""
    let_go = threading.Event()
    resolve = socket.getaddrinfo

    def getaddrinfo(host: str, port: int, *, flags: int, **options: Any) -> list[Any]:
        if host == "slow.example.org" and not flags:
            let_go.wait()
        return resolve(
            "127.0.0.1" if host.endswith(".org") and not flags else host, port, flags=flags, **options
        )

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    async with http_receiver() as receiver:
        slow, quick = (f"{name}.example.org:{receiver.port}" for name in ("slow", "quick"))
        sender = postman(f"url:{slow}", f"url:{quick}")
        sends = [sender.send(f"http://{slow}", "en", "ws://here", NOTICE, ELSEWHERE) for _ in range(10)]
        sending = asyncio.gather(*sends)
        assert await sender.send(f"http://{quick}", "en", "ws://here", NOTICE, HERE) is None
        assert await asyncio.to_thread(lambda: "a record") == "a record"
        assert not sending.done()
        let_go.set()
        assert await sending == [None] * 10


@pytest.mark.parametrize("name", ["localhost", "elsewhere.example.org"])
async def test_certificates_are_checked(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(name).configure_cert(tls)
    async with http_receiver(tls) as receiver:
        sender = postman(f"url:localhost:{receiver.port}")
        fault = await sender.send(
            f"https://localhost:{receiver.port}/ann?a=1", "en", "ws://here", NOTICE, HERE
        )
        if name == "localhost":
            assert fault is None
            assert receiver.heads[0].startswith("POST /ann?a=1 HTTP/1.1\r\nHost: localhost:")
        else:
            assert fault == "SSLCertVerificationError"


async def test_nothing_is_sent_to_this_computer() -> None:
    for (url,) in cases(__file__, "own_urls"):
        fault = await postman("url").send(url, "en", "ws://here", NOTICE, HERE)
        assert fault in {"not a public address", "gaierror"}, url


OF_MORE_LINES = "http://example.org/\r\nHost: x", "ann@example.org\nBcc: bob@example.org"


@pytest.mark.parametrize(
    ("address", "code"),
    [*cases(__file__, "bad_addresses"), *((each, Code.BAD_ADDRESS) for each in OF_MORE_LINES)],
)
def test_addresses_that_are_refused(address: str, code: str) -> None:
    """Those that are none, and those at ports where no notice is meant to go."""
    with pytest.raises(Refusal) as refused:
        postman("url", "mail").kind_of(address)
    assert refused.value.code == code


def test_the_operator_can_name_hosts_and_domains() -> None:
    chosen = postman("mail:example.org", "url:ntfy.lan:8080", "url:ntfy.sh")
    assert chosen.kind_of("ann@EXAMPLE.org") == "mail"
    assert chosen.kind_of("http://ntfy.lan:8080/ann") == chosen.kind_of("https://ntfy.sh/ann") == "url"
    elsewhere = ("http://ntfy.lan/ann", "https://ntfy.sh:8080/ann", "https://example.org/")
    for other in ("ann@example.com", *elsewhere):
        with pytest.raises(Refusal):
            chosen.kind_of(other)


def test_a_receiver_is_a_mailbox_or_a_host() -> None:
    """Whatever it is asked there; one that the operator has named may have a topic for each player."""
    sender = postman("mail", "url", "url:ntfy.lan:8080")
    urls = "http://example.org/a", "https://EXAMPLE.org/b?c", "http://example.org./"
    assert {sender.receiver(url) for url in urls} == {"example.org"}
    assert sender.receiver("Ann@Example.org") == sender.receiver("ann@example.org")
    topics = {sender.receiver(f"http://ntfy.lan:8080/{topic}") for topic in ("ann?a", "ann?b", "bob")}
    assert len(topics) == 2
