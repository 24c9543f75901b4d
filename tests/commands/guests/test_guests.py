"""Guests play over ssh: their screens, their seats, and how they come back."""

import functools
import re
from pathlib import Path

import pytest

from client.network.transport import ServerAccess
from commands.guests import connection
from commands.guests.gateway import GameServer
from commands.guests.kept_seats import GuestBook
from engine.game import GameOptions
from engine.pieces import Seat
from engine.record import recorded
from engine.redaction import snapshot
from engine.view import eyes_of
from protocol.events import snapshot_message
from protocol.messages import GetRecord, Record, Resume, Seated, SeatSummary, TableState
from tests.client.scripted import Peer, scripted
from tests.commands.guests.visitor import Visitor, door, house, new_key, visiting
from tests.games import played
from tests.server.peer import eventually

PASSWORD = "aqua virgo"
WORD = re.compile(r"[a-z]{4}-[a-z]{4}-[a-z]{4}-[a-z]{4}")


ENGLISH = ("A new table", "waiting for players", "PLAYERS", "to place")
ITALIAN = ("Un tavolo nuovo", "in attesa di giocatori", "GIOCATORI", "da piazzare")


async def begin_game(guest: Visitor, words: tuple[str, str, str, str] = ENGLISH) -> None:
    """Open a table for two, and begin a game against a bot."""
    lobby, waiting, *playing = words
    await guest.until(lobby)
    guest.type("2o")
    await guest.until(waiting)
    guest.type("b")
    await guest.until("greedy-1")
    guest.type("s")
    await guest.until(*playing)


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

    word, book = connection.new_word(), GuestBook(tmp_path / "seats")
    async with scripted(at_the_end, in_the_lobby, in_the_lobby, in_the_lobby) as url:
        server = GameServer(url, url, ServerAccess())
        book.seats(connection.of_word(word), url).keep("KXQT", 1, "anna", "a" * 43).release()
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
                stranger.type("q")
                assert await stranger.ended() == 0


@pytest.mark.slow
async def test_a_word_is_nobodys_name(tmp_path: Path) -> None:
    """Whoever reads a word takes the seat: who comes back by theirs has the last name, even in the lobby."""
    async with house(tmp_path) as here, visiting(here.port, "onlooker", new_key()) as onlooker:
        async with visiting(here.port, "bruno") as guest:
            await guest.until("A new table")
            guest.type("o")
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
            await guest.until("Too many wrong seat words were sent from your address.")
        assert here.seats == []


async def test_the_screen_is_in_the_language_and_size_of_the_terminal(tmp_path: Path) -> None:
    it, plain_c = {"LANG": "it_IT.UTF-8"}, {"LC_ALL": "C", "LANG": "fr_FR"}
    async with house(tmp_path) as here, visiting(here.port, environment=it) as italian:
        await italian.until("Un tavolo nuovo")
        async with visiting(here.port, environment=plain_c) as plain:
            await plain.until("A new table")
            assert plain.raw.isascii()
            assert not italian.raw.isascii()
        await begin_game(italian, ITALIAN)
        italian.screen.resize(40, 120)
        italian.process.change_terminal_size(120, 40)
        await eventually(lambda: len(italian.shown.splitlines()[0]) > 100)


@pytest.mark.parametrize("term", [None, "dumb"])
async def test_guests_without_a_screen_play_in_lines(tmp_path: Path, term: str | None) -> None:
    """What they type is echoed only to a terminal: without one, their own shows it."""
    async with house(tmp_path, password=PASSWORD) as here, visiting(here.port, term=term) as guest:

        async def until(*texts: str) -> None:
            await eventually(lambda: all(text.encode() in guest.raw for text in texts))

        await until("Password:")
        guest.type(f"{PASSWORD}\r\n")
        await until("You are in the lobby")
        guest.type("open 3\bx\x7f2 random\r\nb\r\n\r\nwait\r\nturn\r\n")
        await until("greedy-1 takes a seat", "The game starts", "Your turn: place a piece.")
        guest.type("save\r\nleave\r\nv\r\nback\r\n")
        await until("No finished games are kept here.")
        guest.type("say ave\r\nquit\r\nyes\r\n")
        assert await guest.ended() == 0
        assert b"\x1b" not in guest.raw
        assert PASSWORD.encode() not in guest.raw
        assert (b"\r\nsay ave\r\n" in guest.raw) is (term is not None)
        assert not list(Path.cwd().glob("*.txt"))


async def test_the_mouse_works(tmp_path: Path) -> None:
    async with house(tmp_path) as here, visiting(here.port, key=new_key()) as guest:
        await guest.until("A new table", "? help")
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
        guest.type("o")
        await guest.until("waiting for players")
        guest.type("qy")
        assert await guest.ended() == 0
        assert here.seats == []
