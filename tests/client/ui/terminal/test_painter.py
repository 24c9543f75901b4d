"""What is written to a terminal: frames, whatever was on the screen before, and calls to its player."""

import io

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.data_structures import Size
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style

from client.player.terminal import Calling, DesktopNotices
from client.ui.frame import Line, fitted
from client.ui.terminal.painter import Painter
from client.ui.terminal.shell import Caller

SIZE = Size(rows=4, columns=12)
STYLE = Style.from_dict({"red": "bg:#ff0000 #ffffff bold", "reversed": "reverse"})

styles = st.sampled_from(["", "class:red", "class:reversed"])
fragments = st.tuples(styles, st.text("ab é日", max_size=5), st.none())
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
    assert screen.display == ["".join(text for _, text, _ in line) for line in frame]


def test_control_characters_are_not_sent_to_the_terminal() -> None:
    """Control characters in foreign texts are shown and have no effect."""
    line = fitted((("", "a\x1b[2Jb\x07\x9b1m", None),), SIZE.columns)
    screen = painted((line,) * SIZE.rows)
    assert all(row.startswith("a") and "[2Jb1m" in row for row in screen.display)


TAKEN, GIVEN_BACK = "\x1b[?1004h\x1b[22;0t", "\x1b[?1004l\x1b[23;0t"


class Written(io.TextIOWrapper):
    """An output of a terminal with this encoding."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self._bytes = io.BytesIO()
        super().__init__(self._bytes, encoding, newline="")

    def sent(self) -> str:
        self.flush()
        return self._bytes.getvalue().decode(self.encoding)


def calling(written: Written, calling: Calling) -> Caller:
    return Caller(Vt100_Output(written, lambda: Size(24, 80), term="xterm"), calling)


@pytest.mark.parametrize(
    ("wanted", "sent"),
    [
        (Calling(notices=DesktopNotices.NONE), "\a"),
        (Calling(notices=DesktopNotices.OSC9), "\x1b]9;Palatinus: Your turn.\x1b\\\a"),
        (Calling(notices=DesktopNotices.OSC777), "\x1b]777;notify;Palatinus;Your turn.\x1b\\\a"),
        (Calling(bell=False, notices=DesktopNotices.OSC9), "\x1b]9;Palatinus: Your turn.\x1b\\"),
        (Calling(bell=False, notices=DesktopNotices.NONE), ""),
        (
            Calling(notices=DesktopNotices.OSC9, wrapped=True),
            "\x1bPtmux;\x1b\x1b]9;Palatinus: Your turn.\x1b\x1b\\\x1b\\\a",
        ),
    ],
)
def test_a_call(wanted: Calling, sent: str) -> None:
    written = Written()
    caller = calling(written, wanted)
    caller.take()
    caller.call("Palatinus", "Your turn.")
    caller.give_back()
    assert written.sent() == TAKEN + sent + GIVEN_BACK


def test_names_cannot_end_a_sequence() -> None:
    """Nothing in a title or notice is a control, a second field, or longer than a line."""
    written = Written()
    caller = calling(written, Calling(notices=DesktopNotices.OSC777))
    caller.take()
    caller.entitle("a\x1b\\b\x07c\x9cd\x1b]2;e\n")
    caller.call("one;two", "x\a\x1b\\" + "y" * 10_000)
    sent = written.sent().removeprefix(TAKEN)
    assert sent.startswith("\x1b]2;a\\bcd]2;e\x1b\\\x1b]777;notify;one,two;x\\yyy")
    assert len(sent) < 300
    assert sent.count("\x1b\\") == 2
    assert sent.endswith("\a")


def test_a_title_is_in_the_terminals_encoding_and_written_once() -> None:
    written = Written("ascii")
    caller = calling(written, Calling())
    caller.take()
    caller.entitle("Zoë")
    caller.entitle("Zoë")
    assert written.sent() == TAKEN + "\x1b]2;Zo?\x1b\\"


def test_a_terminal_without_titles_keeps_what_it_shows() -> None:
    written = Written()
    caller = calling(written, Calling(title=False))
    caller.take()
    caller.entitle("Palatinus")
    caller.give_back()
    caller.give_back()
    caller.entitle("Palatinus")
    caller.call("Palatinus", "Your turn.")  # suspended: the terminal is another program's
    assert written.sent() == "\x1b[?1004h\x1b[?1004l"
