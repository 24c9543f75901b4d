"""A program in a real pseudo-terminal, with a screen emulator to read what it shows."""

import contextlib
import os
import re
import select
import signal
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pexpect
import pyte

from tests.program import started_in_terminal

ROOT = Path(__file__).parents[3]
TIMEOUT = 60.0  # seconds until a test gives up waiting, not how long anything should take

KEYS = {
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "ctrl-c": "\x03",
    "ctrl-l": "\x0c",
    "ctrl-z": "\x1a",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
}

WHOLE_SCREEN = b"\x1b[?2026h\x1b[2J"

# What a shell does there instead of running the program alone, which is forked then.
RUN = 'stty -g; {program}; echo "exit $?"; stty -g'
RUN_SUSPENDED = (  # once, until Enter
    'set -m; stty -g; {program}; echo "stopped by $?"; stty -a; read answer; fg; echo "exit $?"; stty -g'
)


class _Program:
    """The program alone in a terminal, with the methods of a child of pexpect's that the terminal uses."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: dict[str, str],
        folder: Path | None,
        size: tuple[int, int],
    ) -> None:
        self._near, self._far = os.openpty()
        self.setwinsize(*size)
        self.settings = termios.tcgetattr(self._far)
        self._process = started_in_terminal(arguments, os.ttyname(self._far), environment, folder)

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        return self._process.exitcode

    def setwinsize(self, lines: int, columns: int) -> None:
        termios.tcsetwinsize(self._near, (lines, columns))

    def settings_now(self) -> object:
        return termios.tcgetattr(self._far)

    def send(self, text: str) -> None:
        sent = text.encode()
        while sent:
            sent = sent[os.write(self._near, sent) :]

    def read_nonblocking(self, size: int, timeout: float) -> bytes:
        """Read what is there, or will be soon; raises EOF once the program has ended and all is read."""
        ready, _, _ = select.select([self._near, self._process.sentinel], [], [], timeout)
        if self._near in ready or self._process.sentinel in ready:
            if select.select([self._near], [], [], 0)[0]:
                return os.read(self._near, size)
            raise pexpect.EOF("the program has ended")
        raise pexpect.TIMEOUT("nothing was written")

    def close(self, *, force: bool) -> None:
        """Hang up, and wait until the program has ended; with `force`, for a second only."""
        os.close(self._near)
        os.close(self._far)
        self._process.join(1 if force else None)
        self._process.kill()
        self._process.join()
        self._process.close()


class Terminal:
    """`palatinus` with these arguments in a terminal of 80x24; its settings are compared before and after."""

    def __init__(
        self,
        *arguments: str,
        size: tuple[int, int] = (80, 24),
        environment: dict[str, str],
        script: str | None = None,
        folder: Path | None = None,
    ) -> None:
        columns, lines = size
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self._lines: list[str] | None = None  # of the screen, once it has been looked at
        self.raw = b""
        environment = {
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "PATH": "/usr/bin:/bin",
            "PALATINUS_MULTICAST": "none",
            **environment,
        }
        self._child: Any
        if script is None:
            self._child = _Program(arguments, environment, folder, (lines, columns))
            return
        program = f'"{sys.executable}" "{ROOT / "palatinus.py"}" "$@"'
        self._child = pexpect.spawn(
            "/bin/sh",
            ["-c", script.format(program=program), "sh", *arguments],
            dimensions=(lines, columns),
            env=environment,
            cwd=folder,
            timeout=TIMEOUT,
        )
        self._child.delaybeforesend = None  # the delay is for password prompts

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.close(force=True)

    @property
    def lines(self) -> list[str]:
        if self._lines is None:
            self._lines = [line.rstrip() for line in self._screen.display]
        return self._lines

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def _drawn(self) -> bool:
        """Tell whether the latest screen has arrived completely."""
        return self.raw.rfind(b"\x1b[?2026l") >= self.raw.rfind(b"\x1b[?2026h")

    def press(self, *keys: str, shows: str | Sequence[str] = ()) -> None:
        """Send keys by name, and any other text unchanged; read until the screen shows these patterns."""
        for key in keys:
            self._child.send(KEYS.get(key, key))
        self.shows(*((shows,) if isinstance(shows, str) else shows))

    def quit(self, *keys: str) -> str:
        """Press q and these keys; return the text that the program has left in the terminal."""
        self.press("q", *keys)
        code, left = self.ended()
        assert code == 0
        return left

    def click(self, column: int, line: int) -> None:
        """Press and release the left mouse button there, counted from 0 (SGR mouse mode)."""
        self._child.send(f"\x1b[<0;{column + 1};{line + 1}M\x1b[<0;{column + 1};{line + 1}m")

    def resize(self, columns: int, lines: int) -> None:
        self._screen.resize(lines, columns)
        self._screen.reset()
        self._lines = None
        self._child.setwinsize(lines, columns)

    def end(self, number: signal.Signals) -> None:
        """Send a signal to everything that runs in the terminal, and wait until it has ended."""
        os.killpg(self._child.pid, number)
        with contextlib.suppress(pexpect.EOF):
            while True:
                self._read()

    def until(self, seen: Callable[[str], object], what: str) -> None:
        """Read until the screen meets the condition; fail with the screen if it does not in time."""
        deadline = time.monotonic() + TIMEOUT
        while not (self._drawn and seen(self.text)):
            assert time.monotonic() < deadline, f"no {what} on the screen:\n{self.text}"
            self._read()

    def settle(self) -> None:
        """Read until the client has answered a redraw of the whole screen: it then has read all keys."""
        drawn = self.raw.count(WHOLE_SCREEN)
        self.press("ctrl-l")
        self.until(lambda _: self.raw.count(WHOLE_SCREEN) > drawn, "whole screen drawn again")

    def shows(self, *patterns: str) -> None:
        """Read until each of the patterns is on the screen."""
        for pattern in patterns:
            self.until(re.compile(pattern).search, pattern)

    def found(self, pattern: str) -> list[str]:
        """Return all matches on the screen as it is now."""
        return re.findall(pattern, self.text)

    def ended(self) -> tuple[int, str]:
        """Read to the end; return the exit code, and the text in the terminal after the program has ended.

        Fail unless the terminal's settings are as before and the program has left its own screen.
        """
        deadline = time.monotonic() + TIMEOUT
        with contextlib.suppress(pexpect.EOF):
            while True:
                assert time.monotonic() < deadline, f"the program goes on:\n{self.text}"
                self._read()
        before: object
        after: object
        if isinstance(self._child, _Program):
            code, before, after = self._child.exit_code, self._child.settings, self._child.settings_now()
        else:
            before, *_ = self.raw.split(b"\r\n")
            ending = re.search(rb"exit (\d+)\r\n(.*)\r\n$", self.raw, re.DOTALL)
            assert ending is not None, self.raw[-2000:]
            code, after = int(ending[1]), ending[2]
        assert code is not None
        assert after == before, "the terminal's settings have changed"
        self.assert_restored()
        left = self.raw.rpartition(b"\x1b[?1049l")[2]
        return code, left.decode(errors="replace")

    def assert_restored(self) -> None:
        """Fail unless the program has left its own screen and reset every mode it set."""
        # Screen, mouse, mouse, paste, held output, focus.
        for mode in (b"1049", b"1000", b"1006", b"2004", b"2026", b"1004"):
            assert self.raw.rfind(b"\x1b[?%sl" % mode) >= self.raw.rfind(b"\x1b[?%sh" % mode), mode
        for mode in (b"25", b"7"):  # cursor, wrapping
            assert self.raw.rfind(b"\x1b[?%sh" % mode) >= self.raw.rfind(b"\x1b[?%sl" % mode), mode

        assert self.raw.count(b"\x1b[22;0t") == self.raw.count(b"\x1b[23;0t"), "the window's title"

    def focus(self, *, given: bool) -> None:
        """Report that the window has or has lost the focus."""
        self._child.send("\x1b[I" if given else "\x1b[O")

    def _read(self) -> None:
        try:
            chunk = self._child.read_nonblocking(65536, timeout=0.2)
        except pexpect.TIMEOUT:
            return
        self.raw += chunk
        self._stream.feed(chunk)
        self._lines = None
