"""Whole journeys in a real terminal: games, lessons and records, coming back, and what a terminal can do."""

import contextlib
import re
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from client.ui import at_table
from client.ui.draw.board import SMALL
from client.ui.keys import Way
from client.ui.lessons.pages import PAGES as LESSONS
from client.ui.texts.pieces import piece_sign
from engine.board import Hex
from engine.pieces import Piece, Wolf
from engine.record import names_in, replayed
from tests.client.bots.test_search import search_processes
from tests.client.ui.pty_terminal import ROOT, RUN_SUSPENDED, TIMEOUT, Terminal
from tests.program import let_bots_move_at_once

TOP = 1  # the board's first line on the screen
WAYS = {"left": Way.WEST, "right": Way.EAST, "up": Way.UP, "down": Way.DOWN}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return an environment with a temporary home folder, and one for what is kept."""
    let_bots_move_at_once(tmp_path / "state")
    return {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}


def text_on(terminal: Terminal, cell: Hex) -> str:
    """Return the text on a hex, with the edges of the cursor if it is there."""
    column, line = SMALL.body_of(cell)
    return terminal.lines[TOP + line].ljust(80)[column - 1 : column + SMALL.across]


def cursor(terminal: Terminal) -> Hex | None:
    return next((cell for cell in at_table.HEX_POSITIONS if text_on(terminal, cell).startswith("▐")), None)


def on_a_piece(terminal: Terminal) -> bool:
    """Return whether the cursor is on a piece."""
    cell = cursor(terminal)
    return cell is None or re.search(r"[ESLMA][mfs?]", text_on(terminal, cell)) is not None


def empty_hexes(terminal: Terminal) -> list[Hex]:
    """Return the hexes that show a field's name instead of a piece."""
    return [cell for cell in at_table.HEX_POSITIONS if re.search(r"[A-G][1-6]", text_on(terminal, cell))]


def way_to(start: Hex, goal: Hex) -> list[str]:
    """Return the arrow keys that lead from one hex to another."""
    ways: dict[Hex, list[str]] = {start: []}
    edge = deque([start])
    while goal not in ways:
        cell = edge.popleft()
        for key, way in WAYS.items():
            there = at_table.step(cell, way)
            if there not in ways:
                ways[there] = [*ways[cell], key]
                edge.append(there)
    return ways[goal]


def lay_tile(terminal: Terminal) -> None:
    """Turn the drawn tile and lay it at the first open position."""
    tile = terminal.found(r"lay tile (\w)")[0]
    terminal.press("r", shows=r"turned once")
    terminal.press("enter")
    terminal.until(lambda text: f"Your turn: lay tile {tile}" not in text, "end of the turn")


def place_first_piece(terminal: Terminal) -> None:
    """Take the first piece that may be placed, and place it on the first empty field."""
    # The board may be drawn with the last move before the cursor leaves its field.
    terminal.until(lambda _: not on_a_piece(terminal), "cursor beside the pieces")
    left = terminal.found(r"YOUR HAND +(\d+)")[0]
    number = terminal.found(r"(\d) \w\w\S? .*×\d")[0]
    goal, start = empty_hexes(terminal)[0], cursor(terminal)
    assert start is not None
    terminal.press(number, shows=rf"► {number} ")
    terminal.press(*way_to(start, goal))
    terminal.until(lambda _: cursor(terminal) == goal, "cursor on the field")
    terminal.press("enter")
    terminal.until(lambda text: not re.search(rf"YOUR HAND +{left}\b", text), "smaller hand")


def play_until_scoring(terminal: Terminal) -> None:
    """Play all of the player's own turns until the scoring begins."""
    turn = re.compile(r"Your turn: (lay|place)|the wolves turn up")
    while True:
        terminal.until(turn.search, "own turn")
        match terminal.found(turn.pattern)[0]:
            case "lay":
                lay_tile(terminal)
            case "place":
                place_first_piece(terminal)
            case _:
                return


def walk_through_scoring(terminal: Terminal) -> None:
    """Go through the scoring step by step, to the result."""
    terminal.shows(r"step 1 of \d+")
    steps = int(terminal.found(r"step 1 of (\d+)")[0])
    hills, number = set(), 1
    while number < steps - 1:
        later = "|".join(map(str, range(number + 1, steps)))  # hills without doubt have one step
        terminal.press("enter", shows=rf"step ({later}) of")
        number = int(terminal.found(r"step (\d+) of")[0])
        hills.update(terminal.found(r"HILL (\w)"))
    assert hills == set("ABCDEFG")
    terminal.press("left", shows=rf"step {steps - 2} of")
    terminal.press("enter", "enter")
    terminal.shows(r"wins, |share the victory|YOU WIN", "captives", "POINTS")


def test_a_whole_game_by_keyboard(environment: dict[str, str], tmp_path: Path) -> None:
    """From the command line through tiles, pieces and scoring to the result, a rematch and the shell.

    Between result and rematch the game is looked through and saved, twice under different names.
    """
    arguments = ("play", "--no-random-layout", "--players", "3", "--seed", "1", "--name", "Ann")
    with Terminal(*arguments, environment=environment, folder=tmp_path) as terminal:
        play_until_scoring(terminal)
        walk_through_scoring(terminal)
        terminal.press("enter", "enter")  # one more than needed does nothing
        terminal.press("v", shows=("Replay . move 0 of", "everything shown"))
        terminal.press("end", "q", shows=("captives", "play again"))
        for key, ending in (("w", ".txt"), ("w", "-2.txt"), ("e", ".svg")):
            terminal.press(key, shows=rf"Saved as palatinus-[A-Z]{{4}}{ending}")
        records = [path.read_text(encoding="utf-8") for path in sorted(tmp_path.glob("*.txt"))]
        assert records[0] == records[1]
        assert "Ann" in names_in(records[0]).values()
        assert replayed(records[0]).over
        (picture,) = tmp_path.glob("*.svg")
        assert picture.read_text(encoding="utf-8").startswith("<svg")
        terminal.press("g")
        terminal.shows(r"Your turn: lay tile|'s turn to lay tile")  # the bots play again too
        terminal.quit("y")


@pytest.mark.slow
def test_a_record_is_analysed_beside_the_board(environment: dict[str, str]) -> None:
    """The screen goes on meanwhile; Esc stops the analysis, and then leaves. No process stays behind."""
    record = ROOT / "tests/engine/records/3-players.txt"
    with Terminal("replay", str(record), "--at", "20", environment=environment) as terminal:
        terminal.shows("move 20 of 42", "y analyse")
        terminal.press("y", shows=("CHANCES", r"\b[1-9]\d?/36"))
        workers = search_processes()
        assert workers
        terminal.press("G", "42", "enter", shows=("move 42 of 42", "This move has not been"))
        terminal.press("escape", shows=(r"Stopped: \d+ of 36 moves analysed", "This move was not analysed"))
        _ended, left = psutil.wait_procs(workers, timeout=TIMEOUT)
        assert not left
        terminal.press("G", "7", "enter", shows=r"(?m)\d -> \d+%$")
        terminal.press("escape")
        assert terminal.ended()[0] == 0


def test_a_record_is_walked_through_in_windows_of_any_size(environment: dict[str, str]) -> None:
    record = str(ROOT / "tests/engine/records/3-players.txt")
    with Terminal("replay", record, "--at", "24", "--eyes", "2", environment=environment) as terminal:
        terminal.shows(
            "move 24 of 42", "seen by Seat 2", rf"{re.escape(piece_sign(Wolf('E*')))}≈┃", "HAND OF Seat 2"
        )
        terminal.press("1", shows=("seen by Seat 1", rf"{re.escape(piece_sign(Piece('Em*')))}≈┃"))
        terminal.resize(20, 10)
        terminal.shows(r"(?m)^ move 24 of 42", r"(?m)^ \? help  q quit$")
        terminal.resize(120, 40)
        terminal.shows("move 24 of 42", r"━━━┓     ┏━━━")
        terminal.press(":", "go end", "enter", shows=("wins, 17-13-7", "POINTS"))
        terminal.quit()


def test_the_lessons_lead_to_a_game(environment: dict[str, str]) -> None:
    """Past all exercises, and in a window too small for text and board together."""
    with Terminal("learn", "--name", "Ann", environment=environment) as terminal:
        for number, page in enumerate(LESSONS, start=1):
            terminal.shows(rf"Lesson {number} of {len(LESSONS)}", re.escape(page.title))
            if number == 5:
                terminal.resize(20, 10)
                terminal.shows("Merchants +5/", "A merchant lives")
                terminal.press("\x1b[6~")
                terminal.settle()  # in a larger window the key would lead to the next lesson
                terminal.resize(120, 40)
                terminal.shows("Lesson 5 of", "YOUR HAND")
                terminal.resize(80, 24)
            terminal.press("enter" if number == len(LESSONS) else "\x1b[6~")
        terminal.shows(r"Palatinus · [A-Z]{4} · ", "PLAYERS")
        terminal.press("ctrl-c", shows=r"Quit\?")
        terminal.press("y")
        assert terminal.ended()[0] == 0
    plain = {**environment, "NO_COLOR": "1"}
    with Terminal("learn", "--ascii", environment=plain) as terminal:
        terminal.shows("Lesson 1 of")
        terminal.quit()
        assert terminal.raw.isascii()


@contextlib.contextmanager
def program(*words: str, says: str) -> Iterator[str]:
    """Run a program, and yield what it says first of this form; in the end it is killed, as in a crash."""
    command = [sys.executable, str(ROOT / "palatinus.py"), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield next(found[0] for line in process.stdout if (found := re.search(says, line)))
        finally:
            process.kill()


def hand_and_empty_fields(terminal: Terminal) -> tuple[list[str], list[str]]:
    """Wait until the player is back in the seat to move; return the hand and the empty fields."""
    terminal.shows("Your turn: place", "YOUR HAND")  # what is told then makes room for other news soon
    hand = terminal.found(r"\d [ESLMA][mfs]\S? .*?(?:×\d|none)")
    return hand, [re.findall(r"[A-G][1-6]", text_on(terminal, cell))[0] for cell in empty_hexes(terminal)]


@pytest.mark.slow
def test_a_killed_terminal_gets_its_seat_back(environment: dict[str, str], tmp_path: Path) -> None:
    """Again and again; nobody else in this home does while it is open, nor who wants to be somebody new."""
    serve = ("serve", "--host", "127.0.0.1", "--memory", "--port", "0")
    bot, named = ("--random-layout", "--seed", "1"), ("--name", "Ann")
    with (
        program(*serve, says=r"ws://\S+") as address,
        program("bot", address, *bot, says="(?<=Table )[A-Z]+") as table,
    ):
        with Terminal("join", address, table, *named, environment=environment) as first:
            first.shows("Your turn: place")
            place_first_piece(first)
            first.shows("Your turn: place")
            (file,) = (tmp_path / "state" / "palatinus" / "seats").glob("*.json")
            for words in ((), ("--new",)):
                with Terminal("join", address, table, *words, *named, environment=environment) as other:
                    other.shows(rf"The game at table {table} has begun", "the lobby")
                    assert "your seat" not in other.text  # it is not taken over
            first.end(signal.SIGKILL)
        with Terminal("join", address, table, *named, environment=environment) as second:
            before = hand_and_empty_fields(second)
            second.end(signal.SIGKILL)
        with Terminal("join", address, table, *named, environment=environment) as third:
            assert hand_and_empty_fields(third) == before
            assert file.exists()
            assert f"palatinus join {address} {table} --name Ann" in third.quit("y")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "shown", "keys", "leave"),
    [
        ((), "Learn the game", "jn", "\rq"),  # while a name is being typed
        pytest.param(
            ("play", "--no-random-layout", "--players", "2", "--starts", "me"),
            "Your turn: lay",
            "r:lay",
            "\x03qy",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_suspended_and_resumed(
    environment: dict[str, str], arguments: tuple[str, ...], shown: str, keys: str, leave: str
) -> None:
    """Ctrl-Z restores the terminal for the shell; in the foreground again, the page is as before."""
    with Terminal(*arguments, environment=environment, script=RUN_SUSPENDED) as terminal:
        terminal.shows(shown)
        before = terminal.text
        terminal.press(*keys)
        terminal.until(lambda text: text != before, "page after the keys")
        terminal.settle()
        page = terminal.text
        terminal.press("ctrl-z", shows=(rf"stopped by {128 + signal.SIGTSTP}", "xcase|tostop"))
        terminal.assert_restored()
        assert re.search(r"[^-]icanon\b", terminal.text)
        assert re.search(r"[^-]echo\b", terminal.text)
        terminal.press("enter")
        terminal.until(lambda text: text == page, "page as it was")
        assert terminal.raw.count(b"\x1b[?1004h") == 2
        terminal.press(*leave)
        assert terminal.ended()[0] == 0


def bells(terminal: Terminal) -> int:
    """Return how often the terminal has been rung: no other sequence of the client ends with that byte."""
    return terminal.raw.count(b"\a")


def test_called_unless_the_window_has_the_focus(environment: dict[str, str]) -> None:
    arguments = ("play", "--players", "2", "--random-layout", "--starts", "me", "--name", "Ann")
    environment = {**environment, "TERM": "xterm-kitty"}
    with Terminal(*arguments, environment=environment) as terminal:
        terminal.shows("Your turn: place")
        assert bells(terminal) == 0  # who has just started it is there
        for turn, (given, piece) in enumerate(((True, "f"), (False, "m"), (True, "m")), start=1):
            terminal.focus(given=given)
            field = terminal.found(r"\b[A-G][1-6]\b")[0]
            before = bells(terminal)
            terminal.press(":", f"{piece} {field}", "enter")
            terminal.shows(rf"YOUR HAND +{16 - turn}\b", "Your turn: place")
            if given:
                assert bells(terminal) == before
            else:  # what is drawn can be read before the bell
                terminal.until(lambda _: bells(terminal) > before, "bell")  # noqa: B023 - done before the next turn
        notices = re.findall(rb"\x1b\]777;notify;([^;]*);(.*?)\x1b\\", terminal.raw)
        assert [sentence for _title, sentence in notices] == [b"Your turn: place a piece"]
        assert re.search(rb"\x1b\]2;Your turn: place a piece - Palatinus \w{4}\x1b\\", terminal.raw)
        terminal.quit("y")
