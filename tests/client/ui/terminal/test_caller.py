"""What is written to a terminal to call its player."""

import io

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.output.vt100 import Vt100_Output

from client.player.terminal import Calling, Notices
from client.ui.terminal.shell import Caller

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
        (Calling(notices=Notices.NONE), "\a"),
        (Calling(notices=Notices.OSC9), "\x1b]9;Palatinus: Your turn.\x1b\\\a"),
        (Calling(notices=Notices.OSC777), "\x1b]777;notify;Palatinus;Your turn.\x1b\\\a"),
        (Calling(bell=False, notices=Notices.OSC9), "\x1b]9;Palatinus: Your turn.\x1b\\"),
        (Calling(bell=False, notices=Notices.NONE), ""),
        (
            Calling(notices=Notices.OSC9, wrapped=True),
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
    caller = calling(written, Calling(notices=Notices.OSC777))
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
