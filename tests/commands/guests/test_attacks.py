"""What guests may not do, and what those who try do to others: nothing."""

import asyncio
import contextlib
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast
from unittest import mock

import asyncssh
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from commands.guests import gateway
from commands.guests.connection import GuestConnection, Login
from commands.guests.kept_seats import GuestBook, GuestSeats
from commands.guests.limits import GuestLimits
from tests.commands.guests.test_guests import begin_game
from tests.commands.guests.visitor import LIMITS, connection, house, new_key, visiting
from tests.server.peer import eventually


async def test_there_is_only_the_game(tmp_path: Path) -> None:
    """No command, no shell without a terminal, no files, no forwarding, no second session."""
    async with house(tmp_path) as here:
        for command in ("id", "scp -t /tmp", "sh -c 'touch /tmp/palatinus-was-here'"):
            async with visiting(here.port, command=command) as guest:
                await guest.until("There is only the game here.")
                assert await guest.ended() == 1
        connected = await connection(here.port)
        with pytest.raises(asyncssh.ChannelOpenError):
            await connected.start_sftp_client()
        with pytest.raises(asyncssh.ChannelOpenError):  # the one session has been used up
            await connected.create_process(term_type="xterm")
        connected.abort()
        connected = await connection(here.port)
        async with connected:
            for opened in (
                connected.open_connection("127.0.0.1", here.port),
                connected.open_unix_connection("/var/run/docker.sock"),
            ):
                with pytest.raises(asyncssh.ChannelOpenError):
                    await opened
            for listens in (
                connected.forward_remote_port("127.0.0.1", 0, "127.0.0.1", here.port),
                connected.forward_remote_path("/tmp/palatinus.sock", "/tmp/other"),  # noqa: S108
            ):
                with pytest.raises(asyncssh.ChannelListenError):
                    await listens
            with pytest.raises(asyncssh.ChannelOpenError):
                await connected.create_process(
                    term_type="xterm", x11_forwarding=True, x11_auth_path=str(tmp_path / "none")
                )
            connected.abort()


@pytest.mark.slow
async def test_terminals_of_any_type_and_size_are_served(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        for term, size in (
            ("vt100", (80, 24)),
            ("no-such-terminal-" + "x" * 100, (0, 0)),
            ("xterm", (1, 1)),
            ("xterm", (10_000, 10_000)),
            ("xterm", (2**32 - 1, 2**32 - 1)),
        ):
            async with visiting(here.port, term=term, size=size) as guest:
                await eventually(lambda guest=guest: b"\x1b[?2026l" in guest.raw)  # type: ignore[misc]
                assert len(guest.raw) < 20_000
                for change in range(500):
                    guest.process.change_terminal_size(change + 1, 2**31 + change)
                guest.process.change_terminal_size(80, 24)
                guest.screen.resize(24, 80)
                await guest.until("A new table", "q quit")


async def test_files_of_the_host_are_out_of_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither what is typed nor keys save anything, nor does Ctrl-Z stop the process of all guests."""
    monkeypatch.chdir(tmp_path)
    async with house(tmp_path / "guests") as here, visiting(here.port, key=new_key()) as guest:
        before = files(tmp_path)
        await guest.until("A new table")
        guest.type("\x1a\x1c\x13\x11")
        for command in ("save", "picture", "review", "quit!", "!id", "e /etc/passwd", "w /tmp/x"):
            guest.type(f":{command}\r")
        guest.type("\x1b")
        await guest.until("A new table")
        assert files(tmp_path) == before
        await begin_game(guest)
        for command in ("save", "picture"):
            guest.type(f":{command}\r")
            await guest.until("You are playing on another computer")
            guest.type("c\x1b")  # the notice goes
            await eventually(lambda: "You are playing on" not in guest.shown)
    assert [path.name for path in files(tmp_path) if path.parent == tmp_path] == ["guests"]


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


async def test_old_algorithms_are_neither_offered_nor_taken(tmp_path: Path) -> None:
    """A key is worth nothing with a signature by SHA-1, which programs make if they know nothing better."""
    key = asyncssh.generate_private_key("ssh-rsa", key_size=2048)
    async with house(tmp_path) as here:
        for algorithms in (["hmac-sha1"], ["umac-64@openssh.com", "hmac-sha1-etm@openssh.com"]):
            with pytest.raises(asyncssh.KeyExchangeFailed):
                await connection(here.port, mac_algs=algorithms, encryption_algs=["aes128-ctr"])
        with pytest.raises(asyncssh.PermissionDenied):
            await connection(here.port, key=key, signature_algs=["ssh-rsa"], preferred_auth="publickey")
        (await connection(here.port, key=key, preferred_auth="publickey")).abort()


def test_a_key_that_takes_long_to_check_is_none() -> None:
    """Such as one with a public exponent as long as its modulus, which no program makes."""
    login = Login(cast("Any", None))
    usual = rsa.generate_private_key(public_exponent=65537, key_size=2048).public_key()
    slow = rsa.RSAPublicNumbers(2**2000 + 1, usual.public_numbers().n).public_key()
    other = ec.generate_private_key(ec.SECP256R1()).public_key()  # has no exponent
    for key, taken in (usual, True), (slow, False), (other, True):
        encoded = key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        assert login.validate_public_key("anna", asyncssh.import_public_key(encoded)) is taken


def test_each_way_to_come_in_sets_anew_who_comes() -> None:
    """A key may have been offered before, which proves nothing."""
    login = Login(cast("Any", None))
    for come_in in (
        login.begin_auth,
        lambda name: login.get_kbdint_challenge(name, "", ""),
        lambda name: login.validate_password(name, ""),
    ):
        assert login.validate_public_key("anna", new_key())
        assert come_in("zoe")
        assert (login.name, login.guest) == ("zoe", None)


async def test_a_guest_who_is_gone_without_a_word_is_noticed(tmp_path: Path) -> None:
    limits = replace(LIMITS, keepalive_seconds=0.1, keepalives=2)
    async with house(tmp_path, limits) as here, visiting(here.port, key=new_key()) as guest:
        await begin_game(guest)
        assert here.server is not None
        assert guest.connection._transport is not None
        guest.connection._transport.pause_reading()  # as behind a cable that was pulled
        await eventually(lambda: here.server is not None and len(here.server.clients) == 0)
        assert len(here.seats) == 1


async def test_the_server_counts_where_a_guest_really_is(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        assert here.server is not None
        elsewhere = await connection(here.port, local_addr=("127.0.0.2", 0))
        await elsewhere.create_session(Unread, term_type="xterm", term_size=(80, 24), encoding=None)
        server = here.server
        await eventually(lambda: [client.name for client in server.clients] == ["127.0.0.2"])
        elsewhere.abort()


async def test_one_address_takes_only_its_places(tmp_path: Path) -> None:
    limits = GuestLimits(guests=3, guests_per_address=2)
    async with house(tmp_path, limits) as here:
        first, second = await connection(here.port), await connection(here.port)
        with pytest.raises((asyncssh.ConnectionLost, ConnectionResetError)):
            await connection(here.port)
        second.abort()
        await second.wait_closed()
        third = None
        while third is None:  # as soon as the door has noticed
            with contextlib.suppress(asyncssh.ConnectionLost, ConnectionResetError):
                third = await connection(here.port)
        for each in (first, third):
            each.abort()


async def test_one_address_comes_only_so_often(tmp_path: Path) -> None:
    """What speaks ssh takes three times as long as everything else about a connection that is refused."""
    speaking = mock.patch.object(gateway, "GuestConnection", wraps=GuestConnection)
    async with house(tmp_path, GuestLimits(arrivals_per_address=2)) as here:
        with speaking as built:
            for _ in "12":
                (await connection(here.port)).abort()
            with pytest.raises((asyncssh.ConnectionLost, ConnectionResetError)):
                await connection(here.port)
            assert built.call_count == 2
        (await connection(here.port, local_addr=("127.0.0.2", 0))).abort()


async def test_silent_connections_of_a_few_addresses_make_room(tmp_path: Path) -> None:
    """Four addresses held all places, for as long as logging in may take."""
    async with house(tmp_path, GuestLimits(guests=4, guests_per_address=2)) as here:
        readers, writers = [], []
        for number in range(4):
            source = (f"127.0.0.{2 + number // 2}", 0)
            reader, writer = await asyncio.open_connection("127.0.0.1", here.port, local_addr=source)
            await reader.readline()
            readers.append(reader)
            writers.append(writer)
        async with visiting(here.port) as guest:
            await guest.until("A new table")
            with contextlib.suppress(ConnectionResetError):
                await readers[0].read()
            assert not any(reader.at_eof() or reader.exception() for reader in readers[1:])
        for writer in writers:
            writer.close()


async def test_guests_of_one_address_make_room_unless_they_have_a_seat(tmp_path: Path) -> None:
    there = ("127.0.0.2", 0)
    async with (
        house(tmp_path, GuestLimits(guests=2, guests_per_address=2)) as here,
        visiting(here.port, "old", local_addr=there) as old,
        visiting(here.port, "new", local_addr=there) as new,
    ):
        await new.until("A new table")
        await begin_game(old)
        async with visiting(here.port) as guest:
            await guest.until("A new table")
            await new.until("Too many guests are here from your address")
            assert await new.ended() == 1
        assert not old.process.is_closing()


async def test_whoever_does_not_log_in_is_cut(tmp_path: Path) -> None:
    limits = GuestLimits(login_seconds=0.2)
    async with house(tmp_path, limits) as here:
        silent, writer = await asyncio.open_connection("127.0.0.1", here.port)
        loud, other = await asyncio.open_connection("127.0.0.1", here.port)
        other.write(os.urandom(64) + b"\n")
        for reader in (silent, loud):
            with contextlib.suppress(ConnectionResetError):
                assert (await reader.read()).startswith(b"SSH-2.0-Palatinus")
        with contextlib.suppress(asyncssh.Error, OSError):  # on a slow machine even before it has logged in
            logged_in = await connection(here.port)  # and never asks for a screen
            await logged_in.wait_closed()
        for each in (writer, other):
            each.close()


async def test_a_flood_of_what_ssh_would_keep_ends_the_connection(tmp_path: Path) -> None:
    limits = replace(LIMITS, incoming_rate=1e9)
    async with house(tmp_path, limits) as here:
        connected = await connection(here.port)
        flood = {f"X{number}": "y" * 4000 for number in range(100)}
        with pytest.raises((asyncssh.Error, ConnectionResetError)):
            await connected.create_process(term_type="xterm", term_size=(80, 24), env=flood)
        await connected.wait_closed()


async def test_a_flood_of_keys_delays_nobody_else(tmp_path: Path) -> None:
    limits = GuestLimits(guests_per_address=100, cpu_at_once=0.02, incoming_rate=1e6)
    async with house(tmp_path, limits) as here, visiting(here.port) as loud, visiting(here.port) as quiet:
        await loud.until("A new table")
        await quiet.until("A new table")
        loud.type("\x1b[B\x1b[A" * 40_000 + "\x1b[200~" + "x" * 100_000)
        quiet.type("o")
        await quiet.until("waiting for players")
        assert "waiting" not in loud.shown


class Unread(asyncssh.SSHClientSession[bytes]):
    """A window, of a screen or of lines, that never shows what it is sent."""

    def __init__(self, *, screen: bool = True) -> None:
        self._screen = screen

    def connection_made(self, chan: asyncssh.SSHClientChannel[bytes]) -> None:
        self._channel = chan

    def session_started(self) -> None:
        self._channel.pause_reading()
        self._channel.write(b"i" if self._screen else b"rules\r" * 50)  # more than fills the screen


@pytest.mark.parametrize("screen", [True, False])
async def test_whoever_does_not_read_is_dropped_and_what_waits_is_bounded(
    tmp_path: Path, *, screen: bool
) -> None:
    limits = replace(LIMITS, outgoing_bytes=2048, stalled_seconds=0.1)
    async with house(tmp_path, limits) as here:
        connected = await connection(here.port)
        term = "xterm" if screen else "dumb"
        window = partial(Unread, screen=screen)
        await connected.create_session(
            window, term_type=term, term_size=(120, 40), encoding=None, window=1024
        )
        await connected.wait_closed()


async def test_keys_may_be_exchanged_again_at_any_time(tmp_path: Path) -> None:
    async with house(tmp_path) as here, visiting(here.port, rekey_bytes=500) as guest:
        await guest.until("A new table")
        for _ in range(40):
            guest.type("\x1b[B")
        guest.type("o")
        await guest.until("waiting for players")


class _Broken(GuestBook):
    """A book that has a mistake in it for one guest."""

    def seats(self, guest: str, server: str) -> GuestSeats:
        if not list((self._folder).glob("broken")):
            return super().seats(guest, server)
        raise ZeroDivisionError("a mistake")


async def test_a_failing_screen_touches_nobody_else(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    book = _Broken(tmp_path / "seats")
    async with house(tmp_path, book=book) as here, visiting(here.port) as other:
        await other.until("A new table")
        (tmp_path / "seats" / "broken").mkdir()
        async with visiting(here.port) as guest:
            await guest.until("The client crashed")
            assert await guest.ended() == 1
        other.type("o")
        await other.until("waiting for players")
    assert "a guest's screen failed" in caplog.text
