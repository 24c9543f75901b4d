"""Guests play over ssh: their screens, their seats, how they come back, and what they may not do."""

import asyncio
import contextlib
import functools
import os
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast
from unittest import mock

import asyncssh
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from client.bots.hints import suggest_move
from client.network.transport import ServerAccess
from client.records import Suggestion
from engine.game import GameOptions
from engine.legal import Legal
from engine.pieces import Seat
from engine.record import recorded
from engine.redaction import snapshot
from engine.view import View, eyes_of
from gateway import gateway
from gateway.connection import GuestConnection, Login, new_word, of_word
from gateway.gateway import GameServer
from gateway.kept_seats import GuestBook, GuestSeats
from gateway.limits import GuestLimits
from protocol.events import snapshot_message
from protocol.messages import GetRecord, Record, Resume, Seated, SeatSummary, TableState
from server.limits.networks import Networks
from server.limits.turns import InTurn
from tests.client.scripted import Peer, scripted
from tests.games import played
from tests.gateway.visitor import LIMITS, Visitor, connection, door, house, new_key, visiting
from tests.server.peer import eventually

PASSWORD = "aqua virgo"
WORD = re.compile(r"[a-z]{4}-[a-z]{4}-[a-z]{4}-[a-z]{4}")


ENGLISH = ("A new table", "waiting for players", "PLAYERS", "to place")
ITALIAN = ("Un nuovo tavolo", "in attesa di giocatori", "GIOCATORI", "da piazzare")


async def begin_game(guest: Visitor, words: tuple[str, str, str, str] = ENGLISH) -> None:
    """Open a table for two, and begin a game against a bot."""
    lobby, waiting, *playing = words
    await guest.until(lobby)
    guest.type("2o\r")
    await guest.until(waiting)
    guest.type("b")
    await guest.until("(greedy)")
    guest.type("s")
    await guest.until(*playing)


@pytest.mark.slow
async def test_a_closed_window_keeps_the_seat_for_the_key(tmp_path: Path) -> None:
    key = new_key()
    async with house(tmp_path) as here:
        async with visiting(here.port, key=key) as guest:
            await begin_game(guest)
            assert "Your way back" not in guest.shown
            guest.vanish()
        async with visiting(here.port, key=new_key()) as stranger:
            await stranger.until("A new table")
            assert len(here.seats) == 1
        async with visiting(here.port, key=key, size=(120, 40)) as guest:
            await guest.until("You are back in your seat", "TILE")


@pytest.mark.slow
async def test_without_a_key_a_word_brings_the_seat_back(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        async with visiting(here.port, size=(120, 40)) as guest:
            await begin_game(guest)
            word = WORD.search(guest.raw.decode())
            assert word is not None
            guest.vanish()
        for name in (word[0], word[0].upper()):
            async with visiting(here.port, name, size=(120, 40)) as guest:
                await guest.until("You are back in your seat", "TILE")
                guest.type("qy")
                await eventually(lambda: "Your seat is kept: connect again in the same way" in guest.shown)
                assert await guest.ended() == 0
                assert word[0].encode() not in guest.raw


@pytest.mark.slow
async def test_past_games_are_there_for_the_word_alone(tmp_path: Path) -> None:
    """A game that ends in a guest's window is in the list: to look through, to remove, not to save."""
    game = played(GameOptions(2, random_layout=True), 1)
    seats = [SeatSummary("Cosima", here=True), SeatSummary("anna", here=True)]
    over = TableState("KXQT", "over", seats, 0)

    async def at_the_end(peer: Peer) -> None:
        resume = await peer.receive(Resume)
        view = snapshot(game.view, eyes_of(Seat(1)))
        await peer.send(
            Seated(resume.id, "KXQT", 1), over, snapshot_message(view, len(game.events), None), over
        )
        asked = await peer.receive(GetRecord)
        await peer.send(Record(asked.id, recorded(game.events, ("Cosima", "anna")).splitlines()), over)
        await peer.socket.wait_closed()

    async def in_the_lobby(peer: Peer) -> None:
        await peer.welcome()
        await peer.socket.wait_closed()

    word, book = new_word(), GuestBook(tmp_path / "seats")
    async with scripted(at_the_end, in_the_lobby, in_the_lobby) as url:
        server = GameServer(url, url, ServerAccess())
        book.seats(of_word(word), url).keep("KXQT", 1, "anna", "a" * 43).release()
        async with door(tmp_path, server, book=book) as here:
            async with visiting(here.port, word):
                await eventually(lambda: bool(list(tmp_path.rglob("*-KXQT.txt"))))
            async with visiting(here.port, word) as guest:
                await guest.until("A new table", "v past games")
                guest.type("v")
                await guest.until("PLAYERS AND POINTS", "KXQT", "Cosima", "Enter review")
                guest.type("weyv")
                await guest.until("Replay", "move 0 of")
                guest.type("q")
                await guest.until("PLAYERS AND POINTS")
                guest.type("\x1b")
                await guest.until("A new table", "anna")
                guest.type("q")
                assert await guest.ended() == 0
            async with visiting(here.port, key=new_key()) as stranger:
                await stranger.until("A new table")
                stranger.type("v")
                await stranger.until("No finished games are kept here.")
                stranger.type("qy")
                assert await stranger.ended() == 0


@pytest.mark.slow
async def test_a_word_is_nobodys_name(tmp_path: Path) -> None:
    """Whoever reads a word takes the seat: who comes back by theirs has the last name, even in the lobby."""
    async with house(tmp_path) as here, visiting(here.port, "onlooker", new_key()) as onlooker:
        async with visiting(here.port, "bruno") as guest:
            await guest.until("A new table")
            guest.type("o\r")
            await guest.until("waiting for players")
            word = WORD.search(guest.raw.decode())
            assert word is not None
            guest.type("qy")
            assert await guest.ended() == 0
        async with visiting(here.port, f" {word[0].upper()}") as guest:
            await guest.until("A new table", "bruno")
            await onlooker.until("bruno")
            guest.type("tave\r")
            await onlooker.until("ave")
            assert word[0].upper().encode() not in guest.raw
            assert word[0].encode() not in onlooker.raw.lower()
            guest.type(f"n\x15{word[0]}\r")
            await guest.until("secret word")


async def test_an_unknown_word_is_refused_and_guessing_ends(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        for _guess in range(10):
            async with visiting(here.port, "bado-bado-bado-bado") as guest:
                await guest.until("No seat is kept for this word.")
                assert await guest.ended() == 1
        async with visiting(here.port, "bado-bado-bado-bado") as guest:
            await guest.until("Too many wrong secret words came from your address.")
        assert here.seats == []


@pytest.mark.slow
async def test_the_screen_is_in_the_language_and_size_of_the_terminal(tmp_path: Path) -> None:
    it, plain_c = {"LANG": "it_IT.UTF-8"}, {"LC_ALL": "C", "LANG": "fr_FR"}
    async with house(tmp_path) as here, visiting(here.port, environment=it) as italian:
        await italian.until("Un nuovo tavolo")
        async with visiting(here.port, environment=plain_c) as plain:
            await plain.until("A new table")
            assert plain.raw.isascii()
            assert not italian.raw.isascii()
        await begin_game(italian, ITALIAN)
        italian.screen.resize(40, 120)
        italian.process.change_terminal_size(120, 40)
        await eventually(lambda: len(italian.shown.splitlines()[0]) > 100)


@pytest.mark.slow
@pytest.mark.parametrize("term", [None, "dumb"])
async def test_guests_without_a_screen_play_in_lines(tmp_path: Path, term: str | None) -> None:
    async with house(tmp_path, password=PASSWORD) as here, visiting(here.port, term=term) as guest:

        async def until(*texts: str) -> None:
            await eventually(lambda: all(text.encode() in guest.raw for text in texts))

        await until("Password:")
        guest.type(f"{PASSWORD}\r\n")
        await until("You are in the lobby")
        guest.type("open 3\bx\x7f2 random\r\nb\r\n\r\nwait\r\nturn\r\n")
        await until("(greedy) takes a seat", "The game starts", "Your turn: place a piece.")
        guest.type("save\r\nleave\r\nv\r\nback\r\n")
        await until("No finished games are kept here.")
        guest.type("say ave\r\nquit\r\nyes\r\n")
        assert await guest.ended() == 0
        assert b"\x1b" not in guest.raw
        assert PASSWORD.encode() not in guest.raw
        assert (b"\r\nsay ave\r\n" in guest.raw) is (term is not None)
        assert not list(Path.cwd().glob("*.txt"))


@pytest.mark.slow
async def test_the_mouse_works(tmp_path: Path) -> None:
    async with house(tmp_path) as here, visiting(here.port, key=new_key()) as guest:
        await guest.until("A new table", "T read", "? help")  # the bar shows all that it will
        lines = guest.shown.splitlines()
        row = next(number for number, line in enumerate(lines) if "? help" in line)
        column = lines[row].index("? help")
        guest.type(f"\x1b[<0;{column + 1};{row + 1}M\x1b[<0;{column + 1};{row + 1}m")
        await eventually(lambda: "A new table" not in guest.shown)


def asks(guest: Visitor, times: int) -> bool:
    return guest.shown.count("Password:") == times


async def test_the_password_is_asked_for_in_the_terminal(tmp_path: Path) -> None:
    async with house(tmp_path, password=PASSWORD) as here, visiting(here.port) as guest:
        await guest.until("Password:")
        guest.type("aqua claudia\r")
        await eventually(lambda: guest.shown.count("Password:") == 2)
        guest.type("aqua virgx\x7fo\r")
        await guest.until("A new table")
        assert b"aqua" not in guest.raw
    async with house(tmp_path, password=PASSWORD) as here, visiting(here.port) as guest:
        for times in (1, 2, 3):
            await eventually(functools.partial(asks, guest, times))
            guest.type("wrong\r")
        assert await guest.ended() == 1


@pytest.mark.slow
async def test_a_second_window_takes_over_and_the_first_is_told(tmp_path: Path) -> None:
    key = new_key()
    async with house(tmp_path) as here, visiting(here.port, key=key) as first:
        await begin_game(first)
        async with visiting(here.port, "bruno", key) as other:
            await other.until("A new table")  # somebody else at the same computer
        async with visiting(here.port, key=key, size=(120, 40)) as second:
            await second.until("You are back in your seat")
            await first.until("You have come back in another window.")
            assert await first.ended() == 1


@pytest.mark.slow
async def test_guests_are_told_when_the_door_closes(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        held = visiting(here.port, size=(120, 40))
        guest = await held.__aenter__()
        await begin_game(guest)
    assert await guest.ended() == 1
    await guest.until("The host has stopped letting guests in.", "Your way back")
    await held.__aexit__(None, None, None)


async def test_what_a_guest_quits_before_the_game_is_free_again(tmp_path: Path) -> None:
    async with house(tmp_path) as here, visiting(here.port, key=new_key()) as guest:
        await guest.until("A new table")
        guest.type("o\r")
        await guest.until("waiting for players")
        guest.type("qy")
        assert await guest.ended() == 0
        assert here.seats == []


async def test_there_is_only_the_game(tmp_path: Path) -> None:
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
async def test_a_flood_of_keys_delays_nobody_else(tmp_path: Path) -> None:
    limits = GuestLimits(guests_per_address=100, cpu_at_once=0.02, incoming_rate=1e6)
    async with house(tmp_path, limits) as here, visiting(here.port) as loud, visiting(here.port) as quiet:
        await loud.until("A new table")
        await quiet.until("A new table")
        loud.type("\x1b[B\x1b[A" * 40_000 + "\x1b[200~" + "x" * 100_000)
        quiet.type("o\r")
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


@pytest.mark.slow
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


@pytest.mark.slow
async def test_keys_may_be_exchanged_again_at_any_time(tmp_path: Path) -> None:
    async with house(tmp_path) as here, visiting(here.port, rekey_bytes=500) as guest:
        await guest.until("A new table")
        for _ in range(40):
            guest.type("\x1b[B")
        guest.type("o\r")
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
        other.type("o\r")
        await other.until("waiting for players")
    assert "a guest's screen failed" in caplog.text


@pytest.mark.slow
async def test_guests_are_given_hints_by_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One at a time: who asks from elsewhere comes before another one of the address that had the last."""
    turn = InTurn.turn
    asked, begun, may_go_on = list[str](), list[View](), asyncio.Semaphore(0)

    def asking(turns: InTurn, networks: Networks) -> contextlib.AbstractAsyncContextManager[None]:
        asked.append(networks[0])
        return turn(turns, networks)

    async def held(view: View, legal: Legal) -> Suggestion:
        begun.append(view)
        await may_go_on.acquire()
        return await suggest_move(view, legal)

    monkeypatch.setattr(InTurn, "turn", asking)
    monkeypatch.setattr(gateway, "suggest_move", held)
    async with house(tmp_path) as here, contextlib.AsyncExitStack() as stack:
        guests = list[Visitor]()
        for name, address in (("anna", 1), ("bruno", 1), ("carla", 2)):
            coming = visiting(here.port, name, local_addr=(f"127.0.0.{address}", 0))
            guests.append(guest := await stack.enter_async_context(coming))
            await begin_game(guest)
            guest.type(":hints on\r")
            await guest.until("may have moves suggested")
            guest.type(":private on\r")  # so that the next one's lobby is empty, too
            await guest.until("the table is private")
        anna, bruno, carla = guests
        for number, guest in enumerate(guests, start=1):
            guest.type("s")
            await eventually(lambda number=number: len(asked) >= number or len(begun) > 1)  # type: ignore[misc]
        assert len(begun) == 1
        for served, (guest, other) in enumerate(((anna, carla), (carla, bruno)), start=2):
            may_go_on.release()
            await guest.until("Hint:")
            await eventually(lambda served=served: len(begun) == served)  # type: ignore[misc]
            assert "Hint:" not in other.shown
        may_go_on.release()
        await bruno.until("Hint:")
