"""What the painter writes to the terminal, whatever was on the screen before."""

import io

import pyte
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.data_structures import Size
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style

from client.ui.frame import Line, fitted
from client.ui.terminal.painter import Painter

SIZE = Size(rows=4, columns=12)
STYLE = Style.from_dict({"red": "bg:#ff0000 #ffffff bold", "reversed": "reverse"})

fragments = st.tuples(st.sampled_from(["", "class:red", "class:reversed"]), st.text("ab é日", max_size=5))
lines = st.lists(fragments, max_size=4).map(lambda found: fitted(tuple(found), SIZE.columns))
screens = st.tuples(*[lines] * SIZE.rows)


def painted(*frames: tuple[Line, ...]) -> pyte.Screen:
    """Return the screen after these frames."""
    screen = pyte.Screen(SIZE.columns, SIZE.rows)
    written = io.StringIO()
    painter = Painter(Vt100_Output(written, lambda: SIZE), STYLE, ColorDepth.DEPTH_24_BIT)
    for frame in frames:
        painter.paint(frame, SIZE)
    pyte.Stream(screen).feed(written.getvalue())
    return screen


def cells(screen: pyte.Screen) -> list[list[object]]:
    return [[screen.buffer[y][x] for x in range(SIZE.columns)] for y in range(SIZE.rows)]


@given(st.lists(screens, max_size=3), screens)
def test_a_frame_looks_the_same_whatever_was_there_before(
    before: list[tuple[Line, ...]], frame: tuple[Line, ...]
) -> None:
    """Only changes are written, and the result equals a fresh screen."""
    screen = painted(*before, frame)
    assert cells(screen) == cells(painted(frame))
    assert screen.display == ["".join(text for _, text in line) for line in frame]


def test_control_characters_are_not_sent_to_the_terminal() -> None:
    """Control characters in foreign texts are shown and have no effect."""
    line = fitted((("", "a\x1b[2Jb\x07\x9b1m"),), SIZE.columns)
    screen = painted((line,) * SIZE.rows)
    assert all(row.startswith("a") and "[2Jb1m" in row for row in screen.display)
