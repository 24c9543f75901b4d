"""Writes frames to the terminal: of each line only what has changed.

A drawn line is a value, so comparing it with the one on the screen tells whether that is still right.
prompt_toolkit's own renderer compares both screens cell by cell, which takes longer than all the drawing.
"""

from itertools import takewhile
from typing import Final

from prompt_toolkit.data_structures import Size
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.styles import Attrs, BaseStyle
from prompt_toolkit.styles.base import DEFAULT_ATTRS

from client.ui.frame import EMPTY, Line, width_of

# Synchronized output: terminals that know it show all that lies between at once; the others ignore it.
_BEGIN_UPDATE: Final = "\x1b[?2026h"
_END_UPDATE: Final = "\x1b[?2026l"

_CONTROLS: Final = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)))  # to be left out


class Painter:
    """The screen of a terminal, and the lines that are on it; the cursor rests in its upper left corner."""

    def __init__(self, output: Output, style: BaseStyle, depth: ColorDepth) -> None:
        self._output, self._style, self._depth = output, style, depth
        self._attributes: dict[str, Attrs] = {}
        self._size: Size | None = None
        self._shown: tuple[Line, ...] = ()

    def forget(self) -> None:
        """Write every line again next time: the screen may show something else."""
        self._size = None

    def paint(self, lines: tuple[Line, ...], size: Size) -> None:
        """Show `lines`, which fill a screen of this size."""
        output = self._output
        output.write_raw(_BEGIN_UPDATE)
        if size != self._size:
            output.erase_screen()
            self._size, self._shown = size, (EMPTY,) * size.rows
        at = 0
        for number, (line, before) in enumerate(zip(lines, self._shown, strict=False)):
            if line != before:
                output.write_raw("\r\n" * (number - at) or "\r")
                at = number
                self._paint_line(line, before)
        output.cursor_goto(0, 0)
        output.write_raw(_END_UPDATE)
        output.flush()
        self._shown = lines

    def _paint_line(self, line: Line, before: Line) -> None:
        """Write `line` over `before`, without the parts at both ends that are the same."""
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
