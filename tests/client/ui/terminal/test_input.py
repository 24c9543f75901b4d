"""The meaning of keys, pasted text and the mouse, from the bytes that terminals send."""

import pytest

from client.ui.frame import EMPTY, Frame, Target
from client.ui.keys import Action, Hover, Insert, PointAt
from tests.client.ui.terminal.test_shell import passed_on

NEAR, FAR = (0, 0), (1, 0)
FRAME = Frame((EMPTY,), (Target(4, 6, 1, PointAt(NEAR)), Target(119, 6, 1, PointAt(FAR))))


@pytest.mark.parametrize(
    ("data", "means"),
    [
        ("h", ["h"]),
        ("é", ["é"]),
        (" ", [" "]),
        ("\r", ["enter"]),
        ("\n", ["enter"]),
        ("\t", ["tab"]),
        ("\x1b[Z", ["s-tab"]),
        ("\x7f", ["backspace"]),
        ("\x08", ["backspace"]),
        ("\x1b", ["escape"]),
        ("\x1bh", ["escape", "h"]),  # Alt-H, as terminals put it
        ("\x1b[A", ["up"]),
        ("\x1bOA", ["up"]),
        ("\x1b[6~", ["pagedown"]),
        ("\x1b[62~", ["scroll-up"]),
        ("\x03", ["c-c"]),
        ("\x1b[24~", []),  # F12 does nothing
        ("\x1b[I", []),
        ("\x1b[O", []),
        ("\x1b[200~Ann\x1b[201~", [Insert("Ann")]),
        ("\x1b[<0;5;7M", []),  # acts on release
        ("\x1b[<0;5;7m", [PointAt(NEAR)]),
        ("\x1b[<16;5;7m", [PointAt(NEAR)]),  # with Ctrl
        ("\x1b[<0;6;7m", []),  # beside it
        ("\x1b[<35;5;7M", [Hover(NEAR)]),
        ("\x1b[<32;5;7M", []),  # drags
        ("\x1b[<64;5;7M", ["scroll-up"]),
        ("\x1b[<65;5;7M", ["scroll-down"]),
        ("\x1b[<66;5;7M", []),  # sideways
        ("\x1b[35;120;7M", [PointAt(FAR)]),  # without SGR
        ("\x1b[67;120;7M", [Hover(FAR)]),
        ("\x1b[96;120;7M", ["scroll-up"]),
        ("\x1b[;M", []),
        ("\x1b[M#%'", [PointAt(NEAR)]),  # one character a number
        ("\x1b[M3%'", []),  # with Ctrl
        ("\x1b[Ma%'", ["scroll-down"]),
    ],
)
async def test_terminal_input(data: str, means: list[str | Action]) -> None:
    """Each key, click and turn of the wheel, in every form that terminals send."""
    assert await passed_on(FRAME, data) == [*means, "q"]
