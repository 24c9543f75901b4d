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


def test_suspended_and_resumed(environment: dict[str, str]) -> None:
    """Ctrl-Z restores the terminal for the shell; in the foreground again, the page is as before."""
    with Terminal("learn", environment=environment, script=RUN_SUSPENDED) as terminal:
        terminal.shows(r"1 of \d+")
        terminal.press("enter")
        terminal.shows(r"2 of \d+")
        page = terminal.text
        terminal.press("ctrl-z")
        terminal.shows(rf"stopped by {128 + signal.SIGTSTP}", "xcase|tostop")
        terminal.assert_restored()
        assert re.search(r"[^-]icanon\b", terminal.text)
        assert re.search(r"[^-]echo\b", terminal.text)
        terminal.press("enter")
        terminal.until(lambda text: text == page, "page as it was")
        terminal.press("q")
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
