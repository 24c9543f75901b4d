"""Announcing and hearing over real multicast, in networks of a test's own; what announcements are worth."""

import asyncio
import contextlib
import ipaddress
import logging
import shutil
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from zeroconf.asyncio import AsyncServiceInfo

from client.finding.found import Found, Listed, Locked
from client.finding.search import locate, search
from client.network.transport import FREE_ACCESS
from discovery import announcer
from discovery.announcer import announce
from discovery.browser import MOST_SERVERS, Hearing, listen
from discovery.guard import Guard
from discovery.interfaces import listened_on, own_interfaces
from discovery.multicast import multicast
from discovery.names import name_of_host, usable
from discovery.service import MOST_ADDRESSES, SERVICE_TYPE, HeardServer, Service, server_in, shown_name
from protocol.settings import ChosenSwitches
from server.app import running
from server.config import Announce, Config
from tests.discovery.network import inside, own_network
from tests.server.peer import TIMEOUT, connected, eventually
from tests.server.process import serving

ANYWHERE = "0.0.0.0"  # noqa: S104 - in a network of the test's own


T = TypeVar("T")


class Latest(Generic[T]):
    """What was told last, and a way to wait for what is to come."""

    def __init__(self, now: T) -> None:
        self.now = now
        self._changed = asyncio.Event()

    def tell(self, now: T) -> None:
        self.now = now
        self._changed.set()

    async def until(self, seen: Callable[[T], object]) -> None:
        async with asyncio.timeout(TIMEOUT):
            while not seen(self.now):
                self._changed.clear()
                await self._changed.wait()


@contextlib.asynccontextmanager
async def listening() -> AsyncIterator[Latest[Hearing]]:
    latest = Latest(Hearing())
    task = asyncio.create_task(listen(latest.tell))
    try:
        yield latest
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def names(hearing: Hearing) -> set[str]:
    return {server.name for server in hearing.servers}


def sent(error: OSError) -> None:
    """Fail, because something could not be sent."""
    pytest.fail(str(error))


@pytest.mark.slow
@pytest.mark.usefixtures("network")
async def test_servers_come_and_go_and_a_second_one_is_renamed() -> None:
    own = tuple(each for each in own_interfaces() if each.version == 4)
    async with listening() as latest:
        async with announce(Service("attic", 7733), own, sent) as first:
            async with announce(Service("attic", 7734, tls=True), own, sent) as second:
                assert (first, second) == ("attic", "attic-2")
                await latest.until(lambda now: len(now.servers) == 2)
                urls = {server.name: server.urls for server in latest.now.servers}
                assert urls == {"attic": ("ws://127.0.0.1:7733",), "attic-2": ("wss://127.0.0.1:7734",)}
            await latest.until(lambda now: names(now) == {"attic"})
        await latest.until(lambda now: not now.servers)


@pytest.mark.slow
@pytest.mark.usefixtures("network")
async def test_a_server_is_found_with_its_open_tables_until_it_drains() -> None:
    """Private and full tables are not shown; without the password, a server tells nothing."""
    told: list[str] = []
    latest = Latest(Found())

    def answer_of(name: str) -> object:
        return next((server.answer for server in latest.now.servers if server.name == name), None)

    attic, locked = Announce("attic", told.append), Announce("locked", told.append)
    async with (
        running(Config(announce=attic)) as server,
        running(Config(announce=locked, password="x" * 9)),
        connected(server.port) as host,
        connected(server.port) as other,
        asyncio.TaskGroup() as tasks,
    ):
        searching = tasks.create_task(search(latest.tell))
        table = (await host.open(3)).table
        await other.open(3, switches=ChosenSwitches(private=True))
        await latest.until(lambda _: isinstance(answer_of("attic"), Listed))
        answer = answer_of("attic")
        assert isinstance(answer, Listed)
        assert [each.table for each in answer.tables] == [table]
        await latest.until(lambda _: isinstance(answer_of("locked"), Locked))
        assert sorted(told) == ["attic", "locked"]
        server.drain.begin(3600)
        await latest.until(lambda _: answer_of("attic") is None)
        server.drain.cancel()
        await latest.until(lambda _: answer_of("attic") is not None)
        searching.cancel()


@pytest.mark.slow
@pytest.mark.usefixtures("network")
async def test_a_server_that_no_longer_drains_is_announced_after_its_goodbye(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise a late goodbye would be the last that is heard of it."""
    told, happened = list[str](), list[str]()
    may_go = asyncio.Event()

    @contextlib.asynccontextmanager
    async def slow(*about: Any) -> AsyncIterator[str]:
        happened.append("it comes")
        try:
            async with announce(*about) as name:
                yield name
        finally:
            await may_go.wait()
            happened.append("it has gone")

    monkeypatch.setattr(announcer, "announce", slow)
    async with running(Config(announce=Announce("attic", told.append))) as server:
        await eventually(lambda: bool(told))
        server.drain.begin(3600)
        server.drain.cancel()
        for _ in range(10):  # what is announced needs a turn in a thread
            await asyncio.to_thread(happened.count, "it comes")
        may_go.set()
        await eventually(lambda: len(told) == 2)
        assert happened == ["it comes", "it has gone", "it comes"]
    assert told == ["attic", "attic"]


ANSWER = bytes.fromhex("000084000000000100000000")
packets = st.binary(max_size=300).map(lambda rest: ANSWER + rest) | st.binary(max_size=300)
labels = st.binary(min_size=1, max_size=63) | st.sampled_from([b"attic", "\u202eattic\x1b[2J".encode()])


def encoded_name(instance: bytes) -> bytes:
    parts = (instance, *SERVICE_TYPE.rstrip(".").encode().split(b"."))
    return b"".join(bytes([len(part)]) + part for part in parts) + b"\0"


def record(name: bytes, kind: int, ttl: int, content: bytes) -> bytes:
    return name + kind.to_bytes(2) + b"\x80\x01" + ttl.to_bytes(4) + len(content).to_bytes(2) + content


@st.composite
def announcements(draw: st.DrawFn) -> bytes:
    """Return a whole announcement of a server, true to the form and hostile in all that it says."""
    name = encoded_name(draw(labels))
    ttl = draw(st.sampled_from([1, 120, 2**31 - 1]))
    host = draw(st.sampled_from([b"\x09palatinus\x05local\0", b"\0", name]))
    records = (
        record(encoded_name(b"x")[2:], 12, ttl, name),
        record(name, 33, ttl, draw(st.binary(min_size=6, max_size=6)) + host),
        record(name, 16, ttl, draw(st.one_of(st.binary(max_size=200), st.just(b"\x09scheme=ws")))),
        record(host, 1, ttl, draw(st.binary(min_size=4, max_size=4))),
        record(host, 28, ttl, draw(st.binary(min_size=16, max_size=16))),
    )
    chosen = [each for each in records if draw(st.booleans())]
    return bytes.fromhex("000084000000") + len(chosen).to_bytes(2) + bytes(4) + b"".join(chosen)


@pytest.mark.slow
@pytest.mark.usefixtures("network")
async def test_hostile_packets_change_nothing_for_others() -> None:
    hostile: list[bytes] = []

    @settings(max_examples=150, suppress_health_check=list(HealthCheck))
    @given(st.one_of(announcements(), packets))
    def collect(packet: bytes) -> None:
        hostile.append(packet)

    collect()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        latest = Latest(Found())
        async with running(Config(announce=Announce("attic"))) as server, asyncio.TaskGroup() as tasks:
            searching = tasks.create_task(search(latest.tell))
            for at, packet in enumerate(hostile):
                stranger.sendto(packet, ("224.0.0.251", 5353))
                if at % 10 == 0:
                    await asyncio.sleep(0.02)
            ours = f"ws://127.0.0.1:{server.port}"
            await latest.until(
                lambda now: any(each.url == ours and isinstance(each.answer, Listed) for each in now.servers)
            )
            assert len(latest.now.servers) <= MOST_SERVERS
            assert latest.now.deaf is None
            searching.cancel()


@pytest.mark.usefixtures("network")
async def test_a_server_whose_answer_was_lost_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is known by its name, and will not announce itself again."""
    monkeypatch.setattr("discovery.browser._ANSWER_MILLISECONDS", 100.0)
    monkeypatch.setattr("discovery.browser._SECONDS_UNTIL_ASKED_AGAIN", 0.05)
    own = tuple(each for each in own_interfaces() if each.version == 4)
    told: Latest[tuple[Hearing, ...]] = Latest(())
    async with asyncio.TaskGroup() as tasks:
        hearing = tasks.create_task(listen(lambda now: told.tell((*told.now, now))))
        await told.until(bool)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
            sending.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
            pointer = record(encoded_name(b"x")[2:], 12, 4500, encoded_name(b"attic"))
            sending.sendto(ANSWER + pointer, ("224.0.0.251", 5353))
        await told.until(lambda now: len(now) > 1)  # nothing has answered
        async with multicast(own, sent) as zeroconf:
            answer = AsyncServiceInfo(
                SERVICE_TYPE,
                f"attic.{SERVICE_TYPE}",
                port=7733,
                properties=Service("attic", 7733).properties,
                server="palatinus-1.local.",
                parsed_addresses=["127.0.0.1"],
            )
            zeroconf.zeroconf.registry.async_add(answer)  # it answers, and announces nothing
            await told.until(lambda now: names(now[-1]) == {"attic"})
        hearing.cancel()


async def test_without_a_network_the_server_starts_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """And whoever looks for one learns why there is none."""
    monkeypatch.delenv("PALATINUS_MULTICAST")

    def told() -> list[str]:
        return [each.message for each in caplog.records if each.levelno >= logging.WARNING]

    monkeypatch.setattr("server.net.announcing._SECONDS_BETWEEN_LOOKS", 0.01)
    with own_network(loopback=False), caplog.at_level(logging.INFO):
        async with running(Config(host=ANYWHERE, announce=Announce("attic"))), listening() as latest:
            while not told():  # noqa: ASYNC110 - a log tells nobody
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)  # five more looks
            assert latest.now == Hearing(deaf="")
    assert told() == ["cannot be found on the network"]


@pytest.mark.slow
@pytest.mark.usefixtures("network")
async def test_where_nothing_can_be_sent_the_server_starts_and_is_called_by_no_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Linux has no multicast over IPv6 on loopback."""
    caplog.set_level(logging.WARNING)
    told: list[str] = []
    async with running(Config(host="::1", announce=Announce("attic", told.append))), asyncio.timeout(TIMEOUT):
        while not caplog.messages:  # noqa: ASYNC110 - a log tells nobody
            await asyncio.sleep(0.01)
    assert (caplog.messages, told) == (["cannot be found on the network"], [])


@pytest.fixture
def neighbours(network: int) -> Iterator[int]:
    """Yield another network namespace, connected with this one as by a cable: 10.77.0.1 here, .2 there."""
    if (ip := shutil.which("ip")) is None:
        pytest.skip("there is no ip command here")
    with own_network() as there:

        def run(*words: str) -> None:
            subprocess.run([ip, *words], pass_fds=[network], check=True)

        run("link", "add", "near", "type", "veth", "peer", "name", "far", "netns", f"/proc/self/fd/{network}")
        run("addr", "add", "10.77.0.2/24", "dev", "near")
        run("link", "set", "near", "up", "addrgenmode", "none")  # no address that is not ready yet
        with inside(network):
            run("addr", "add", "10.77.0.1/24", "dev", "far")
            run("link", "set", "far", "up", "addrgenmode", "none")
            yield there


@pytest.mark.slow
async def test_a_server_is_found_from_another_computer(neighbours: int) -> None:
    """Under its address there, and until it is told to stop, which it does as quickly as ever."""
    options = ("--host", ANYWHERE, "--memory", "--no-config", "--name", "attic")
    async with serving(*options, imported=False) as server:  # what has imported all is in another network
        with inside(neighbours):
            found = await locate("Attic", FREE_ACCESS, TIMEOUT)
            assert found is not None
            assert found.url == f"ws://10.77.0.1:{server.port}"
            async with listening() as latest:
                await latest.until(lambda now: names(now) == {"attic"})
                server.process.send_signal(signal.SIGTERM)
                await latest.until(lambda now: not now.servers)
        code, output, errors = await server.ended()
        assert (code, errors) == (0, "")
        assert "palatinus join finds this server as attic." in output


@pytest.mark.slow
async def test_a_server_that_listens_on_loopback_is_not_heard_outside(neighbours: int) -> None:
    options = ("--announce", "--memory", "--no-config", "--name", "attic")
    async with serving(*options, imported=False) as server:
        found = await locate("attic", FREE_ACCESS, TIMEOUT)
        assert found is not None
        assert found.url == f"ws://127.0.0.1:{server.port}"
        with inside(neighbours), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            # A question that wants its answer sent back to the one who asks.
            question = encoded_name(b"x")[2:] + (12).to_bytes(2) + b"\x80\x01"
            asked = bytes.fromhex("000000000001000000000000") + question
            stranger.bind(("10.77.0.2", 0))
            stranger.sendto(asked, ("10.77.0.1", 5353))
            stranger.settimeout(0.5)
            with pytest.raises(TimeoutError):
                stranger.recv(9000)


OWN = tuple(
    map(ipaddress.ip_interface, ("192.0.2.5/24", "172.17.0.1/16", "fd00::5/64", "127.0.0.1/8", "::1/128"))
)
OUTSIDE = tuple(each for each in OWN if not each.ip.is_loopback)
PLAIN: dict[bytes, bytes | None] = {b"scheme": b"ws"}

REAL = ["127.0.0.1", "10.0.0.7", "192.0.2.9", "fe80::1%eth0", "::ffff:10.0.0.7", "224.0.0.251"]
addresses = st.ip_addresses().map(str) | st.sampled_from(REAL) | st.text(max_size=20)


@given(
    st.text(max_size=80),
    st.one_of(st.none(), st.integers(-1, 2**17)),
    st.dictionaries(
        st.sampled_from([b"scheme", b"txtvers"]), st.one_of(st.none(), st.binary(max_size=4), st.just(b"wss"))
    ),
    st.lists(addresses, max_size=30),
    st.booleans(),
)
def test_whatever_is_announced_is_bounded_and_makes_sense(
    name: str, port: int | None, properties: dict[bytes, bytes | None], given_to: list[str], on_loopback: bool
) -> None:
    server = server_in(f"{name}.{SERVICE_TYPE}", port, properties, given_to, OWN, on_loopback=on_loopback)
    if server is None:
        return
    assert server.name == "" or usable(server.name)
    assert 0 < len(server.urls) <= MOST_ADDRESSES
    for url in server.urls:
        parts = urlsplit(url)
        address = ipaddress.ip_address(parts.hostname or "")
        assert (parts.scheme, parts.port) == ((properties[b"scheme"] or b"").decode(), port)
        assert address.is_loopback == on_loopback
        near = address.is_private or address.is_link_local or address in OWN[0].network
        assert near
        assert not address.is_multicast


def test_a_server_like_ours_is_heard_and_what_cannot_be_one_is_not() -> None:
    service = Service("Anna's attic", 7733, tls=True)
    properties: dict[bytes, bytes | None] = {
        key.encode(): value.encode() for key, value in service.properties.items()
    }
    name = f"Anna's attic.{SERVICE_TYPE}"
    found = server_in(name, 7733, properties, ["192.0.2.9"], OWN, on_loopback=False)
    assert found == HeardServer("Anna's attic", ("wss://192.0.2.9:7733",))
    for port, said, address, on_loopback in (
        (0, PLAIN, "192.0.2.9", False),
        (1, {b"scheme": b"http"}, "192.0.2.9", False),
        (1, PLAIN, "127.0.0.1", False),
        (1, PLAIN, "8.8.8.8", False),
        (1, PLAIN, "192.0.2.9", True),
    ):
        assert server_in(name, port, said, [address], OWN, on_loopback=on_loopback) is None


def test_the_likeliest_address_comes_first() -> None:
    """One in this computer's networks, then others; its own, which another computer may have too, last."""
    said = ["172.17.0.1", "10.9.8.7", "8.8.8.8", "192.0.2.9", "fd00::9"]
    found = server_in(f"attic.{SERVICE_TYPE}", 1, PLAIN, said, OUTSIDE, on_loopback=False)
    assert found is not None
    assert found.urls == ("ws://192.0.2.9:1", "ws://[fd00::9]:1", "ws://10.9.8.7:1", "ws://172.17.0.1:1")


def test_names_that_could_deceive_are_not_shown() -> None:
    hidden = ("\x1b[2Jattic", "at\u202etic", "\u2800", " attic", "")
    for name in (*hidden, "\u0430ttic", "192.168.0.1", "a:b", "x" * 33):
        assert shown_name(f"{name}.{SERVICE_TYPE}") == "", name
    assert shown_name(f"чердак.{SERVICE_TYPE}") == "чердак"
    assert shown_name("attic._http._tcp.local.") == ""


def test_computers_names_become_servers_names() -> None:
    assert name_of_host("attic.example.org") == "attic"
    assert name_of_host("localhost") == name_of_host("") == name_of_host("\x1b") == "palatinus"


def test_a_server_is_announced_where_it_listens() -> None:
    every = [str(each.ip) for each in listened_on(ANYWHERE, OWN)]
    assert every == ["192.0.2.5", "172.17.0.1"]
    assert [str(each.ip) for each in listened_on("::", OWN)] == [*every, "fd00::5"]
    assert [str(each.ip) for each in listened_on("127.0.0.1", OWN)] == ["127.0.0.1"]
    assert [str(each.ip) for each in listened_on("192.0.2.5", OWN)] == ["192.0.2.5"]
    assert [str(each.ip) for each in listened_on(ANYWHERE, OWN[3:])] == ["127.0.0.1"]
    assert listened_on(ANYWHERE, ()) == listened_on("192.0.2.77", OWN) == ()


OURS = b"\x0a_Palatinus\x04_tcp\x05local\x00"


class Library:
    def __init__(self) -> None:
        self.given: list[bytes] = []

    def datagram_received(self, data: bytes, _addrs: Any, /) -> None:
        self.given.append(data)

    def connection_lost(self, _exc: Exception | None, /) -> None: ...


def test_only_what_is_short_ours_and_near_by_passes_and_no_flood() -> None:
    now, library = 0.0, Library()
    guard = Guard(library, (OWN[0], OWN[2]), lambda: now, lambda _: None)
    for data, source in (
        (OURS, "192.0.2.9"),
        (OURS, "fd00::9"),
        (OURS, "::ffff:192.0.2.9"),
        (OURS, "127.0.0.1"),
        (OURS, "198.51.100.1"),
        (OURS, "fe80::9%2"),
        (b"\x08_printer\x04_tcp\x05local\x00", "192.0.2.9"),
        (OURS + bytes(9000), "192.0.2.9"),
    ):
        guard.datagram_received(data, (source, 5353))
    assert library.given == [OURS] * 3
    for seconds, passed in ((0.0, 80), (1.0, 120)):
        now = seconds
        for _ in range(10_000):
            guard.datagram_received(OURS, ("192.0.2.9", 5353))
        assert len(library.given) == passed
