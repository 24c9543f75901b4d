"""The shell in a real terminal: suspended and resumed, redrawn, closed."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.ui.pty_terminal import ROOT, RUN_SUSPENDED, TIMEOUT, Terminal


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}


RECORD = ROOT / "tests/engine/records/3-players.txt"


@pytest.mark.parametrize(
    ("arguments", "shown", "keys", "leave"),
    [
        ((), "Learn the game", "jn", "\rq"),  # while a name is being typed
        pytest.param(("learn",), r"1 of \d+", "\r", "q", marks=pytest.mark.slow),
        pytest.param(("learn",), r"1 of \d+", "?", "qq", marks=pytest.mark.slow),
        pytest.param(("replay", str(RECORD)), "Replay", "ll", "q", marks=pytest.mark.slow),
        pytest.param(
            ("play", "--players", "2", "--random-layout", "--starts", "me"),
            "Your turn",
            "1lj",
            "qy",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ("play", "--players", "2", "--starts", "me"),
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
        terminal.press("ctrl-z")
        terminal.shows(rf"stopped by {128 + signal.SIGTSTP}", "xcase|tostop")
        terminal.assert_restored()
        assert re.search(r"[^-]icanon\b", terminal.text)
        assert re.search(r"[^-]echo\b", terminal.text)
        terminal.press("enter")
        terminal.until(lambda text: text == page, "page as it was")
        assert terminal.raw.count(b"\x1b[?1004h") == 2
        terminal.press(*leave)
        assert terminal.ended()[0] == 0


def test_redrawn(environment: dict[str, str]) -> None:
    """Ctrl-L and a new size draw the whole screen again."""
    with Terminal("learn", environment=environment) as terminal:
        terminal.shows(r"1 of \d+")
        page = terminal.text
        terminal.wipe()
        terminal.press("ctrl-l")
        terminal.until(lambda text: text == page, "page as it was")
        terminal.resize(100, 30)
        terminal.shows(r"1 of \d+")
        terminal.resize(80, 24)
        terminal.until(lambda text: text == page, "page as it was")
        terminal.press("q")
        assert terminal.ended()[0] == 0


@pytest.mark.slow
def test_closed_without_a_signal(environment: dict[str, str]) -> None:
    """A terminal that is not the controlling one sends no SIGHUP, so the end of input ends the program."""
    near, far = os.openpty()
    with subprocess.Popen(
        [sys.executable, ROOT / "palatinus.py", "learn"],
        stdin=far,
        stdout=far,
        stderr=subprocess.PIPE,
        env={"TERM": "xterm-256color", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin", **environment},
        start_new_session=True,
    ) as program:
        os.close(far)
        shown = b""
        while b"Enter" not in shown:
            shown += os.read(near, 65536)
        os.close(near)
        _, errors = program.communicate(timeout=TIMEOUT)
        assert b"Traceback" not in errors


def bells(terminal: Terminal) -> int:
    """Return how often the terminal has been rung: no other sequence of the client ends with that byte."""
    return terminal.raw.count(b"\a")


def test_called_unless_the_window_has_the_focus(environment: dict[str, str]) -> None:
    """With bell, title and notice, and again at each turn."""
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
            assert (bells(terminal) > before) is not given
        notices = re.findall(rb"\x1b\]777;notify;([^;]*);(.*?)\x1b\\", terminal.raw)
        assert [sentence for _title, sentence in notices] == [b"Your turn: place a piece"]
        assert re.search(rb"\x1b\]2;Your turn: place a piece - Palatinus \w{4}\x1b\\", terminal.raw)
        terminal.press("q", "y")
        assert terminal.ended()[0] == 0


@pytest.mark.slow
def test_calls_can_be_silenced(environment: dict[str, str]) -> None:
    arguments = ("--no-bell", "play", "--no-title", "--notices", "none", "--players", "2", "--random-layout")
    environment = {**environment, "TERM": "xterm-kitty"}
    with Terminal(*arguments, "--starts", "me", "--name", "Ann", environment=environment) as terminal:
        terminal.shows("Your turn: place")
        terminal.focus(given=False)
        field = terminal.found(r"\b[A-G][1-6]\b")[0]
        terminal.press(":", f"f {field}", "enter")
        terminal.shows(r"YOUR HAND +15\b", "Your turn: place")
        assert bells(terminal) == 0
        assert b"\x1b]" not in terminal.raw
        terminal.press("q", "y")
        assert terminal.ended()[0] == 0
