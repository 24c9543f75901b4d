"""Notices: who is called when, exactly once, and at which addresses; nobody else learns these."""

import asyncio
import logging
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from commands.serving.notices import wording
from engine.pieces import Seat
from protocol import messages
from protocol.absence import MoveClock
from protocol.codes import Code
from server.app import Running, running
from server.config import Config
from server.errors import NotStored
from server.net.postman import NoticePostman, SmtpServer
from server.storage.entries import EndedByHost, NoticesTo
from server.storage.sqlite.journal_file import FILE_NAME
from server.tables.absence.deadlines import RETRY_SECONDS
from server.tables.rooms.notices import OwedNotices
from tests.server.manual_clock import ManualClock
from tests.server.peer import Peer, connected, eventually
from tests.server.playing import full_table, game, happen, peer_on_turn
from tests.server.storage.test_journal import resumed
from tests.server.tables.calling import (
    GRACE,
    HOUR,
    away_on_turn,
    called_away,
    called_by_url,
    gathered,
    leave_address,
    nobody_is_called,
    smtp_receiver,
)
from tests.server.tables.hosted import disconnect


def notices(server: Running, peer: Peer) -> OwedNotices:
    room = server.lobby.tables[peer.code].state.rooms[OwedNotices]
    assert isinstance(room, OwedNotices)
    return room


def knows_of_the_turn(server: Running, peer: Peer) -> bool:
    return notices(server, peer).noticed.get(Seat(peer.seat or 0), (0, False)) > (0, False)


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
            await eventually(lambda: knows_of_the_turn(server, away))
        async with running(called.config) as server, resumed(server.port, here) as (here,):
            await nobody_is_called(called, here, 10 * GRACE)


async def test_nobody_is_called_without_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another server may have the table, and calls them; the notice is sent if the lease is renewed."""
    asked = 0

    def lapsed(_journal: object) -> bool:
        nonlocal asked
        asked += 1
        return True

    async with called_away() as (called, server, away, here):
        with monkeypatch.context() as lost:
            lost.setattr(type(server.lobby.journal), "lapsed", property(lapsed))
            await nobody_is_called(called, here, GRACE)
            for _ in range(20):
                await nobody_is_called(called, here, RETRY_SECONDS / 100)
            assert asked < 10  # rather than without a pause
            assert not server.lobby.tables[away.code]._context.post.is_busy
        called.clock.advance(RETRY_SECONDS)
        assert f"your turn at table {away.code}" in await called.receiver.next()


async def test_a_notice_that_has_arrived_is_not_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although that could not be stored for a while."""

    async def refuse(*_: object) -> None:
        raise NotStored("the journal could not be written: {reason}", reason="a test")

    async with called_away() as (called, server, away, here):
        post = server.lobby.tables[away.code]._context.post
        with monkeypatch.context() as failing:
            failing.setattr(server.lobby.journal, "append", refuse)
            called.clock.advance(GRACE)
            assert "your turn" in await called.receiver.next()
            await eventually(lambda: not post.is_busy)
            for _ in range(3):
                await nobody_is_called(called, here, RETRY_SECONDS)
            assert not knows_of_the_turn(server, away)
        called.clock.advance(RETRY_SECONDS)
        await eventually(lambda: knows_of_the_turn(server, away))
        await nobody_is_called(called, here, GRACE)


async def test_a_player_who_is_here_is_not_called() -> None:
    async with called_by_url() as called, running(called.config) as server, game(server.port, 2) as peers:
        first = peer_on_turn(peers)
        assert first is not None
        other = peers[1 - peers.index(first)]
        await leave_address(first, called)
        called.clock.advance(GRACE)
        await eventually(lambda: knows_of_the_turn(server, first))
        await disconnect(first, other)
        await nobody_is_called(called, other, 10 * GRACE)


async def test_a_player_is_called_before_the_time_runs_out() -> None:
    async with called_away(MoveClock(8 * HOUR), "it") as (called, server, away, here):
        called.clock.advance(GRACE)
        assert "7 h" in await called.receiver.next()
        await eventually(lambda: knows_of_the_turn(server, away))
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
            await happen(server, host, EndedByHost())
            called.clock.advance(GRACE)
            assert await called.receiver.next() == "refused"
            await eventually(lambda: "not delivered" in caplog.text)
            called.clock.advance(GRACE)
            assert f"the game at table {guest.code} is over" in await called.receiver.next()
            keys = [line for head in called.receiver.heads for line in head.splitlines() if "Idemp" in line]
            assert len(keys) == 2
            assert keys[0] == keys[1]
            await eventually(lambda: Seat(1) not in notices(server, guest).to)
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
            await eventually(lambda: not server.lobby.tables[away.code]._context.post.is_busy)
            called.clock.advance(6 * HOUR)
        assert knows_of_the_turn(server, away)
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
        assert Seat(2) in notices(server, guest).to
        async with resumed(server.port, guest) as (again,):
            assert await again.until(messages.Notices) == messages.Notices("confirmed", "url")
            await again.done(messages.Leave)
            async with connected(server.port) as late:
                await late.join(host.code, "Late", 2)
                assert Seat(2) not in notices(server, late).to


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
        await host.done(messages.Sync, 0)  # what has followed is done
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
            await happen(server, host, EndedByHost())
            clock.advance(GRACE)
            text = await receiver.next()
            assert f"palatinus join ws://127.0.0.1:{server.port} {guest.code}" in text
            for head in receiver.heads:
                assert "To: ann@example.org" in head
                assert re.search(r"Message-ID: <[0-9a-f]{32}@example.org>\r\n", head)
                assert re.search(r"Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000\r\n", head)
