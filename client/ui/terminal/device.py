"""Terminals, with a screen or in text mode: this program's own, or that of somebody far away."""

import asyncio
import contextlib
import functools
import io
import os
import queue
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from threading import Thread
from typing import Any, Final, Protocol, TextIO

from prompt_toolkit.input import Input
from prompt_toolkit.output import Output

from client.player.terminal import Calling, Colouring, chosen_calling, chosen_display, plain_chosen
from client.ui.texts.glyphs import ASCII, GlyphSet, glyphs_for, glyphs_to_read

_TYPED_AHEAD: Final = 100  # lines that wait to be carried out; whoever types more waits


class LineTerminal(Protocol):
    """A terminal in text mode; `greeted` once its user has been told how to get help."""

    greeted: bool

    @property
    def width(self) -> int | None:
        """How many cells a line of the terminal has; None where lines have no end."""

    async def line(self) -> str | None:
        """Return the next line, None at the end of the input."""

    def show_typing(self, *, shown: bool) -> None:
        """Turn the echo of typed input on or off, as for a password."""

    def print(self, texts: Iterable[str]) -> None:
        """Print each text as a line; raises OSError once the output is closed."""


class OwnLines:
    """The standard input and output: read by one thread for all shells that follow one another."""

    def __init__(self, typed: TextIO) -> None:
        self.greeted = False
        self._lines: queue.Queue[str | None] = queue.Queue(_TYPED_AHEAD)
        self._typed = typed
        self._call: Callable[[], object] = _nothing
        self._settings: list[Any] | None = None  # while the terminal does not show what is typed
        Thread(target=self._read, daemon=True).start()

    @property
    def width(self) -> int | None:
        try:
            return os.get_terminal_size(sys.stdout.fileno()).columns or None
        except (OSError, ValueError):  # it is no terminal
            return None

    async def line(self) -> str | None:
        loop, typed = asyncio.get_running_loop(), asyncio.Event()
        self._call = functools.partial(loop.call_soon_threadsafe, typed.set)
        while True:
            with contextlib.suppress(queue.Empty):
                if (text := self._lines.get_nowait()) is None:
                    self._lines.put_nowait(None)  # for the next shell
                return text
            await typed.wait()
            typed.clear()

    def print(self, texts: Iterable[str]) -> None:
        sys.stdout.writelines(f"{text}\n" for text in texts)
        sys.stdout.flush()

    def show_typing(self, *, shown: bool) -> None:
        """As getpass does, which would read it as well; without a terminal nothing is shown anyway."""
        if sys.platform == "win32" or shown == (self._settings is None) or not self._typed.isatty():
            return
        import termios  # noqa: PLC0415 - Windows lacks it

        if self._settings is None:
            self._settings = termios.tcgetattr(self._typed)
            hidden = [*self._settings[:3], self._settings[3] & ~termios.ECHO, *self._settings[4:]]
            termios.tcsetattr(self._typed, termios.TCSANOW, hidden)
        else:
            termios.tcsetattr(self._typed, termios.TCSANOW, self._settings)
            self._settings = None

    def _read(self) -> None:
        if isinstance(self._typed, io.TextIOWrapper):
            self._typed.reconfigure(errors="replace")
        with contextlib.suppress(OSError):  # the terminal is gone
            for text in self._typed:
                self._put(text.rstrip("\r\n"))
        self._put(None)

    def _put(self, text: str | None) -> None:
        self._lines.put(text)
        with contextlib.suppress(RuntimeError):  # the shell has ended, and the next one looks by itself
            self._call()


@functools.cache
def own_lines() -> OwnLines:
    return OwnLines(sys.stdin)


def _nothing() -> None:
    """Do nothing, as long as nobody reads."""


PLAIN_LOCALES: Final = frozenset({"C", "POSIX"})  # in which text is ASCII


@dataclass(frozen=True, slots=True)
class Remote:
    """A terminal reached through `input` and `output`, by a program that serves several.

    `attach` receives the function that redraws the screen. Nothing is painted unless `may_paint`. `painted`
    receives the CPU seconds of a frame and the total, and returns how many seconds must pass before the next
    frame. `patience` returns how many seconds a frame that nobody is waiting for has to wait.
    """

    input: Input
    output: Output
    attach: Callable[[Callable[[], None]], None]
    may_paint: Callable[[], bool]
    painted: Callable[[float, float], float]
    patience: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Device:
    """A terminal, described by `environment`; without `remote`, it is this program's own.

    With `lines`, it is in text mode; with `ascii`, no other characters.
    """

    environment: Mapping[str, str]
    encoding: str
    colouring: Colouring
    calling: Calling
    remote: Remote | None = None
    lines: LineTerminal | None = None
    ascii: bool = False

    def glyphs(self) -> GlyphSet:
        if self.lines is not None:
            return glyphs_to_read()
        return ASCII if self.ascii else glyphs_for(self.encoding, self.environment.get("TERM", ""))


def locale_of(environment: Mapping[str, str]) -> str:
    """Return the locale that decides how a terminal encodes text; empty if none is named."""
    return next((value for name in ("LC_ALL", "LC_CTYPE", "LANG") if (value := environment.get(name))), "")


def own_device() -> Device:
    """Return the terminal of this program, in the colours and ways to be called that its user wants."""
    named = dict(os.environ)
    if sys.flags.utf8_mode:
        named.pop("LC_CTYPE", None)  # Python has put UTF-8 there in place of the plain locale (PEP 538)
    encoding = "ascii" if locale_of(named) in PLAIN_LOCALES else sys.stdout.encoding or "ascii"
    return Device(
        os.environ,
        encoding,
        chosen_display().colouring.resolved(os.environ),
        chosen_calling().resolved(os.environ),
        lines=own_lines() if plain_chosen(os.environ) else None,
        ascii=chosen_display().ascii,
    )
