"""Terminals that show lines of text: this program's own input and output, or those of somebody far away."""

import asyncio
import contextlib
import functools
import io
import queue
import sys
from collections.abc import Callable, Iterable, Iterator
from threading import Thread
from typing import Final, Protocol, TextIO

_TYPED_AHEAD: Final = 100  # lines that wait to be carried out; whoever types more waits


class LineTerminal(Protocol):
    """Where lines of text are read and printed; `greeted` once its user has been told how to get help."""

    greeted: bool

    async def line(self) -> str | None:
        """Return the next line, None at the end of the input."""

    def print(self, texts: Iterable[str]) -> None:
        """Print each text as a line; raises OSError if nobody reads any more."""


class OwnLines:
    """The standard input and output: read by one thread for all shells that follow one another."""

    def __init__(self, typed: TextIO) -> None:
        self.greeted = False
        self._lines: queue.Queue[str | None] = queue.Queue(_TYPED_AHEAD)
        self._typed = typed
        self._call: Callable[[], object] = _nothing
        Thread(target=self._read, daemon=True).start()

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

    @contextlib.contextmanager
    def unseen(self) -> Iterator[None]:
        """Keep the terminal from showing what is typed, as getpass does, which would read it as well."""
        if sys.platform == "win32":  # where it cannot be kept from that
            yield
            return
        import termios  # noqa: PLC0415 - Windows lacks it

        before = termios.tcgetattr(self._typed)
        hidden = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
        termios.tcsetattr(self._typed, termios.TCSANOW, hidden)
        try:
            yield
        finally:
            termios.tcsetattr(self._typed, termios.TCSANOW, before)

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
