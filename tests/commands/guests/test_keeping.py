"""What the door keeps on the disk: its key, and the guests' seats."""

import os
import stat
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import asyncssh
import pytest

from commands.guests import identity
from commands.guests.host_key import host_key
from commands.guests.kept_seats import GuestBook
from commands.parsing import WrongUse

SERVER = "ws://localhost:7733"
TOKEN = "a" * 43
private = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")


def test_the_host_key_stays_the_same(tmp_path: Path) -> None:
    made = host_key(tmp_path / "new" / "host_key")
    assert host_key(tmp_path / "new" / "host_key") == made
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["host_key"]


def test_doors_that_start_at_once_have_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(host_key, [tmp_path / "host_key"] * 16))
    assert len({key.get_fingerprint() for key in keys}) == 1


@private
def test_the_host_key_is_private(tmp_path: Path) -> None:
    path = tmp_path / "host_key"
    host_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    host_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_not_a_key_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "host_key"
    phrase = "aqua virgo"
    locked = asyncssh.generate_private_key("ssh-ed25519").export_private_key("pkcs8-pem", phrase)
    for content in (b"", b"no key", locked):
        path.write_bytes(content)
        with pytest.raises(WrongUse, match=r"host_key: it is not an ssh key"):
            host_key(path)
        assert path.read_bytes() == content
    with pytest.raises(WrongUse, match=r"cannot use .*host_key"):
        host_key(path / "host_key")


@private
def test_seats_are_private_and_tell_no_keys_and_no_words(tmp_path: Path) -> None:
    book = GuestBook(tmp_path / "seats")
    word, fingerprint = identity.new_word(), "SHA256:abcdefgh"
    for guest in (identity.of_word(word), identity.of_key(fingerprint)):
        assert not book.knows(guest)
        book.seats(guest, SERVER).keep("KXQT", 1, "anna", TOKEN).release()
        assert book.knows(guest)
    for path in (tmp_path / "seats").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) in {0o600, 0o700}
        assert word not in str(path)
        assert fingerprint not in str(path)
        assert path.is_dir() or word not in path.read_text()


def test_the_latest_free_seat_is_found(tmp_path: Path) -> None:
    book = GuestBook(tmp_path / "seats")
    seats = book.seats("one", SERVER)
    assert seats.latest() is None
    old, new = seats.keep("KXQT", 1, "anna", TOKEN), seats.keep("ABCD", 0, "anna", TOKEN)
    os.utime(old.path, (1e9, 1e9))
    assert seats.latest() is None
    for each in (old, new):
        each.release()
    os.utime(old.path, (time.time() - 60, time.time() - 60))
    found = seats.latest()
    assert found is not None
    assert found.table == "ABCD"
    assert book.seats("two", SERVER).latest() is None


def test_a_damaged_seat_is_told_to_the_host_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    seats = GuestBook(tmp_path / "seats").seats("one", SERVER)
    held = seats.keep("KXQT", 1, "anna", TOKEN)
    held.release()
    held.path.write_bytes(b"{")
    for _look in range(3):
        assert seats.tables() == frozenset()
        assert seats.damaged == ()
    assert [record.message for record in caplog.records] == ["a guest's seat cannot be read"]


def test_a_seat_is_kept_though_the_name_cannot_be(tmp_path: Path) -> None:
    seats = GuestBook(tmp_path / "seats").seats("one", SERVER)
    (tmp_path / "seats" / "one" / "name").mkdir(parents=True)
    held = seats.keep("AAAA", 0, "Ann", TOKEN)
    assert seats.name == ""
    held.release()
    assert seats.latest() is not None


def test_a_guest_keeps_a_bounded_number_of_seats(tmp_path: Path) -> None:
    seats = GuestBook(tmp_path / "seats").seats("one", SERVER)
    for number in range(40):
        seats.keep("KXQT", number % 5, "anna", TOKEN).release()
    assert len(list(tmp_path.rglob("*.json"))) == 32


def test_a_guest_keeps_the_latest_games_and_no_long_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seats = GuestBook(tmp_path / "seats").seats("one", SERVER)
    hours = iter(range(100))
    monkeypatch.setattr("commands.finished_games.past_games.time.time", lambda: 1e9 + 3600 * next(hours))
    for number in range(25):
        seats.keep_game("KXQT", f"palatinus record 1\nnumber {number}\n")
    kept = [int(path.read_text().split()[-1]) for path in sorted(seats.games.iterdir())]
    assert kept == [*range(5, 25)]
    with pytest.raises(OSError, match=r"^\[Errno \d+\] File too large$"):
        seats.keep_game("ABCD", "é" * 8200)
    seats.games.rename(tmp_path / "moved")
    seats.games.write_text("no folder")
    with pytest.raises(OSError, match=r"^\[Errno \d+\]") as failed:
        seats.keep_game("ABCD", "palatinus record 1\n")
    assert str(tmp_path) not in str(failed.value)
    assert len(list((tmp_path / "moved").iterdir())) == 20


def test_guests_who_do_not_come_back_are_forgotten(tmp_path: Path) -> None:
    book = GuestBook(tmp_path / "seats")
    for guest in ("one", "two"):
        book.seats(guest, SERVER).keep("KXQT", 1, "anna", TOKEN).release()
    os.utime(tmp_path / "seats" / "one", (1e9, 1e9))
    book.tidy()
    assert (book.knows("one"), book.knows("two")) == (False, True)


def test_words_are_readable_and_never_the_same() -> None:
    words = {identity.new_word() for _ in range(1000)}
    assert len(words) == 1000
    assert all(identity.resembles_word(word) and identity.resembles_word(word.upper()) for word in words)
    names = ("anna", "", "root", "anna-maria rossi", "sara_bini", "masanori takeda", "a-b-c")
    assert not any(map(identity.resembles_word, names))


def test_mistyped_words_are_no_names_either() -> None:
    """With one letter missing, ten guesses find the word."""
    word = "nozo-veki-gofe-talo"
    assert all(identity.resembles_word(word[:place] + word[place + 1 :]) for place in range(len(word)))
    assert identity.resembles_word("nozo veki gofe talo")
    assert identity.resembles_word("nozovekigofetalo")
