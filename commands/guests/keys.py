"""Keys from the bytes of a stranger's terminal.

prompt_toolkit's own parser remembers every sequence that it has ever seen, and looks through an unfinished
one again at every character: strangers could fill the memory of the process, and stall it.
"""

import re
from collections.abc import Callable
from typing import Final

from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

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
