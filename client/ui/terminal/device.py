"""The terminal that a screen is shown on: this program's own, or one that somebody has far away."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from prompt_toolkit.input import Input
from prompt_toolkit.output import Output

from client.player.calling import Calling, chosen_calling
from client.player.colouring import Colouring, chosen_colouring
from client.ui.texts.glyphs import GlyphSet, glyphs_for

PLAIN_LOCALES: Final = frozenset({"C", "POSIX"})  # in which text is ASCII


@dataclass(frozen=True, slots=True)
class Remote:
    """A terminal that is reached through `input` and `output`, by a program that has others to serve.

    `attach` is given what draws the screen again. Nothing is painted unless `may_paint`; `painted` is told
    how many seconds of a processor a frame took, and how many in all, and returns how many have to pass
    before the next one. `patience` returns for how many seconds a frame has to wait that nobody waits for.
    """

    input: Input
    output: Output
    attach: Callable[[Callable[[], None]], None]
    may_paint: Callable[[], bool]
    painted: Callable[[float, float], float]
    patience: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Device:
    """What is known of a terminal; `environment` describes it, and without `remote` it is this program's."""

    environment: Mapping[str, str]
    encoding: str
    colouring: Colouring
    calling: Calling
    remote: Remote | None = None

    def glyphs(self, *, ascii_wanted: bool) -> GlyphSet:
        """Return the glyphs that the terminal can show."""
        return glyphs_for(self.encoding, self.environment.get("TERM", ""), ascii_wanted=ascii_wanted)


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
        chosen_colouring().resolved(os.environ),
        chosen_calling().resolved(os.environ),
    )
