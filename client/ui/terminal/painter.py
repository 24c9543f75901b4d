"""Brings frames to the terminal: of each line only what has changed.

A drawn line is a value, so that a look tells whether it is the one on the screen. prompt_toolkit's own
renderer goes through every cell of both screens to find that out, which takes longer than all the drawing.
"""

from itertools import takewhile
from typing import Final

from prompt_toolkit.data_structures import Size
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.styles import Attrs, BaseStyle
from prompt_toolkit.styles.base import DEFAULT_ATTRS

from client.ui.draw.lines import EMPTY, Line, width_of

# Terminals that know this mode show what lies between in one go; the others pass over it.
_HOLD: Final = "\x1b[?2026h"
_LET_GO: Final = "\x1b[?2026l"

_CONTROLS: Final = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)))  # have no width, and no business here


class Painter:
    """The screen of a terminal, and what is on it."""

    def __init__(self, output: Output, style: BaseStyle, depth: ColorDepth) -> None:
        self._output, self._style, self._depth = output, style, depth
        self._attributes: dict[str, Attrs] = {}
        self._size: Size | None = None
        self._shown: tuple[Line, ...] = ()

    def enter(self) -> None:
        """Take over the terminal; what was on it comes back with `leave`."""
        output = self._output
        output.enter_alternate_screen()
        output.enable_bracketed_paste()
        output.reset_cursor_key_mode()
        output.enable_mouse_support()
        output.disable_autowrap()
        output.hide_cursor()
        output.reset_attributes()

    def leave(self) -> None:
        """Give the terminal back as it was."""
        output = self._output
        output.reset_attributes()
        output.enable_autowrap()
        output.disable_mouse_support()
        output.disable_bracketed_paste()
        output.quit_alternate_screen()
        output.show_cursor()
        output.flush()

    def forget(self) -> None:
        """Paint everything again next time: something else may be on the screen."""
        self._size = None

    def paint(self, lines: tuple[Line, ...], size: Size) -> None:
        """Show `lines`, which fill a screen of this size."""
        output = self._output
        output.write_raw(_HOLD)
        if size != self._size:
            output.erase_screen()
            self._size, self._shown = size, (EMPTY,) * size.rows
        output.cursor_goto(0, 0)
        at = 0
        for number, (line, before) in enumerate(zip(lines, self._shown, strict=False)):
            if line != before:
                output.write_raw("\r\n" * (number - at) or "\r")
                at = number
                self._paint_line(line, before)
        output.write_raw(_LET_GO)
        output.flush()
        self._shown = lines

    def _paint_line(self, line: Line, before: Line) -> None:
        """Write what lies between the ends that both lines share."""
        pairs = zip(line, before, strict=False)
        left = sum(1 for _ in takewhile(_alike, pairs))
        rest = zip(reversed(line[left:]), reversed(before[left:]), strict=False)
        right = sum(1 for _ in takewhile(_alike, rest))
        if left:
            self._output.cursor_forward(width_of(line[:left]))
        changed = line[left : len(line) - right]
        to_the_end = not right and changed and not changed[-1][0] and not changed[-1][1].strip(" ")
        current = DEFAULT_ATTRS
        for style, text in changed[:-1] if to_the_end else changed:
            wanted = self._attributes_of(style)
            if wanted != current:
                self._output.set_attributes(wanted, self._depth)
                current = wanted
            self._output.write(text if text.isprintable() else text.translate(_CONTROLS))
        if current != DEFAULT_ATTRS:
            self._output.reset_attributes()
        if to_the_end:
            self._output.erase_end_of_line()

    def _attributes_of(self, style: str) -> Attrs:
        found = self._attributes.get(style)
        if found is None:
            found = self._attributes[style] = self._style.get_attrs_for_style_str(style)
        return found


def _alike(pair: tuple[object, object]) -> bool:
    return pair[0] == pair[1]
