"""What keys, pasted text and the mouse mean, from the bytes that terminals send."""

import pytest
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from client.ui.terminal.input import Click, Move, heard
from client.ui.update.actions import Insert


def sent(data: str) -> list[object]:
    """Return what a terminal that sends this is understood to mean."""
    found: list[KeyPress] = []
    parser = Vt100Parser(found.append)
    parser.feed(data)
    parser.flush()
    return [heard(press) for press in found]


@pytest.mark.parametrize(
    ("data", "means"),
    [
        ("h", "h"),
        ("é", "é"),
        (" ", " "),
        ("\r", "enter"),
        ("\n", "enter"),
        ("\t", "tab"),
        ("\x1b[Z", "s-tab"),
        ("\x7f", "backspace"),
        ("\x08", "backspace"),
        ("\x1b", "escape"),
        ("\x1b[A", "up"),
        ("\x1bOA", "up"),
        ("\x1b[6~", "pagedown"),
        ("\x03", "c-c"),
        ("\x1b[24~", None),  # F12 does nothing
        ("\x1a", None),
        ("\x1b[I", None),
        ("\x1b[200~Ann\x1b[201~", Insert("Ann")),
        ("\x1b[<0;5;7M", None),  # acts when it is let go
        ("\x1b[<0;5;7m", Click(4, 6)),
        ("\x1b[<16;5;7m", Click(4, 6)),  # with Ctrl
        ("\x1b[<35;5;7M", Move(4, 6)),
        ("\x1b[<32;5;7m", None),  # drags
        ("\x1b[<64;5;7M", "scroll-up"),
        ("\x1b[<65;5;7M", "scroll-down"),
        ("\x1b[<66;5;7M", None),  # sideways
        ("\x1b[35;120;7M", Click(119, 6)),  # without SGR
        ("\x1b[67;120;7M", Move(119, 6)),
        ("\x1b[96;120;7M", "scroll-up"),
        ("\x1b[M#%'", Click(4, 6)),  # spelt out
        ("\x1b[Ma%'", "scroll-down"),
    ],
)
def test_what_is_sent(data: str, means: object) -> None:
    """Each key, click and turn of the wheel, as terminals put them."""
    assert sent(data) == [means]


@pytest.mark.parametrize(
    ("data", "means"),
    [
        ("NONE;MOUSE_MOVE;4;6", Move(4, 6)),
        ("LEFT;MOUSE_UP;4;6", Click(4, 6)),
        ("LEFT;MOUSE_DOWN;4;6", None),
        ("NONE;SCROLL_UP;4;6", "scroll-up"),
    ],
)
def test_the_mouse_on_windows(data: str, means: object) -> None:
    """The Windows console tells of the mouse in words."""
    assert heard(KeyPress(Keys.WindowsMouseEvent, data)) == means
