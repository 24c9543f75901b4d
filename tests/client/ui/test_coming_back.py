"""A player whose terminal was closed gets the seat back: a real server, real terminals, real kills."""

import contextlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.ui.pty_terminal import ROOT, Terminal
from tests.client.ui.test_journey import empty_hexes, place_first_piece, text_on


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}


def kept_seat_files(tmp_path: Path) -> list[Path]:
    """Return the files of the kept seats."""
    return list((tmp_path / "state" / "palatinus" / "seats").glob("*.json"))


@contextlib.contextmanager
def served(*options: str, port: str = "0") -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Run a server and yield its address; in the end it is killed, as in a crash."""
    command = [sys.executable, str(ROOT / "palatinus.py"), "serve", "--host", "127.0.0.1", "--port", port]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = next(found[0] for line in process.stdout if (found := re.search(r"ws://\S+", line)))
            yield address, process
        finally:
            process.kill()


@contextlib.contextmanager
def bot_table(address: str) -> Iterator[str]:
    """Let a bot open a table for two, and yield the table's code."""
    command = [sys.executable, str(ROOT / "palatinus.py"), "bot", address, "--random-layout", "--seed", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[1]
        finally:
            process.kill()


def hand_and_empty_fields(terminal: Terminal) -> tuple[list[str], list[str]]:
    """Return the hand and the names of the empty fields."""
    hand = terminal.found(r"\d [ESLMA][mfs]\*? .*?(?:×\d|none)")
    return hand, [re.findall(r"[A-G][1-6]", text_on(terminal, cell))[0] for cell in empty_hexes(terminal)]


def wait_for_turn(terminal: Terminal) -> tuple[list[str], list[str]]:
    """Wait for this player's turn; return the hand and the empty fields."""
    terminal.shows(r"Your turn: place")
    return hand_and_empty_fields(terminal)


def check_resumed(terminal: Terminal, before: tuple[list[str], list[str]]) -> None:
    """Check that the player is in the same seat of the same game."""
    terminal.shows(r"You are back in your seat, as Ann\.")
    assert wait_for_turn(terminal) == before


@pytest.mark.slow
def test_a_killed_terminal_gets_its_seat_back(environment: dict[str, str], tmp_path: Path) -> None:
    """By the table's code, from the lobby, and after a crash of the server."""
    data = ("--data", str(tmp_path / "data"))
    with served(*data) as (address, server), bot_table(address) as table:
        named = ("--name", "Ann")
        with Terminal("join", address, table, *named, environment=environment) as first:
            wait_for_turn(first)
            place_first_piece(first)
            before = wait_for_turn(first)
            (file,) = kept_seat_files(tmp_path)
            with Terminal("join", address, table, *named, environment=environment) as second:
                second.shows(
                    rf"The game at table {table} has begun", "the lobby"
                )  # the seat is not taken over
                assert "your seat" not in second.text
                first.end(signal.SIGKILL)
                second.press("r")
                second.shows(rf"{table} .*your seat")
                second.press("enter")
                check_resumed(second, before)
                place_first_piece(second)
                before = wait_for_turn(second)
                second.end(signal.SIGKILL)
        with Terminal("join", address, table, "--new", *named, environment=environment) as other:
            other.shows(rf"The game at table {table} has begun", "the lobby")
            other.press("q")
            assert other.ended()[0] == 0
        with Terminal("join", address, table, *named, environment=environment) as third:
            check_resumed(third, before)
            place_first_piece(third)
            before = wait_for_turn(third)
            third.press("q")
            third.shows(r"Quit\?")
            third.press("y")
            code, left = third.ended()
            assert code == 0
            assert f"palatinus join {address} {table} --name Ann" in left
        server.send_signal(signal.SIGKILL)
        server.wait()
        with (
            served(*data, port=address.rpartition(":")[2]),
            Terminal("join", address, table, *named, environment=environment) as fourth,
        ):
            fourth.shows(r"You are back in your seat, as Ann\.")
            fourth.until(lambda _: hand_and_empty_fields(fourth) == before, "the same hand and board")
            assert kept_seat_files(tmp_path) == [file]
            fourth.press("q", "y")
            assert fourth.ended()[0] == 0


@pytest.mark.slow
def test_a_seat_left_for_good_is_forgotten(environment: dict[str, str], tmp_path: Path) -> None:
    """Before the game, Esc and quitting give the seat up; a closed terminal does not."""
    with served("--memory") as (address, _):
        with Terminal("join", address, "--name", "Ann", environment=environment) as terminal:
            terminal.shows("No tables are open")
            terminal.press("o")
            terminal.shows(r"palatinus join ws://\S+ \w{4}")
            table = terminal.found(r"palatinus join ws://\S+ (\w{4})")[0]
            assert len(kept_seat_files(tmp_path)) == 1
            terminal.end(signal.SIGHUP)
            assert len(kept_seat_files(tmp_path)) == 1
        with Terminal("join", address, table, "--name", "Ann", environment=environment) as terminal:
            terminal.shows(r"You are back in your seat, as Ann\.", r"Ann +\(host, you\)")
            terminal.press("escape")
            terminal.shows("give up your seat")
            terminal.press("y")
            terminal.shows("No tables are open")
            assert kept_seat_files(tmp_path) == []
            terminal.press("o")
            terminal.shows(r"palatinus join ws://\S+ \w{4}")
            terminal.press("q")
            assert terminal.ended()[0] == 0
            assert kept_seat_files(tmp_path) == []


def test_a_game_hosted_by_play_keeps_no_seat(environment: dict[str, str], tmp_path: Path) -> None:
    """`play` stops its server, so there is no seat to come back to."""
    arguments = ("play", "--players", "2", "--random-layout", "--seed", "1", "--name", "Ann")
    with Terminal(*arguments, environment=environment) as terminal:
        terminal.shows(r"Your turn: place")
        terminal.press("q")
        terminal.shows(r"Quit\?")
        terminal.press("y")
        code, left = terminal.ended()
        assert (code, "palatinus join" in left) == (0, False)
    assert not (tmp_path / "state").exists()
