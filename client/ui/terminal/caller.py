"""Calls the player to the terminal: by its bell, its window's title and a desktop notice."""

from typing import Final

from prompt_toolkit.output import Output
from prompt_toolkit.output.vt100 import Vt100_Output

from client.language import labelled
from client.player.terminal import Calling, Notices
from client.ui.frame import cut

_BELL: Final = "\a"
_END: Final = "\x1b\\"  # of a control string
_REPORT_FOCUS: Final = "\x1b[?1004h"
_IGNORE_FOCUS: Final = "\x1b[?1004l"
_KEEP_TITLE: Final = "\x1b[22;0t"
_GIVE_TITLE_BACK: Final = "\x1b[23;0t"
_LONGEST: Final = 120  # cells


class Caller:
    """A terminal's window; `focused` is None until the terminal reports it."""

    def __init__(self, output: Output, calling: Calling) -> None:
        """Use `output` in the ways of `calling`, which must be resolved."""
        self.focused: bool | None = None
        self._output, self._calling = output, calling
        self._understood = isinstance(output, Vt100_Output)
        self._taken = False
        self._title = ""

    def take(self) -> None:
        """Take the window's title, and ask for reports of its focus, unless both is done."""
        if self._taken:
            return
        self._taken, self._title, self.focused = True, "", None
        self._write(_REPORT_FOCUS, _KEEP_TITLE if self._calling.title else "")

    def give_back(self) -> None:
        """Undo what `take` has done."""
        if self._taken:
            self._taken = False
            self._write(_IGNORE_FOCUS, _GIVE_TITLE_BACK if self._calling.title else "")

    def entitle(self, title: str) -> None:
        """Show this title on the window."""
        if self._taken and self._calling.title and title != self._title:
            self._title = title
            self._write("\x1b]2;", self._clean(title), _END)

    def call(self, title: str, sentence: str) -> None:
        """Ring, and show a desktop notice."""
        if not self._taken:
            return
        title, sentence = self._clean(title), self._clean(sentence)
        match self._calling.notices:
            case Notices.OSC9:
                self._write(self._passed_on(f"\x1b]9;{labelled(title, sentence)}{_END}"))
            case Notices.OSC777:
                fields = (text.replace(";", ",") for text in (title, sentence))
                self._write(self._passed_on(f"\x1b]777;notify;{';'.join(fields)}{_END}"))
            case _:
                pass
        if self._calling.bell:
            self._write(_BELL)

    def _clean(self, text: str) -> str:
        """Return a short text in characters that neither end a control string nor are lost on the way."""
        text = cut("".join(character for character in text if character.isprintable()), _LONGEST)
        return text.encode(self._output.encoding(), errors="replace").decode(self._output.encoding())

    def _passed_on(self, sequence: str) -> str:
        """Return the sequence as tmux passes it on, if it is told to: it drops all others."""
        if not self._calling.wrapped:
            return sequence
        doubled = sequence.replace("\x1b", "\x1b\x1b")
        return f"\x1bPtmux;{doubled}{_END}"

    def _write(self, *sequences: str) -> None:
        if self._understood:
            for sequence in sequences:
                self._output.write_raw(sequence)
            self._output.flush()
