"""What comes from the terminal in the client's own words: names of keys, what is pasted, where is clicked."""

import re
from dataclasses import dataclass
from typing import Final

from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import KEY_ALIASES, Keys

from client.ui.update.actions import Insert
from client.ui.update.keys import KEYS

# Some terminals tell that they gained or lost the focus, as a program before asked them to: no keys of ours.
ANSI_SEQUENCES.update({"\x1b[I": Keys.Ignore, "\x1b[O": Keys.Ignore})

REPAINT: Final = "c-l"  # as everywhere: for a screen that something else has written on
_OURS: Final = {name for key in KEYS for name in key.names}
_NAMES: Final = (
    {name: name for name in _OURS}
    | {KEY_ALIASES[name]: name for name in _OURS & KEY_ALIASES.keys()}
    | {
        "c-j": "enter",  # as some terminals send it
        REPAINT: REPAINT,
        Keys.ScrollUp.value: "scroll-up",
        Keys.ScrollDown.value: "scroll-down",
    }
)

_NUMBERED: Final = re.compile(r"\x1b\[(<?)(\d+);(\d+);(\d+)([Mm])")
_SPELT_OUT: Final = re.compile(r"\x1b\[M(.)(.)(.)", re.DOTALL)
_OFFSET: Final = 32  # where numbers are spelt out as characters, and in what is made of that
_BUTTONS, _NO_BUTTON, _MOVING, _WHEEL = 3, 3, 32, 64
_ON_WINDOWS: Final = {"SCROLL_UP": "scroll-up", "SCROLL_DOWN": "scroll-down"}


@dataclass(frozen=True, slots=True)
class Click:
    """A click on a cell of the screen."""

    column: int
    line: int


@dataclass(frozen=True, slots=True)
class Move:
    """The mouse moved to a cell of the screen, with no button down."""

    column: int
    line: int


def heard(press: KeyPress) -> str | Insert | Click | Move | None:
    """Return the key's name or character, what is pasted or what the mouse did; None if it means nothing."""
    if press.key is Keys.Vt100MouseEvent:
        return _mouse(press.data)
    if press.key is Keys.WindowsMouseEvent:
        return _mouse_on_windows(press.data)
    if press.key is Keys.BracketedPaste:
        return Insert(press.data)
    if (name := _NAMES.get(press.key)) is not None:
        return name
    return None if isinstance(press.key, Keys) else press.data


def _mouse(data: str) -> str | Click | Move | None:
    if (spelt := _SPELT_OUT.fullmatch(data)) is not None:
        # What is no UTF-8 comes as a lone surrogate that holds the byte.
        button, column, line = ((ord(each) & 0xFF) - _OFFSET for each in spelt.groups())
        released = button & _BUTTONS == _NO_BUTTON
    elif (numbered := _NUMBERED.fullmatch(data)) is not None:
        button, column, line = map(int, numbered.group(2, 3, 4))
        released = numbered[5] == "m"
        if not numbered[1]:
            button -= _OFFSET
            released = button & _BUTTONS == _NO_BUTTON
    else:
        return None
    if button & _WHEEL:
        return {0: "scroll-up", 1: "scroll-down"}.get(button & _BUTTONS)
    if button & _MOVING:
        return Move(column - 1, line - 1) if button & _BUTTONS == _NO_BUTTON else None
    return Click(column - 1, line - 1) if released else None


def _mouse_on_windows(data: str) -> str | Click | Move | None:
    _, happened, column, line = data.split(";")
    if happened == "MOUSE_MOVE":
        return Move(int(column), int(line))
    return Click(int(column), int(line)) if happened == "MOUSE_UP" else _ON_WINDOWS.get(happened)
