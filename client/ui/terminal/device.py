"""The terminal that a screen is shown on: this program's own, or one that somebody has far away."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from prompt_toolkit.input import Input
from prompt_toolkit.output import Output

from client.player.terminal import Calling, Colouring, chosen_calling, chosen_display, plain_chosen
from client.ui.terminal.line_terminal import LineTerminal, own_lines
from client.ui.texts.glyphs import ASCII, GlyphSet, glyphs_for, glyphs_to_read

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

    With `lines`, it shows lines of text, and no screen; with `ascii`, no other characters.
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
