"""Behind proxies and with TLS: who says where a client is, and how handshakes take turns."""

import asyncio
import contextlib
import gc
import ipaddress
import logging
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from protocol.messages import TableState
from server.app import Running, running
from server.config import Config, Limits
from server.net.connections import address
from server.net.connections.tls import Tls
from server.net.event_loop import new_loop
from server.net.proxies import BadProxyHeader, ProxyHeader, TrustedProxies, proxy_header
from tests.cases import cases
from tests.server.peer import (
    TIMEOUT,
    UPGRADE,
    Peer,
    all_connected,
    connected,
    connected_without_hello,
    eventually,
    exchange,
    upgrade_status,
)

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
TCP4 = socket.inet_aton("203.0.113.7") + socket.inet_aton("192.0.2.1") + struct.pack("!HH", 4711, 443)
TCP6 = socket.inet_pton(socket.AF_INET6, "2001:db8::7") * 2 + struct.pack("!HH", 4711, 443)
TLVS = b"\x04\x00\x03abc" + b"\x20\x00\x05\x07\x00\x00\x00\x00"
HERE = (ipaddress.ip_network("127.0.0.1"),)
STRANGER = "127.0.0.2"


def second(command: int, family: int, content: bytes) -> bytes:
    """Return a header of version 2."""
    return SIGNATURE + struct.pack("!BBH", command, family, len(content)) + content


GOOD = {
    b"PROXY TCP4 203.0.113.7 192.0.2.1 4711 443\r\n": ("203.0.113.7", 4711),
    b"PROXY TCP6 2001:db8::7 2001:db8::1 4711 443\r\n": ("2001:db8::7", 4711),
    b"PROXY UNKNOWN\r\n": None,
    b"PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n": None,
    second(0x21, 0x11, TCP4): ("203.0.113.7", 4711),
    second(0x21, 0x11, TCP4 + TLVS): ("203.0.113.7", 4711),
    second(0x21, 0x21, TCP6): ("2001:db8::7", 4711),
    second(0x21, 0x21, TCP6 + TLVS): ("2001:db8::7", 4711),
    second(0x21, 0x31, bytes(216)): None,  # from a unix socket
    second(0x21, 0x00, b""): None,
    second(0x20, 0x00, b""): None,  # LOCAL: the proxy looks whether the server is well
    second(0x20, 0x11, TCP4): None,
    second(0x20, 0x77, b"whatever"): None,
}


@pytest.mark.parametrize("header", GOOD)
def test_a_header_is_read_whole_and_what_follows_is_left(header: bytes) -> None:
    for size in range(len(header)):
        assert proxy_header(header[:size]) is None
    for rest in (b"", b"GET / HTTP/1.1\r\n", SIGNATURE):
        assert proxy_header(header + rest) == ProxyHeader(len(header), GOOD[header])


@pytest.mark.parametrize(
    "data",
    [
        *(b"GET / HTTP/1.1\r\n", b"proxy TCP4 203.0.113.7 192.0.2.1 4711 443\r\n"),
        *(b"PROXY TCP4 203.0.113.7 192.0.2.1 4711\r\n", b"PROXY TCP4 203.0.113.7 192.0.2.1 4711 443 5\r\n"),
        b"PROXY TCP4 203.0.113.07 192.0.2.1 4711 443\r\n",
        b"PROXY TCP4 2001:db8::7 2001:db8::1 4711 443\r\n",
        b"PROXY TCP6 fe80::1%\x1b[31m fe80::2 4711 443\r\n",
        *(b"PROXY TCP4 203.0.113.7 192.0.2.1 65536 443\r\n", b"PROXY TCP4 203.0.113.7 192.0.2.1 -1 443\r\n"),
        *(b"PROXY TCP4 203.0.113.7 \xff 4711 443\r\n", b"PROXY UDP4 203.0.113.7 192.0.2.1 4711 443\r\n"),
        *(b"PROXY \r\n", b"PROXY TCP4 " + b"1" * 200, second(0x11, 0x11, TCP4), second(0x22, 0x11, TCP4)),
        *(second(0x21, 0x12, TCP4), second(0x21, 0x99, bytes(300)), second(0x21, 0x11, TCP4[:11])),
        *(second(0x21, 0x21, TCP4), second(0x21, 0x31, bytes(215)), SIGNATURE + b"\x21\x11\xff\xff"),
        SIGNATURE[:-1] + b"X",
    ],
)
def test_what_is_not_a_header_is_refused(data: bytes) -> None:
    with pytest.raises(BadProxyHeader):
        proxy_header(data)


@given(
    st.one_of(
        st.binary(max_size=300),
        st.builds(lambda rest: SIGNATURE + rest, st.binary(max_size=300)),
        st.builds(lambda rest: b"PROXY TCP4 " + rest, st.binary(max_size=120)),
    )
)
def test_no_bytes_are_too_much_for_the_reader(data: bytes) -> None:
    with contextlib.suppress(BadProxyHeader):
        found = proxy_header(data)
        assert found is None or 0 < found.size <= len(data)
    with contextlib.suppress(BadProxyHeader):
        assert proxy_header(data + bytes(5000)) is not None


PROXIES = TrustedProxies((ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("2001:db8:1::/48")))


@pytest.mark.parametrize(
    ("lines", "client"),
    [
        *cases(__file__, "forwarded"),
        *(("", "none"), ("fe80::7%\x1b[31m", "none"), (", ".join(["10.0.0.1"] * 700), "10.0.0.1")),
    ],
)
def test_the_last_address_that_is_not_a_proxys_is_the_clients(lines: str, client: str) -> None:
    """What comes before it, a client could have sent itself."""
    found = PROXIES.client([] if lines == "nothing" else lines.split("; "))
    assert (client == "none") if found is None else (found.name == client)


@contextlib.asynccontextmanager
async def server_behind_a_proxy(*, header: bool = False, **limits: float) -> AsyncIterator[Running]:
    """Serve with a trusted proxy at 127.0.0.1."""
    allowed = Limits(**limits)  # type: ignore[arg-type]
    config = Config(trusted_proxies=HERE, proxy_header=header, watched=True, limits=allowed)
    async with running(config) as server:
        yield server


async def test_limits_hold_for_each_client_of_a_proxy_and_no_stranger_chooses_an_address() -> None:
    known = ["203.0.113.1", "203.0.113.1", "2001:db8::1", "203.0.113.2"]
    async with (
        server_behind_a_proxy(connections_per_address=2) as server,
        all_connected(server.port, [f"198.51.100.9, {client}" for client in known]),
        contextlib.AsyncExitStack() as stack,
    ):
        for named, status in {
            "203.0.113.1": 503,
            "203.0.113.7, 203.0.113.1": 503,
            "203.0.113.2": 101,
            "2001:db8::2, 2001:db8::3": 101,
        }.items():
            assert await upgrade_status(server.port, headers={"X-Forwarded-For": named}) == status
        for client in ("203.0.113.3", "203.0.113.4"):
            await stack.enter_async_context(connected_without_hello(server.port, client, STRANGER))
        named_by_stranger = {"X-Forwarded-For": "203.0.113.5"}
        assert await upgrade_status(server.port, headers=named_by_stranger, source=STRANGER) == 503
        assert await upgrade_status(server.port, headers=named_by_stranger) == 101


async def test_many_networks_of_one_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not newcomers, and not a player of theirs who comes back."""
    monkeypatch.setattr(address, "_SECONDS_TO_SIT_DOWN", 0.0)
    limits = {"connections": 12.0, "connections_per_address": 4.0}
    async with server_behind_a_proxy(header=False, **limits) as server, contextlib.AsyncExitStack() as stack:
        player = await stack.enter_async_context(connected(server.port, "2001:db8:7:ffff::1"))
        await player.open(2)
        await player.until(TableState)
        for number in range(40):
            await stack.enter_async_context(connected_without_hello(server.port, f"2001:db8:7:{number:x}::1"))
        async with contextlib.AsyncExitStack() as others:
            for last in range(6):
                await others.enter_async_context(connected_without_hello(server.port, f"198.51.100.{last}"))
            await player.nothing_but_pong()  # nobody with a seat is cut
        await player.socket.close()
        async with connected(server.port, "2001:db8:7:ffff::1") as back:
            await back.resume(player.code, player.token)


async def test_the_log_and_the_session_have_the_clients_address(caplog: pytest.LogCaptureFixture) -> None:
    """Not the proxy's; but where it is a proxy that says nothing, that is told once."""
    caplog.set_level(logging.INFO, logger="server")
    async with server_behind_a_proxy() as server:
        async with connected(server.port, "203.0.113.7") as peer:
            await peer.open(2)
            (session,) = server.clients
            assert (session.name, session.address) == ("203.0.113.7", ("203.0.113.7",))
        for _ in range(3):
            assert await upgrade_status(server.port) == 101
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [record.getMessage() for record in warnings] == ["a trusted proxy sends no such header"]
    named = [record for record in caplog.records if record.getMessage() in {"connected", "took seat"}]
    assert [record.palatinus_fields["address"] for record in named[:2]] == ["203.0.113.7"] * 2  # type: ignore[attr-defined]


def page(name: str, headers: str = "") -> bytes:
    return f"GET {name} HTTP/1.1\r\nHost: here\r\n{headers}\r\n".encode()


async def test_pages_are_not_shown_through_a_proxy() -> None:
    async with server_behind_a_proxy() as server:
        for name in ("/healthz", "/metrics"):
            assert b" 200 OK" in await exchange(server.port, page(name))
            for client in ("203.0.113.7", "nonsense", ""):
                answer = await exchange(server.port, page(name, f"X-Forwarded-For: {client}\r\n"))
                assert b" 426 " in answer, client
    async with server_behind_a_proxy(header=True) as server:
        for header, named in GOOD.items():
            answer = await exchange(server.port, header + page("/healthz"))
            assert (b" 200 OK" if named is None else b" 426 ") in answer


@contextlib.asynccontextmanager
async def through_a_header(
    port: int, header: bytes, tls: ssl.SSLContext | None = None
) -> AsyncIterator[ClientConnection]:
    """Connect as a proxy does that speaks the PROXY protocol, and then as its client."""
    loop = asyncio.get_running_loop()
    plain = socket.socket()
    plain.setblocking(False)
    await loop.sock_connect(plain, ("127.0.0.1", port))
    await loop.sock_sendall(plain, header)
    scheme = "ws" if tls is None else "wss"
    async with connect(f"{scheme}://127.0.0.1:{port}", sock=plain, ssl=tls, proxy=None) as client:
        yield client


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "TLS"])
async def test_a_proxy_header_names_clients(tls: bool, certificate: Path, trusting: ssl.SSLContext) -> None:
    """In both versions, and before TLS begins; its limits hold, as does the proxy's own for LOCAL."""
    cert, limits = certificate if tls else None, Limits(connections_per_address=3)
    config = Config(trusted_proxies=HERE, proxy_header=True, tls_cert=cert, limits=limits)
    named = {header: source for header, source in GOOD.items() if source is not None}
    async with running(config) as server, contextlib.AsyncExitStack() as stack:
        for header in named:
            connecting = through_a_header(server.port, header, trusting if tls else None)
            await Peer(await stack.enter_async_context(connecting)).hello()
        expected = [f"{host}:{port}" for host, port in named.values()]
        assert [session.name for session in server.clients] == expected
        with pytest.raises(InvalidStatus):  # one more than an address may have
            async with through_a_header(server.port, next(iter(named)), trusting if tls else None):
                pass


async def test_a_trusted_proxy_without_a_header_is_cut_and_a_stranger_with_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Otherwise a client of it could send one of its own; the log says so once."""
    caplog.set_level(logging.WARNING)
    async with server_behind_a_proxy(header=True) as server:
        for data in (
            UPGRADE,
            page("/healthz"),
            b"\x16\x03\x01" + bytes(100),
            b"PROXY nonsense\r\n" + UPGRADE,
        ):
            assert await exchange(server.port, data) == b""
        for header in GOOD:  # which only the proxy has
            assert b" 101 " not in await exchange(server.port, header + UPGRADE, source=STRANGER)
        assert await upgrade_status(server.port, source=STRANGER) == 101
    (record,) = caplog.records
    assert record.getMessage() == "a trusted proxy sends no such header"


async def test_a_header_that_never_ends_is_waited_for_no_longer_than_a_hello() -> None:
    async with server_behind_a_proxy(header=True, hello_seconds=0.1) as server:
        for data in (b"", b"PROXY TCP4", SIGNATURE + b"\x21\x11\x0f\xff" + bytes(100)):
            assert await exchange(server.port, data) == b""
        await nobody_is_connected(server)


async def nobody_is_connected(server: Running) -> None:
    """Wait until only who asks is counted."""
    async with asyncio.timeout(TIMEOUT):
        while b"palatinus_connections 1.0\n" not in await exchange(
            server.port, page("/metrics"), source=STRANGER
        ):
            pass


@pytest.mark.parametrize("header", [False, True], ids=["X-Forwarded-For", "PROXY"])
async def test_plain_health_checks_are_not_logged(header: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Balancers connect and close, or reset, every second or so."""
    caplog.set_level(logging.INFO)
    async with server_behind_a_proxy(header=header) as server:
        before = len(caplog.records)
        for said in (b"", second(0x20, 0x00, b"") if header else b"\r\n"):
            for linger in (struct.pack("ii", 0, 0), struct.pack("ii", 1, 0)):
                plain = socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT)
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                plain.sendall(said)
                plain.close()
        await nobody_is_connected(server)
        told = [record for record in caplog.records[before:] if record.name != "palatinus.wire"]
        told += [record for record in caplog.records[before:] if record.levelno >= logging.WARNING]
        assert [record.getMessage() for record in told] == []


async def test_only_who_shows_the_token_is_let_in_and_believed() -> None:
    told: list[tuple[str, str]] = []
    limits = Limits(connections_per_address=2)
    async with running(Config(gateway=lambda url, token: told.append((url, token)), limits=limits)) as server:
        ((url, token),) = told
        port = int(url.rpartition(":")[2])

        async def status(shown: str | None, named: str = "203.0.113.9, 192.0.2.7") -> int:
            bearer = {} if shown is None else {"Authorization": shown}
            return await upgrade_status(port, headers=bearer | {"X-Forwarded-For": named})

        for wrong in (None, "Bearer ", f"Bearer {token}x", token, "Bearer \u00e9"):
            assert await status(wrong) == 401
        headers = {"Authorization": f"Bearer {token}", "X-Forwarded-For": "203.0.113.9, 192.0.2.7"}
        async with connect(url, additional_headers=headers), connect(url, additional_headers=headers) as one:
            await Peer(one).hello()
            assert [client.name for client in server.clients] == ["192.0.2.7"]
            assert await status(headers["Authorization"]) == 503
            assert await status(headers["Authorization"], "192.0.2.8") == 101


RESET = struct.pack("ii", 1, 0)
LOOPS = pytest.mark.parametrize(
    "loop_factory", [asyncio.new_event_loop, new_loop], ids=["Python's", "the server's"]
)


@contextlib.asynccontextmanager
async def serving(certificate: Path, **limits: float) -> AsyncIterator[Running]:
    config = Config(tls_cert=certificate, limits=Limits(**limits))  # type: ignore[arg-type]
    async with asyncio.timeout(TIMEOUT), running(config) as server:
        yield server


def client_hello(trusting: ssl.SSLContext) -> bytes:
    """Return what a client begins with; whoever has it needs to calculate nothing."""
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        trusting.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="127.0.0.1").do_handshake()
    return outgoing.read()


@contextlib.contextmanager
def begun(port: int, number: int, hello: bytes, source: str = "127.0.0.2") -> Iterator[list[socket.socket]]:
    """Connect, and send the same immediately."""
    with contextlib.ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), TIMEOUT, (source, 0)))
            for _ in range(number)
        ]
        for each in sockets:
            each.sendall(hello)
        yield sockets


def answered(each: socket.socket) -> bool:
    each.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        return bool(each.recv(1))
    return False


async def test_handshakes_take_turns_address_by_address(certificate: Path, trusting: ssl.SSLContext) -> None:
    hello = client_hello(trusting)
    async with serving(certificate, handshakes_cpu=0.01) as server:
        with begun(server.port, 60, hello) as strangers:
            await asyncio.to_thread(strangers[0].recv, 1, socket.MSG_PEEK)
            async with connect(f"wss://127.0.0.1:{server.port}", ssl=trusting, proxy=None) as client:
                assert sum(map(answered, strangers)) < 30
                await Peer(client).hello()


async def test_connections_beyond_a_limit_are_cut_before_their_handshake(certificate: Path) -> None:
    """All but the few that may learn why they are refused."""
    async with serving(certificate, connections_per_address=1, hello_seconds=TIMEOUT * 5) as server:
        with begun(server.port, 18, b"") as (*_, last):
            assert await asyncio.to_thread(last.recv, 1) == b""


@LOOPS
@pytest.mark.parametrize("spoken", [0, 1, 2], ids=["hello", "handshake", "websocket"])
def test_nothing_is_left_of_connections_that_were_reset(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
    spoken: int,
    certificate: Path,
    trusting: ssl.SSLContext,
) -> None:
    """At once, and not when Python looks for cycles, which is the rarer the longer the server runs."""
    trusting.check_hostname = False

    async def reset_some() -> None:
        async with serving(certificate) as server:
            gc.collect()
            gc.disable()
            for _ in range(5):
                if spoken == 0:
                    with begun(server.port, 1, client_hello(trusting)) as (each,):
                        await asyncio.to_thread(each.recv, 1)
                        each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                    continue
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=trusting)
                if spoken == 2:
                    writer.write(UPGRADE)
                    await reader.readuntil(b"\r\n\r\n")
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                writer.transport.abort()
            await eventually(lambda: not any(type(each) is Tls for each in gc.get_objects()))

    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            runner.run(reset_some())
    finally:
        gc.enable()


@LOOPS
def test_what_speaks_no_tls_is_told_so_and_disturbs_nobody(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
    certificate: Path,
    trusting: ssl.SSLContext,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    hello = client_hello(trusting)

    async def speak_otherwise() -> None:
        async with serving(certificate, hello_seconds=0.3) as server:
            for said in (b"", UPGRADE, hello[:100], hello + UPGRADE, hello[:60] + bytes(100_000)):
                with begun(server.port, 1, said) as (each,), contextlib.suppress(ConnectionError):
                    while await asyncio.to_thread(each.recv, 4096):
                        pass
            with begun(server.port, 30, hello) as strangers:
                for each in strangers:
                    each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            async with connect(f"wss://127.0.0.1:{server.port}", ssl=trusting, proxy=None) as client:
                await Peer(client).hello()

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(speak_otherwise())
    assert not caplog.records


async def test_what_tls_adds_to_messages_is_limited_too(certificate: Path, trusting: ssl.SSLContext) -> None:
    """A record for each byte of a message has no turn, and would cost as much as a message."""
    async with serving(certificate, incoming_bytes=20_000) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=trusting)
        writer.write(UPGRADE)
        await reader.readuntil(b"\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            for each in b"\x82\xfe\x10\x00" + bytes(4000):  # of a frame with 4,096
                writer.write(bytes([each]))
                await writer.drain()
            assert not await reader.read()
        writer.close()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()
