"""Notices: who is called when, exactly once, and at which addresses; nobody else learns these."""

import asyncio
import contextlib
import ipaddress
import itertools
import logging
import random
import re
import socket
import sqlite3
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import trustme

from commands.serving.notices import wording
from engine.pieces import Seat
from protocol import messages
from protocol.absence import WAIT, Absence, MoveClock
from protocol.codes import Code
from protocol.messages import NoticeKind
from server.app import Running, running
from server.config import Config, Limits, PlayerNotice
from server.limits.networks import Networks, networks_of
from server.net.postman import NoticePostman, SmtpServer, is_public
from server.refusal import Refusal
from server.storage.entries import NoticesTo
from server.storage.sqlite.journal_file import FILE_NAME
from server.tables.absence.deadlines import RETRY_SECONDS
from server.tables.rates import Rates
from server.tables.state.persistent_state import Player
from tests.cases import cases
from tests.server.manual_clock import ManualClock
from tests.server.peer import TIMEOUT, Peer, connected, eventually
from tests.server.playing import full_table, game, peer_on_turn
from tests.server.storage.test_journal import resumed
from tests.server.tables.hosted import disconnect


@dataclass
class Receiver:
    """What has arrived, head and text; `answers` are those to the next requests, then all is well.

    They are sent when it `may_answer`.
    """

    port: int = 0
    heads: list[str] = field(default_factory=list)
    arrived: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    answers: list[bytes] = field(default_factory=list)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.may_answer.set()

    async def next(self) -> str:
        async with asyncio.timeout(TIMEOUT):
            return await self.arrived.get()

    async def code(self) -> str:
        found = re.search(r"notify (\d{6})", await self.next())
        assert found is not None
        return found[1]

    def take(self, head: str, text: str) -> None:
        self.heads.append(head)
        self.arrived.put_nowait(text)


@contextlib.asynccontextmanager
async def http_receiver(tls: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    receiver = Receiver()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = re.search(r"Content-Length: (\d+)", head)
        assert length is not None
        text = (await reader.readexactly(int(length[1]))).decode()
        answer = receiver.answers.pop(0) if receiver.answers else b"HTTP/1.1 200 OK\r\n\r\n"
        if answer.startswith(b"HTTP/1.1 2"):
            receiver.take(head, text)
        else:
            receiver.take(head, "refused")
        await receiver.may_answer.wait()
        writer.write(answer)
        with contextlib.suppress(ConnectionError):
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", ssl=tls) as server:
        receiver.port = server.sockets[0].getsockname()[1]
        yield receiver


@contextlib.asynccontextmanager
async def smtp_receiver() -> AsyncIterator[Receiver]:
    """Receive e-mail as RFC 5321 has it, without extensions."""
    receiver = Receiver()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 here\r\n")
        while line := await reader.readline():
            verb = line[:4].upper()
            if verb == b"DATA":
                writer.write(b"354 go on\r\n")
                message = (await reader.readuntil(b"\r\n.\r\n")).decode()
                head, _, text = message.partition("\r\n\r\n")
                receiver.take(head, text)
            writer.write({b"EHLO": b"502 no\r\n", b"QUIT": b"221 bye\r\n"}.get(verb, b"250 fine\r\n"))
            if verb == b"QUIT":
                break
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1") as server:
        receiver.port = server.sockets[0].getsockname()[1]
        yield receiver


GRACE = Limits().notice_seconds
HOUR = 3600


@dataclass
class Called:
    """A configuration that calls players at the receiver, with a clock that only the test advances."""

    config: Config
    receiver: Receiver
    clock: ManualClock

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.receiver.port}/secret-topic"


@contextlib.asynccontextmanager
async def called_by_url(data: Path | None = None) -> AsyncIterator[Called]:
    async with http_receiver() as receiver:
        clock = ManualClock()
        postman = NoticePostman([f"url:127.0.0.1:{receiver.port}"], None, wording=wording)
        yield Called(Config(data=data, postman=postman, timers=lambda: clock, seed=1), receiver, clock)


@contextlib.asynccontextmanager
async def gathered(players: int) -> AsyncIterator[tuple[Called, Running, list[Peer]]]:
    async with (
        called_by_url() as called,
        running(called.config) as server,
        full_table(server.port, players) as peers,
    ):
        yield called, server, peers


async def leave_address(peer: Peer, called: Called, language: str = "en") -> None:
    await peer.done(messages.CallMe, called.url, language)
    await peer.done(messages.ConfirmCall, await called.receiver.code())


@contextlib.asynccontextmanager
async def away_on_turn(
    server: Running,
    called: Called,
    absence: Absence = WAIT,
    language: str = "en",
    *,
    last: Callable[[Peer], Awaitable[None]] | None = None,
) -> AsyncIterator[tuple[Peer, Peer]]:
    """Yield a player who has left an address and is away, on turn, and the one who is here.

    The player does something at `last`, before leaving.
    """
    async with game(server.port, 2, absence=absence) as peers:
        here = peer_on_turn(peers)
        assert here is not None
        away = peers[1 - peers.index(here)]
        await leave_address(away, called, language)
        if last is not None:
            await last(away)
        await disconnect(away, here)
        while here.legal is not None:
            await here.done(here.random_move(random.Random(1)))
        yield away, here


@contextlib.asynccontextmanager
async def called_away(
    absence: Absence = WAIT, language: str = "en"
) -> AsyncIterator[tuple[Called, Running, Peer, Peer]]:
    """Yield what calls a player who is away and on turn, the server, that player, and the one who is here."""
    async with (
        called_by_url() as called,
        running(called.config) as server,
        away_on_turn(server, called, absence, language) as (away, here),
    ):
        yield called, server, away, here


def player(server: Running, peer: Peer) -> Player:
    found = server.lobby.tables[peer.code].state.players[Seat(peer.seat or 0)]
    assert found is not None
    return found


async def nobody_is_called(called: Called, here: Peer, seconds: float) -> None:
    called.clock.advance(seconds)
    for _ in range(2):  # what fell due is done
        await here.send(messages.Ping(id=here.next_id()))
        await here.until(messages.Pong)
    assert called.receiver.arrived.empty()


async def test_a_player_who_is_away_is_called_once(tmp_path: Path) -> None:
    """After a moment, and not again, whether the server is restarted before or after it."""
    async with called_by_url(tmp_path) as called:
        async with running(called.config) as server, away_on_turn(server, called) as (away, here):
            await nobody_is_called(called, here, GRACE - 1)
        async with running(called.config) as server:
            called.clock.advance(GRACE)
            text = await called.receiver.next()
            assert f"your turn at table {away.code}" in text
            assert f"palatinus join ws://127.0.0.1:{server.port} {away.code}" in text
            await eventually(lambda: player(server, away).noticed > (0, False))
        async with running(called.config) as server, resumed(server.port, here) as (here,):
            await nobody_is_called(called, here, 10 * GRACE)


async def test_nobody_is_called_without_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another server may have the table, and calls them; the notice is sent if the lease is renewed."""
    async with called_away() as (called, server, away, here):
        with monkeypatch.context() as lost:
            lost.setattr(type(server.lobby.journal), "lapsed", True)
            await nobody_is_called(called, here, GRACE)
            assert not server.lobby.tables[away.code]._context.calls.sending
        called.clock.advance(RETRY_SECONDS)
        assert f"your turn at table {away.code}" in await called.receiver.next()


async def test_a_player_who_is_here_is_not_called() -> None:
    async with called_by_url() as called, running(called.config) as server, game(server.port, 2) as peers:
        first = peer_on_turn(peers)
        assert first is not None
        other = peers[1 - peers.index(first)]
        await leave_address(first, called)
        called.clock.advance(GRACE)
        await eventually(lambda: player(server, first).noticed > (0, False))
        await disconnect(first, other)
        await nobody_is_called(called, other, 10 * GRACE)


async def test_a_player_is_called_before_the_time_runs_out() -> None:
    async with called_away(MoveClock(8 * HOUR), "it") as (called, server, away, here):
        called.clock.advance(GRACE)
        assert "7 h" in await called.receiver.next()
        await eventually(lambda: player(server, away).noticed > (0, False))
        await nobody_is_called(called, here, 6 * HOUR - GRACE - 1)
        called.clock.advance(1)
        text = await called.receiver.next()
        assert "120 min" in text or "2 h" in text
        assert "Palatinus: il tuo tempo" in text


async def test_after_the_end_the_address_is_gone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The last notice tells of the end. Neither the others, nor the log, nor the journal have the address."""
    with caplog.at_level(logging.DEBUG, logger="server"):
        async with (
            called_by_url(tmp_path) as called,
            running(called.config) as server,
            game(server.port, 2, watched=True) as peers,
        ):
            host, guest, _spectator = peers
            await leave_address(guest, called)
            called.receiver.answers.append(b"HTTP/1.1 500 Oh\r\n\r\n")
            await disconnect(guest, host)
            await host.done(messages.EndGame)
            called.clock.advance(GRACE)
            assert await called.receiver.next() == "refused"
            await eventually(lambda: "not delivered" in caplog.text)
            called.clock.advance(GRACE)
            assert f"the game at table {guest.code} is over" in await called.receiver.next()
            keys = [line for head in called.receiver.heads for line in head.splitlines() if "Idemp" in line]
            assert len(keys) == 2
            assert keys[0] == keys[1]
            await eventually(lambda: player(server, guest).notices is None)
            assert not any(b"secret-topic" in frame for peer in peers for frame in peer.frames)
        assert "secret-topic" not in caplog.text
        assert b"secret-topic" not in (tmp_path / FILE_NAME).read_bytes()


async def test_a_notice_that_cannot_be_delivered_is_given_up() -> None:
    async with called_away() as (called, server, away, _here):
        redirect = f"HTTP/1.1 302 Found\r\nLocation: {called.url}\r\n\r\n".encode()
        called.receiver.answers += [redirect, b"garbage\r\n", b"x" * 100_000, b"", redirect, redirect]
        called.clock.advance(GRACE)
        for _ in range(6):
            assert await called.receiver.next() == "refused"
            await eventually(lambda: not server.lobby.tables[away.code]._context.calls.sending)
            called.clock.advance(6 * HOUR)
        assert player(server, away).noticed > (0, False)
        assert called.receiver.arrived.empty()


async def test_a_table_goes_on_while_a_slow_receiver_is_called() -> None:
    """Even if it is about to be archived or moved, which waits until the notice has been sent."""
    async with called_away() as (called, server, away, here):
        called.receiver.may_answer.clear()
        called.clock.advance(GRACE)
        await called.receiver.next()
        archiving = asyncio.create_task(server.lobby.tables[away.code].archive(attended=True))
        await here.done(messages.Sync, 0)
        called.receiver.may_answer.set()
        assert await archiving


async def test_an_address_is_confirmed_by_the_code_that_is_sent_there() -> None:
    async with gathered(2) as (called, _server, peers):
        host, guest = peers
        assert [each.notices for each in host.told(messages.Welcome)] == [["url"]]
        assert await host.refusal(messages.ConfirmCall, "000000") == Code.NO_CODE
        await host.done(messages.CallMe, called.url)
        assert host.received[-2] == messages.Notices("unconfirmed", "url")
        code = await called.receiver.code()
        assert await guest.refusal(messages.ConfirmCall, code) == Code.NO_CODE
        wrong = "000000" if code != "000000" else "000001"
        assert await host.refusal(messages.ConfirmCall, wrong) == Code.WRONG_CODE
        await host.done(messages.ConfirmCall, code)
        assert host.received[-2] == messages.Notices("confirmed", "url")
        await host.done(messages.CallMe)
        assert host.received[-2] == messages.Notices("none")
        await host.done(messages.CallMe, called.url)
        wrong = "000000" if await called.receiver.code() != "000000" else "000001"
        codes = [await host.refusal(messages.ConfirmCall, wrong) for _ in range(6)]
        assert codes == [*[Code.WRONG_CODE] * 5, Code.NO_CODE]


async def test_the_address_stays_with_the_player() -> None:
    async with gathered(3) as (called, server, peers):
        host, guest, other = peers
        await leave_address(guest, called)
        await other.done(messages.Leave)
        await guest.done(messages.ChangeSeat, 2)
        assert player(server, guest).notices is not None
        async with resumed(server.port, guest) as (again,):
            assert await again.until(messages.Notices) == messages.Notices("confirmed", "url")
            await again.done(messages.Leave)
            async with connected(server.port) as late:
                await late.join(host.code, "Late", 2)
                assert player(server, late).notices is None


@pytest.mark.parametrize("how", ["leaves", "is removed", "has another one", "is called no more"])
async def test_an_address_is_not_kept_longer_than_its_player(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The seat is free, a bot has it, or the player is called elsewhere: the journal forgets the address.

    Even where SQLite leaves in the file what is deleted, unless it is told otherwise.
    """
    connect = sqlite3.connect

    def connect_elsewhere(*place: Any, **options: Any) -> sqlite3.Connection:
        database: sqlite3.Connection = connect(*place, **options)
        database.execute("PRAGMA secure_delete = OFF")
        return database

    monkeypatch.setattr(sqlite3, "connect", connect_elsewhere)
    async with (
        called_by_url(tmp_path) as called,
        running(called.config) as server,
        full_table(server.port, 2) as peers,
    ):
        host, guest = peers
        table = server.lobby.tables[host.code]
        await leave_address(guest, called)
        match how:
            case "leaves":
                await guest.done(messages.Leave)
            case "is removed":
                await host.done(messages.StartGame)
                assert await table.remove_player(Seat(1))
            case "has another one":
                await guest.done(messages.CallMe, called.url.replace("secret", "other"))
                await guest.done(messages.ConfirmCall, await called.receiver.code())
            case _:
                await guest.done(messages.CallMe, None)
        entries = await server.journal.entries(host.code)
        assert len(entries) == table.state.entry_count
        kept = [entry.address for entry in entries if isinstance(entry, NoticesTo)]
        assert kept == ([called.url.replace("secret", "other")] if how == "has another one" else [])
    assert b"secret-topic" not in (tmp_path / FILE_NAME).read_bytes()


async def test_codes_are_sent_at_a_limited_rate() -> None:
    async with gathered(2) as (called, _server, peers):
        limits = called.config.limits
        for number in range(limits.notice_codes_per_receiver):
            await peers[number % 2].done(messages.CallMe, f"{called.url}?a={number}")
        other = called.url.replace("secret", "SECRET")
        assert await peers[0].refusal(messages.CallMe, other) == Code.TOO_MANY_CODES
        for number in range(limits.notice_codes_per_address - limits.notice_codes_per_receiver):
            await peers[0].done(messages.CallMe, f"{called.url}/{number}")
        assert await peers[1].refusal(messages.CallMe, f"{called.url}/other") == Code.TOO_MANY_CODES


@dataclass
class Asker:
    """A session as far as rates know it."""

    address: Networks


def codes_sent(rates: Rates, address: str, receivers: Iterator[str], kind: NoticeKind = "mail") -> int:
    """Return how many codes an address may have sent to these receivers."""
    sent = 0
    with contextlib.suppress(Refusal):
        for receiver in receivers:
            rates.count_code_sent(Asker(networks_of(address)), kind, receiver)  # type: ignore[arg-type]
            sent += 1
    return sent


def test_a_few_addresses_do_not_use_up_the_codes_of_all() -> None:
    """89 codes from nine addresses were as many as a server sends in an hour."""
    rates, receivers = Rates(Limits(), lambda: 0.0), (f"{number}@example.org" for number in itertools.count())
    crowd = [codes_sent(rates, f"198.51.100.{number}", receivers) for number in range(100)]
    assert crowd[:9] == [10] * 9
    assert sum(crowd) < 400
    assert codes_sent(rates, "192.0.2.1", receivers) > 0


def test_a_mailbox_gets_few_codes_and_a_host_few_from_each_address() -> None:
    rates = Rates(Limits(), lambda: 0.0)
    assert codes_sent(rates, "192.0.2.1", itertools.repeat("ann@example.org")) == 3
    assert codes_sent(rates, "192.0.2.2", itertools.repeat("ann@example.org")) == 0
    assert codes_sent(rates, "192.0.2.1", itertools.repeat("ntfy.sh"), "url") == 3
    assert 1 <= codes_sent(rates, "192.0.2.2", itertools.repeat("ntfy.sh"), "url") < 3


def test_a_receiver_is_a_mailbox_or_a_host() -> None:
    """Whatever it is asked there; one that the operator has named may have a topic for each player."""
    sender = postman("mail", "url", "url:ntfy.lan:8080")
    urls = "http://example.org/a", "https://EXAMPLE.org/b?c", "http://example.org./"
    assert {sender.receiver(url) for url in urls} == {"example.org"}
    assert sender.receiver("Ann@Example.org") == sender.receiver("ann@example.org")
    topics = {sender.receiver(f"http://ntfy.lan:8080/{topic}") for topic in ("ann?a", "ann?b", "bob")}
    assert len(topics) == 2


async def test_a_server_that_calls_nobody_says_so() -> None:
    async with running(Config()) as server, full_table(server.port, 2) as peers:
        assert await peers[0].refusal(messages.CallMe, "ann@example.org") == Code.NO_NOTICES


async def test_a_player_is_called_by_e_mail() -> None:
    """The second message has an id of its own, so that a mailbox can drop it if it comes twice."""
    async with smtp_receiver() as receiver:
        clock = ManualClock()
        smtp = SmtpServer("127.0.0.1", receiver.port, "Palatinus <games@example.org>")
        postman = NoticePostman(["mail"], smtp, wording=wording)
        config = Config(postman=postman, timers=lambda: clock, seed=1)
        async with running(config) as server, game(server.port, 2) as peers:
            host, guest = peers
            await guest.done(messages.CallMe, "ann@example.org", "nl")
            await guest.done(messages.ConfirmCall, await receiver.code())
            await disconnect(guest, host)
            await host.done(messages.EndGame)
            clock.advance(GRACE)
            text = await receiver.next()
            assert f"palatinus join ws://127.0.0.1:{server.port} {guest.code}" in text
            for head in receiver.heads:
                assert "To: ann@example.org" in head
                assert re.search(r"Message-ID: <[0-9a-f]{32}@example.org>\r\n", head)
                assert re.search(r"Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000\r\n", head)


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
