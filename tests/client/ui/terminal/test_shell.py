"""What the terminal's shell passes on of keys, pasted text and the mouse, and what it handles itself."""

import signal

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from client.player.preferences import Preferences
from client.tables.table import TableModel
from client.ui.activity import Activity
from client.ui.frame import EMPTY, Frame, clickable, line
from client.ui.keys import Act, Action, Hover, InsertText, PointAt
from client.ui.program import Program
from client.ui.screens.reading import Reading, Topic
from client.ui.screens.screen import drawn
from client.ui.screens.start import Start
from client.ui.state import Notice, Ui
from client.ui.terminal.shell import Shell
from client.ui.texts.glyphs import UNICODE

HERE, THERE = (0, 0), (1, 0)
BOARD = Frame((clickable(EMPTY, PointAt(HERE), 3) + clickable(EMPTY, PointAt(THERE), 3),))


async def passed_on(frame: Frame, sent: str) -> list[str | Action]:
    """Return what the shell passes on of a terminal's input while it shows `frame`; q ends it."""
    found: list[str | Action] = []

    def press(name: str) -> None:
        found.append(name)
        if name == "q":
            shell.quit()

    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        shell = Shell(lambda _width, _height: frame, press, found.append)
        pipe.send_text(f"{sent}q")
        await shell.run()
    return found


def mouse_moves(*columns: int) -> str:
    """Return what a terminal sends while the mouse moves along the first line."""
    return "".join(f"\x1b[<35;{column + 1};1M" for column in columns)


async def test_mouse_moves_are_passed_on_hex_by_hex() -> None:
    """A move within a hex is not passed on, and without a click nothing is chosen."""
    actions = await passed_on(BOARD, mouse_moves(0, 1, 2, 3, 5, 6, 7, 1))
    assert actions == [Hover(HERE), Hover(THERE), Hover(None), Hover(HERE), "q"]


async def test_a_page_that_is_not_shown_gets_no_keys() -> None:
    """In a small window only the keys it names are passed on: the player cannot see what others do."""
    frame = Frame((EMPTY,), seen=False)
    assert await passed_on(frame, "\r \x1b[6~s\x1b[200~Ann\x1b[201~") == ["q"]
    assert await passed_on(Frame((EMPTY,)), "s\x1b[200~Ann\x1b[201~") == ["s", InsertText("Ann"), "q"]


async def test_an_interrupt_signal_is_passed_on_as_its_key() -> None:
    """Ctrl-C arrives as a key, since the terminal is in raw mode; other programs may send the signal."""
    found: list[str] = []

    def press(name: str) -> None:
        found.append(name)
        shell.quit()

    def frame(_width: int, _height: int) -> Frame:
        if not found:
            signal.raise_signal(signal.SIGINT)
        return BOARD

    before = signal.getsignal(signal.SIGINT)
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        shell = Shell(frame, press, lambda _: None)
        assert await shell.run()
    assert found == ["c-c"]
    assert signal.getsignal(signal.SIGINT) is before


async def test_an_error_while_handling_a_key_ends_the_program() -> None:
    """An OSError of a disk is not mistaken for a closed terminal."""

    def press(_name: str) -> None:
        raise OSError("no room")

    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        shell = Shell(lambda _width, _height: BOARD, press, lambda _: None)
        pipe.send_text("x")
        with pytest.raises(OSError, match="no room"):
            await shell.run()


async def test_a_click_scrolls_what_is_on_the_screen() -> None:
    """As the key does: from the first lines of a long page to later lines, not to the next page."""
    rules = Ui("Ann", page=Start((), Preferences()), overlay=Reading(Topic.RULES))
    frame = drawn(rules, TableModel(), UNICODE, 60, 20)
    column, row = next(
        (column, row)
        for row in range(20)
        for column in range(60)
        if frame.action_at(column, row) is Act.PAGE_DOWN
    )

    class Output(DummyOutput):
        def get_size(self) -> Size:
            return Size(rows=20, columns=60)

    reader = Activity(rules)
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=Output()):
        pipe.send_text(f"\x1b[<0;{column + 1};{row + 1}m")
        pipe.send_text("\x03")
        await Program(reader).run()
    assert isinstance(reader.ui.overlay, Reading)
    assert (reader.ui.overlay.number, reader.ui.overlay.top > 0) == (0, True)


async def test_a_player_who_looks_back_reads_why_they_are_called() -> None:
    """The page above the table would not show that it is their turn."""
    table, looking_back = (Activity(Ui("Ann", page=Start((), Preferences()))) for _each in range(2))
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        program = Program(table)
        program.call("Palatinus", "Your turn")
        program.open(looking_back)
        program.call("Palatinus", "Your turn")
    assert (table.ui.notice, looking_back.ui.notice) == (None, Notice("Your turn"))


async def test_a_closed_terminal_ends_the_program() -> None:
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        shell = Shell(lambda _width, _height: BOARD, lambda _name: None, lambda _: None)
        pipe.close()
        assert not await shell.run()


_LEFT, _RIGHT = clickable(EMPTY, PointAt(HERE), 1), clickable(EMPTY, PointAt(THERE), 1)
FRAME = Frame((EMPTY,) * 6 + (line(" " * 4) + _LEFT + line(" " * 114) + _RIGHT,))


@pytest.mark.parametrize(
    ("means", "sent"),
    [
        (["h"], ["h"]),
        (["é"], ["é"]),
        ([" "], [" "]),
        (["enter"], ["\r", "\n"]),
        (["tab"], ["\t"]),
        (["s-tab"], ["\x1b[Z"]),
        (["backspace"], ["\x7f", "\x08"]),
        (["escape"], ["\x1b"]),
        (["escape", "h"], ["\x1bh"]),  # Alt-H, as terminals put it
        (["up"], ["\x1b[A", "\x1bOA"]),
        (["pagedown"], ["\x1b[6~"]),
        (["scroll-up"], ["\x1b[62~", "\x1b[<64;5;7M", "\x1b[96;120;7M"]),
        (["scroll-down"], ["\x1b[<65;5;7M", "\x1b[Ma%'"]),
        (["c-c"], ["\x03"]),
        ([InsertText("Ann")], ["\x1b[200~Ann\x1b[201~"]),
        (
            [PointAt(HERE)],
            ["\x1b[<0;5;7m", "\x1b[<16;5;7m", "\x1b[M#%'"],
        ),  # with Ctrl, one character a number
        ([PointAt(THERE)], ["\x1b[35;120;7M"]),  # without SGR
        ([Hover(HERE)], ["\x1b[<35;5;7M"]),
        ([Hover(THERE)], ["\x1b[67;120;7M"]),
        ([], ["\x1b[24~", "\x1b[I", "\x1b[O", "\x1b[;M"]),  # F12, and what is no key
        # A click acts on release; beside it, drags, sideways, with Ctrl.
        ([], ["\x1b[<0;5;7M", "\x1b[<0;6;7m", "\x1b[<32;5;7M", "\x1b[<66;5;7M", "\x1b[M3%'"]),
    ],
)
async def test_terminal_input(means: list[str | Action], sent: list[str]) -> None:
    """Each key, click and turn of the wheel, in every form that terminals send."""
    assert await passed_on(FRAME, "".join(sent)) == [*means * len(sent), "q"]
