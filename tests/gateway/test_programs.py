"""The programs that let guests in, what they keep, how they read keys, and shares of the processor."""

import asyncio
import contextlib
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import asyncssh
import psutil
import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from client.language import WrongUse
from client.player.seats import EVENING
from gateway import process
from gateway.connection import new_word, of_key, of_word, resembles_word
from gateway.kept_seats import GuestBook
from gateway.limits import CpuBudget, FrameTurns
from gateway.running import host_key
from gateway.terminal import KeyReader
from palatinus import main
from tests.gateway.visitor import connection, new_key, visiting
from tests.program import PROGRAM
from tests.server.peer import TIMEOUT
from tests.server.process import Serving, serving

OPENSSH = shutil.which("ssh")


@contextlib.asynccontextmanager
async def serving_guests(folder: Path, *options: str) -> AsyncIterator[tuple[Serving, int, str]]:
    """Serve with a door; yield the server, the door's port, and the fingerprint of its key."""
    async with serving("--data", str(folder), "--no-config", "--ssh", "0", *options) as server:
        assert server.process.stdout is not None
        told = ""
        async with asyncio.timeout(TIMEOUT):
            while (found := re.search(r"is (SHA256:\S+)\n  ssh -p (\d+) 127\.0\.0\.1\n", told)) is None:
                told += (await server.process.stdout.readline()).decode()
        yield server, int(found[2]), found[1]


async def back_at(port: int, key: asyncssh.SSHKey) -> None:
    """Come in as soon as the door is open again."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            with contextlib.suppress(OSError, asyncssh.Error):
                async with visiting(port, key=key) as guest:
                    await guest.until("A new table")
                return
            await asyncio.sleep(0.05)


@pytest.mark.slow
async def test_a_door_that_is_killed_is_opened_again_and_ends_with_its_server(tmp_path: Path) -> None:
    """At the same port, with the same key; guests are told even if the server is killed."""
    key = new_key()
    async with serving_guests(tmp_path) as (server, port, fingerprint):
        connected = await connection(port)
        shown = connected.get_server_host_key()
        assert shown is not None
        assert shown.get_fingerprint() == fingerprint
        (door,) = psutil.Process(server.process.pid).children()
        assert not any("ws://" in word for word in door.cmdline())
        door.kill()
        await connected.wait_closed()
        await back_at(port, key)
        (door,) = psutil.Process(server.process.pid).children()
        async with visiting(port, key=key) as guest:
            await guest.until("A new table")
            server.process.kill()
            await guest.until("The server stopped.")
            guest.vanish()
        _code, _out, err = await server.ended()
        await asyncio.to_thread(door.wait, TIMEOUT)
    assert "the ssh gateway has ended, and is started again" in err
    assert "Traceback" not in err


@pytest.mark.slow
@pytest.mark.usefixtures("restored_logging")
def test_what_keeps_a_door_shut_is_said_in_one_sentence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    serve = ("serve", "--host", "127.0.0.1", "--port", "0", "--no-config", "--ssh")
    assert main([*serve, "--memory"]) == 2
    assert "--ssh needs a data folder" in capfd.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main([*serve, port, "--data", str(tmp_path)]) == 2
    said = capfd.readouterr().err
    assert f"cannot listen on 127.0.0.1 port {port}" in said
    assert "Traceback" not in said
    assert (
        main(["guests", "--ssh", "0", "--host", "127.0.0.1", "--server", "http://x", "--data", str(tmp_path)])
        == 2
    )
    assert "is not a server address" in capfd.readouterr().err
    monkeypatch.setitem(sys.modules, "asyncssh", None)
    for command in ((*serve, "--data", str(tmp_path)), ("guests", "--data", str(tmp_path))):
        assert main(command) == 2
        (line,) = capfd.readouterr().err.splitlines()
        assert "asyncssh: install it with " in line
        assert line.endswith("palatinus[ssh]'")


@pytest.mark.slow
async def test_a_door_of_its_own_outlives_the_server(tmp_path: Path) -> None:
    """Guests who come while the server is away learn so."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        nobody = free.getsockname()[1]
    words = f"guests --host 127.0.0.1 --ssh 0 --data {tmp_path} --server ws://127.0.0.1:{nobody}".split()
    door = await asyncio.create_subprocess_exec(sys.executable, PROGRAM, *words, stdout=PIPE, stderr=PIPE)
    assert door.stdout is not None
    try:
        async with asyncio.timeout(TIMEOUT):
            await door.stdout.readline()
            port = int((await door.stdout.readline()).split()[2])
        async with visiting(port, environment={"LANG": "nl_NL.UTF-8"}) as guest:
            await guest.until(f"ws://127.0.0.1:{nobody}")
            assert await guest.ended() == 1
            assert "Is the server running?" not in guest.shown
        door.terminate()
        async with asyncio.timeout(TIMEOUT):
            _out, err = await door.communicate()
        assert (door.returncode, err) == (0, b"")
    finally:
        if door.returncode is None:
            door.kill()
            await door.wait()


@pytest.mark.slow
@pytest.mark.skipif(OPENSSH is None, reason="there is no ssh here")
async def test_openssh_plays(tmp_path: Path) -> None:
    """With a key, in a terminal of its own; and what it asks for besides is refused."""
    key = tmp_path / "id"
    new_key().write_private_key(key)
    key.chmod(0o600)
    async with serving_guests(tmp_path / "data", "-v") as (server, port, _fingerprint):
        words = [
            *("ssh", "-F", "none", "-p", str(port), "-i", str(key), "-o", "IdentitiesOnly=yes"),
            *("-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={tmp_path / 'known'}"),
            *("-o", "SendEnv=LANG", "-o", "LogLevel=ERROR"),
        ]
        shown = await asyncio.to_thread(_in_a_terminal, [*words, "anna@127.0.0.1"])
        assert "Un nuovo tavolo" in shown
        for asked, told in (
            (("anna@127.0.0.1", "cat /etc/passwd"), "There is only the game here."),
            (("-s", "anna@127.0.0.1", "sftp"), "subsystem request failed"),
            (("-N", "-o", "ExitOnForwardFailure=yes", "-R", "0:127.0.0.1:1", "anna@127.0.0.1"), "failed"),
        ):
            done = await asyncio.to_thread(_without_keys, [*words, *asked])
            assert done.returncode != 0
            assert told in done.stdout + done.stderr
        done = await asyncio.to_thread(_without_keys, [*words, "-T", "anna@127.0.0.1"], "tables\nquit\n")
        assert "No tables are open." in done.stdout
        assert done.returncode == 0
        # No key will ever come, and the program says so before there is a screen.
        done = await asyncio.to_thread(_without_keys, [*words, "-tt", "anna@127.0.0.1"])
        assert done.returncode == 0
        (door,) = psutil.Process(server.process.pid).children()
        server.process.send_signal(signal.SIGTERM)
        code, _out, err = await server.ended()
    assert code == 0
    assert "guest came" in err
    assert "anna" not in err
    assert not psutil.pid_exists(door.pid)


def _without_keys(words: list[str], typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT, input=typed, check=False)


def _in_a_terminal(words: list[str]) -> str:
    """Return the first screen, after which the game is left."""
    import pexpect

    environment = {**os.environ, "LANG": "it_IT.UTF-8", "TERM": "xterm-256color"}
    child = pexpect.spawn(words[0], words[1:], env=environment, dimensions=(24, 80), timeout=TIMEOUT)
    try:
        screen = pyte.Screen(80, 24)
        stream = pyte.ByteStream(screen)
        while "Un nuovo tavolo" not in "".join(screen.display):
            stream.feed(
                child.read_nonblocking(4096, TIMEOUT)
                .replace(b"\x1b[?2026h", b"")
                .replace(b"\x1b[?2026l", b"")
            )
        shown = "\n".join(screen.display)
        child.send("q")
        child.expect(pexpect.EOF)
        return shown
    finally:
        child.close(force=True)


SERVER = "ws://localhost:7733"
TOKEN = "a" * 43
private = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")


def test_there_is_one_host_key(tmp_path: Path) -> None:
    """Even if several doors start at the same time, and private if the system knows what that is."""
    path = tmp_path / "new" / "host_key"
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(host_key, [path] * 16))
    assert len({key.get_fingerprint() for key in keys}) == 1
    assert [each.name for each in path.parent.iterdir()] == ["host_key"]
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o644)
    assert host_key(path) == keys[0]
    if sys.platform != "win32":
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


_GATEWAY = """
import pathlib, sys
if pathlib.Path("again").exists():
    pathlib.Path("twice").touch()
    sys.stdin.read()
print("22 key", flush=True)
pathlib.Path("again").touch()
"""


def test_closing_while_the_gateway_is_started_again_says_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its input is closed then, which the thread that keeps it running is about to write to."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(process, "_FIRST_PAUSE", 0.0)
    monkeypatch.setattr(process, "module_process", lambda _: ([sys.executable, "-c", _GATEWAY], os.environ))
    gateway = process.GatewayProcess(0, [], silent=True)
    gateway.start()
    gateway.let_in("ws://localhost", "token", "here")
    while not Path("twice").exists():
        time.sleep(0.01)
    gateway.close()  # a thread that fails is a warning, and so an error


@private
def test_seats_are_private_and_tell_no_keys_and_no_words(tmp_path: Path) -> None:
    book = GuestBook(tmp_path / "seats")
    word, fingerprint = new_word(), "SHA256:abcdefgh"
    for guest in (of_word(word), of_key(fingerprint)):
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
    assert seats.last_table() is None
    old, new = seats.keep("KXQT", 1, "anna", TOKEN), seats.keep("ABCD", 0, "anna", TOKEN)
    os.utime(old.path, (1e9, 1e9))
    assert seats.last_table() is None
    for each in (old, new):
        each.release()
    os.utime(old.path, (time.time() - 60, time.time() - 60))
    assert seats.last_table() == "ABCD"
    seats.keep(EVENING, 0, "anna", TOKEN).release()  # is nowhere to go back to
    assert seats.last_table() == "ABCD"
    assert book.seats("two", SERVER).last_table() is None


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
    assert seats.last_table() == "AAAA"


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
    monkeypatch.setattr("past_games.records.time.time", lambda: 1e9 + 3600 * next(hours))
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


def test_words_are_readable_never_the_same_and_no_names() -> None:
    """Nor are mistyped ones: with one letter missing, ten guesses find the word."""
    words = {new_word() for _ in range(1000)}
    assert len(words) == 1000
    assert all(resembles_word(word) and resembles_word(word.upper()) for word in words)
    word = "nozo-veki-gofe-talo"
    mistyped = [word[:place] + word[place + 1 :] for place in range(len(word))]
    assert all(map(resembles_word, (*mistyped, word.replace("-", " "), word.replace("-", ""))))
    names = ("anna", "", "root", "anna-maria rossi", "sara_bini", "masanori takeda", "a-b-c")
    assert not any(map(resembles_word, names))
    assert of_word("abc") != of_key("abc")  # a fingerprint that is typed is no key
    assert of_word("Bado") == of_word("bado")


def read(*texts: str) -> list[KeyPress]:
    """Return the keys in these texts, after each of which nothing comes for a while."""
    keys: list[KeyPress] = []
    reader = KeyReader(keys.append)
    for text in texts:
        reader.feed(text)
        reader.flush()
    return keys


def as_the_library(text: str) -> list[KeyPress]:
    keys: list[KeyPress] = []
    Vt100Parser(keys.append).feed_and_flush(text)
    return keys


# The library knows two terminals whose keys begin with two Escs; the pairs mean Esc and a key here.
SEQUENCES = sorted(
    sequence
    for sequence, keys in ANSI_SEQUENCES.items()
    if not sequence.startswith("\x1b\x1b") and keys not in {Keys.BracketedPaste, Keys.Ignore}
)


def test_every_key_of_every_terminal_is_known() -> None:
    """And other input is read as usual."""
    other = ("\x1b", "\x1bx", "\x1b[I", "\x1b[O", "\x1b[<0;80;24M", "\x1b[<35;1;1m", "\x1b[M !!", "àé漢")
    for sequence in (*SEQUENCES, *other, "\x1b[200~ave\x1b[201~"):
        assert read(sequence) == as_the_library(sequence)


@given(st.lists(st.sampled_from([each for each in SEQUENCES if len(each) > 2] + ["a", "é", "\x1b[<0;8;4M"])))
def test_keys_may_come_in_any_pieces(sequences: list[str]) -> None:
    keys: list[KeyPress] = []
    reader = KeyReader(keys.append)
    for character in "".join(sequences):
        reader.feed(character)
    assert keys == [key for sequence in sequences for key in read(sequence)]


@given(st.text(alphabet="\x1b[]OPM<0;?~\x07\\ax\r"))
def test_whatever_comes_what_is_kept_is_bounded_and_keys_go_on(text: str) -> None:
    keys: list[KeyPress] = []
    reader = KeyReader(keys.append)
    reader.feed(text)
    reader.feed("\x1b[201~" + "\x07" + "\x1b\\" + "!!!")
    reader.flush()
    reader.feed("\rz")
    assert keys[-1].key == "z"


def test_what_never_ends_is_dropped() -> None:
    assert read("\x1b[" + "1;" * 1000 + "a")[-1].key == "a"
    assert read("\x1b]" + "x" * 5000)[-1].key == "x"
    pasted = read("\x1b[200~" + "x" * 5000 + "\x1b[201~z")
    assert [key.key for key in pasted] == [Keys.BracketedPaste, "z"]
    assert len(pasted[0].data) == 4096
    reader = KeyReader(lambda _key: None)
    reader.feed("\x1b[" + "0" * 1000)
    assert len(reader._sequence) <= 32


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_who_takes_more_than_a_share_rests_for_the_others() -> None:
    """And nobody while there is enough for all."""
    clock = Clock()
    house = CpuBudget(0.5, lambda: 0.5, clock)
    one, greedy, modest = (CpuBudget(0.1, lambda: 0.05, clock, house) for _ in "123")
    for _second in range(10):
        clock.now += 1
        assert one.spend(0.4) == 0
    for _second in range(10):
        clock.now += 1
        rest = greedy.spend(1.0)
        assert modest.spend(0.04) == 0
    assert rest == 2.0
    clock.now += rest
    assert greedy.spend(0.0) == 0


def test_screens_that_nobody_waits_for_leave_most_of_the_time_to_others() -> None:
    """The slower they are drawn, the longer each waits; and nobody waits when nothing was drawn lately."""
    clock = Clock()
    turns = FrameTurns(clock)
    for _frame in range(100):
        turns.took(0.01)
    waits = [turns.wait() for _screen in range(100)]
    assert waits == sorted(waits)
    assert 3.5 < waits[-1] <= 4.0
    clock.now += 10
    assert turns.wait() <= 0.04
