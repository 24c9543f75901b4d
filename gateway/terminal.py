"""A guest's terminal at the other end of a connection: keys come from there, screens go there.

Keys are read from the bytes of a stranger: prompt_toolkit's own parser remembers every sequence that it has
ever seen, and looks through an unfinished one again at every character, so strangers could fill the memory of
the process, and stall it.
"""

import asyncio
import codecs
import contextlib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TextIO, cast

import asyncssh
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import DummyInput
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.utils import get_cwidth

from client.language import current_language, language_of
from client.player.terminal import WITHOUT_SCREEN, Calling, Colouring
from client.ui.terminal.device import PLAIN_LOCALES, Device, Remote, locale_of
from gateway.connection import GuestConnection
from gateway.limits import LARGEST_SCREEN, CpuBudget, FrameTurns, GuestLimits

_ESCAPE: Final = "\x1b"
_LONGEST: Final = 32  # characters of a sequence; a mouse report takes up to 20
_LONGEST_PASTE: Final = 4096
_LONGEST_STRING: Final = 4096
_UNFINISHED: Final = re.compile(r"\x1b(?:\[(?:\[|M.{0,2}|[0-?]*[ -/]*)|O)?\Z", re.DOTALL)
_CONTROL_STRING: Final = re.compile(r"\x1b[]P^_X]")
_MOUSE: Final = re.compile(r"\x1b\[(?:<?[0-9]+;[0-9]+;[0-9]+[Mm]|M.{3})\Z", re.DOTALL)
_FOCUS: Final = frozenset({"\x1b[I", "\x1b[O"})  # prompt_toolkit has no name for them
_PASTE_BEGINS, _PASTE_ENDS = "\x1b[200~", "\x1b[201~"


class KeyReader:
    """Calls `press` with each key. What is no key in any terminal is dropped."""

    def __init__(self, press: Callable[[KeyPress], None]) -> None:
        self._press = press
        self._sequence = ""
        self._pasted: list[str] | None = None
        self._ending = ""  # the last characters of what is pasted
        self._skipped: int | None = None  # characters of a control string

    def feed(self, text: str) -> None:
        for character in text:
            self._read(character)

    def flush(self) -> None:
        """Take what began with Esc for that key: nothing has followed it for a while."""
        sequence, self._sequence = self._sequence, ""
        if len(sequence) <= 2:
            for character in sequence:
                self._plain(character)

    def _read(self, character: str) -> None:
        if self._pasted is not None:
            self._paste(character)
        elif self._skipped is not None:
            self._skip(character)
        elif not self._sequence and character != _ESCAPE:
            self._plain(character)
        else:
            self._sequence += character
            if len(self._sequence) > _LONGEST:
                self._sequence = ""
            elif not _UNFINISHED.match(self._sequence):
                sequence, self._sequence = self._sequence, ""
                self._finish(sequence)

    def _finish(self, sequence: str) -> None:
        if sequence == _PASTE_BEGINS:
            self._pasted = []
        elif sequence in _FOCUS:
            for character in sequence:
                self._plain(character)
        elif (keys := ANSI_SEQUENCES.get(sequence)) is not None:
            self._emit(keys, sequence)
        elif _MOUSE.match(sequence):
            self._emit(Keys.Vt100MouseEvent, sequence)
        elif _CONTROL_STRING.match(sequence):
            self._skipped = 0
        elif len(sequence) == 2:  # with Alt
            self._plain(_ESCAPE)
            self._read(sequence[1])
        elif not "@" <= sequence[-1] <= "~":  # it was broken off
            self._read(sequence[-1])

    def _plain(self, character: str) -> None:
        self._emit(ANSI_SEQUENCES.get(character, character), character)

    def _emit(self, keys: Keys | str | tuple[Keys, ...], data: str) -> None:
        first, *others = keys if isinstance(keys, tuple) else (keys,)
        self._press(KeyPress(first, data))
        for key in others:
            self._press(KeyPress(key, ""))

    def _paste(self, character: str) -> None:
        assert self._pasted is not None  # noqa: S101 - the caller has looked
        self._ending = (self._ending + character)[-len(_PASTE_ENDS) :]
        if len(self._pasted) < _LONGEST_PASTE + len(_PASTE_ENDS):
            self._pasted.append(character)
        if self._ending == _PASTE_ENDS:
            text = "".join(self._pasted).removesuffix(_PASTE_ENDS)
            self._pasted, self._ending = None, ""
            self._press(KeyPress(Keys.BracketedPaste, text[:_LONGEST_PASTE]))

    def _skip(self, character: str) -> None:
        assert self._skipped is not None  # noqa: S101 - the caller has looked
        self._skipped += 1
        if character in {"\a", "\\"} or self._skipped > _LONGEST_STRING:
            self._skipped = None


_USUAL_SIZE: Final = Size(rows=24, columns=80)
_CHARACTERS_AT_ONCE: Final = 64  # keys that are handled before others have their turn
_MOST_UNREAD: Final = 4096  # characters, before reading from the connection stops
_LONGEST_LINE: Final = 256
_ERASE: Final = frozenset({"\b", "\x7f"})
_ENDS: Final = frozenset({"\x03", "\x04"})  # Ctrl-C and Ctrl-D


_ENVIRONMENT: Final = frozenset(  # what describes a terminal besides its type; everything else is ignored
    {
        *("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LC_CTYPE", "LANG", "NO_COLOR", "COLORTERM", "COLORFGBG"),
        *("TERM_PROGRAM", "LC_TERMINAL", "VTE_VERSION", "KONSOLE_VERSION", "TMUX"),
    }
)
_LONGEST_VALUE: Final = 64  # characters


class GuestTerminal(asyncssh.SSHServerSession[bytes]):
    """The session of a connection: a terminal if the guest's program has asked for one, as `term` says.

    Without one, or on one that cannot show a screen, guests play in text mode. `begin` is called when the
    program has said all about it.
    """

    def __init__(
        self,
        connection: GuestConnection,
        limits: GuestLimits,
        budget: CpuBudget,
        turns: FrameTurns,
        begin: Callable[["GuestTerminal"], None],
    ) -> None:
        self.term: str | None = None
        self.wants_command = False
        self.greeted = False
        self._connection, self._limits, self._budget, self._turns = connection, limits, budget, turns
        self._begin = begin
        self._unread = ""
        self._shown = True  # what is typed in a line
        self._returned = False  # the last line ended with a carriage return, and perhaps a line feed follows
        self._paused = False
        self._reading: asyncio.Handle | None = None
        self._hears: Callable[[str], None] | None = None
        self._wakes: Callable[[], None] | None = None
        self._redraw: Callable[[], None] | None = None
        self._stalled_since: float | None = None
        self._size = _USUAL_SIZE
        self._keyboard: DummyInput | None = None
        self.closed = False

    # -- what comes from the guest ------------------------------------------------------------------

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        self.channel = chan

    def pty_requested(
        self, term_type: str, term_size: tuple[int, int, int, int], term_modes: Mapping[int, int]
    ) -> bool:
        del term_modes
        self.term = term_type[:_LONGEST_VALUE]
        self._resize(*term_size[:2])
        return True

    def shell_requested(self) -> bool:
        return True

    def exec_requested(self, command: str) -> bool:
        del command  # it is not even looked at
        self.wants_command = True
        return True  # so that a sentence can be said

    def session_started(self) -> None:
        asked = self.channel.get_environment_bytes()
        self.environment = {"TERM": self.term or ""}
        for name in _ENVIRONMENT:
            value = asked.get(name.encode(), b"").decode("ascii", errors="replace")
            if value and value.isprintable() and len(value) <= _LONGEST_VALUE:
                self.environment[name] = value
        self.encoding = encoding_of(self.environment)
        self._decoder = codecs.getincrementaldecoder(self.encoding)(errors="replace")
        self._begin(self)

    def terminal_size_changed(self, width: int, height: int, pixwidth: int, pixheight: int) -> None:
        del pixwidth, pixheight
        self._connection.use(0)
        self._resize(width, height)

    def eof_received(self) -> bool:
        self._close()
        return True  # so that what there is to say can still be said

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._close()

    def _resize(self, columns: int, rows: int) -> None:
        """Record the terminal's size; a part of a very large one stays empty."""
        most_columns, most_rows = LARGEST_SCREEN
        wanted = Size(
            rows=min(rows, most_rows) or _USUAL_SIZE.rows,
            columns=min(columns, most_columns) or _USUAL_SIZE.columns,
        )
        if wanted != self._size:
            self._size = wanted
            if self._redraw is not None:
                self._redraw()

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        """Take what was typed; it is handled in turn with other guests'."""
        del datatype
        self._connection.use(len(data))
        self._unread += self._decoder.decode(data)
        if len(self._unread) > _MOST_UNREAD and not self._paused:
            self._paused = True
            self.channel.pause_reading()
        self._read_soon(0.0)

    def _close(self) -> None:
        self.closed = True
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        if self._wakes is not None:
            self._wakes()

    def _read_soon(self, wait: float) -> None:
        if self._reading is None and self._unread and self._hears is not None and not self.closed:
            self._reading = asyncio.get_running_loop().call_later(wait, self._read)

    def _read(self) -> None:
        self._reading = None
        if self._hears is None or not self._unread:
            return
        text, self._unread = self._unread[:_CHARACTERS_AT_ONCE], self._unread[_CHARACTERS_AT_ONCE:]
        if self._paused and len(self._unread) < _MOST_UNREAD // 2:
            self._paused = False
            self.channel.resume_reading()
        began = time.thread_time()
        try:
            self._hears(text)
        finally:  # what goes wrong is logged by the event loop; the next keys may do better
            self._read_soon(self._budget.spend(time.thread_time() - began))

    @contextlib.contextmanager
    def hearing(self, hear: Callable[[str], None], wake: Callable[[], None]) -> Iterator[None]:
        """Call `hear` with what is typed, and `wake` when there is no more, while the context lasts."""
        self._hears, self._wakes = hear, wake
        if self.closed:
            asyncio.get_running_loop().call_soon(wake)
        self._read_soon(0.0)
        try:
            yield
        finally:
            self._hears = self._wakes = None

    def show_typing(self, *, shown: bool) -> None:
        self._shown = shown

    async def line(self) -> str | None:
        """Return the next line, None if the guest gives up; it is echoed while typing is shown."""
        typed: list[str] = []
        done: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

        def show(text: str) -> None:
            if self._shown and self.term is not None:
                self.write(text)

        def hear(text: str) -> None:
            for at, character in enumerate(text):
                returned, self._returned = self._returned, character == "\r"
                if done.done():
                    self._returned = returned
                    self._unread = text[at:] + self._unread
                    return
                if character in "\r\n" and not (returned and character == "\n"):
                    show(self._newline)
                    done.set_result("".join(typed))
                elif character in _ENDS:
                    done.set_result(None)
                elif character in _ERASE and typed:
                    show("\b \b" * max(get_cwidth(typed.pop()), 0))
                elif character.isprintable() and len(typed) < _LONGEST_LINE:
                    typed.append(character)
                    show(character)

        def wake() -> None:
            if not self.channel.is_closing():
                text, self._unread = self._unread, ""
                hear(text)  # what was sent before the end
            if not done.done():
                done.set_result(None)

        with self.hearing(hear, wake):
            return await done

    # -- what goes to the guest ---------------------------------------------------------------------

    def write(self, text: str) -> None:
        """Write to the terminal, unless it has gone."""
        if self.channel.is_closing():
            return
        data = text.encode(self.encoding, errors="replace")
        self._connection.given += len(data)
        with contextlib.suppress(OSError):  # it has just been closed
            self.channel.write(data)

    def flush(self) -> None:
        """Do nothing; prompt_toolkit takes this for the standard output."""

    @property
    def _newline(self) -> str:
        return "\n" if self.term is None else "\r\n"

    @property
    def width(self) -> int | None:
        return None if self.term is None else self._size.columns

    def print(self, texts: Iterable[str]) -> None:
        self.write("".join(f"{text}{self._newline}" for text in texts))

    def say(self, sentence: str) -> None:
        self.print(sentence.splitlines())

    def device(self, colouring: Colouring, calling: Calling) -> Device:
        output = Vt100_Output(
            cast("TextIO", self), lambda: self._size, term=self.environment.get("TERM"), enable_cpr=False
        )
        self._keyboard = _Keyboard(self)
        remote = Remote(
            self._keyboard,
            output,
            attach=self._attach,
            may_paint=self._may_paint,
            painted=self._count_frame,
            patience=self._turns.wait,
        )
        lines = self if self.term is None or self.term in WITHOUT_SCREEN else None
        return Device(self.environment, self.encoding, colouring, calling, remote, lines)

    def finish(self) -> None:
        """Forget what the library keeps of a terminal that is used no more."""
        self._redraw = None
        if self._keyboard is not None:
            clear_typeahead(self._keyboard)  # keys for the next program: it would be another guest's

    def look_after(self, now: float) -> bool:
        """Draw again what could not be painted; return whether the terminal has stalled for too long."""
        if self._waiting() < self._limits.outgoing_bytes:
            if self._stalled_since is not None and self._redraw is not None:
                self._redraw()
            self._stalled_since = None
        elif self._stalled_since is None:
            self._stalled_since = now
        return self._stalled_since is not None and now - self._stalled_since > self._limits.stalled_seconds

    def _waiting(self) -> int:
        return self._connection.unsent + self.channel.get_write_buffer_size()

    def _attach(self, redraw: Callable[[], None]) -> None:
        self._redraw = redraw

    def _may_paint(self) -> bool:
        if self._waiting() < self._limits.outgoing_bytes:
            return True
        if self._stalled_since is None:
            self._stalled_since = asyncio.get_running_loop().time()
        return False

    def _count_frame(self, cpu: float, seconds: float) -> float:
        self._turns.took(seconds)
        return max(1 / self._limits.frames_per_second, self._budget.spend(cpu))


class _Keyboard(DummyInput):
    """The keys of a guest; the library's input for no terminal leaves its modes alone."""

    def __init__(self, terminal: GuestTerminal) -> None:
        self._terminal = terminal
        self._pressed: list[KeyPress] = []
        self._reader = KeyReader(self._pressed.append)

    def read_keys(self) -> list[KeyPress]:
        keys, self._pressed[:] = list(self._pressed), []
        return keys

    def flush_keys(self) -> list[KeyPress]:
        self._reader.flush()
        return self.read_keys()

    @property
    def closed(self) -> bool:
        return self._terminal.closed

    @contextlib.contextmanager
    def attach(self, input_ready_callback: Callable[[], None]) -> Iterator[None]:
        def hear(text: str) -> None:
            self._reader.feed(text)
            input_ready_callback()

        with self._terminal.hearing(hear, input_ready_callback):
            yield


def language_at(environment: Mapping[str, str]) -> str:
    """Return the language of a terminal's locale; that of this program if none was sent."""
    names = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
    return language_of(environment) if any(environment.get(name) for name in names) else current_language()


def encoding_of(environment: Mapping[str, str]) -> str:
    """Return how a terminal encodes text: as its locale says, UTF-8 if that says nothing."""
    locale = locale_of(environment)
    if locale in PLAIN_LOCALES:
        return "ascii"
    named = locale.partition(".")[2].partition("@")[0]
    try:
        encoding = codecs.lookup(named or "utf-8").name
    except LookupError:
        return "ascii"
    return encoding if encoding in {"utf-8", "iso8859-1", "iso8859-15", "cp1252"} else "ascii"
