"""What the terminal's shell passes on, and what it handles itself."""

import signal

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from client.ui.actions import Action, Hover, Insert, PointAt
from client.ui.frame import EMPTY, Frame, Target
from client.ui.terminal.shell import Shell

HERE, THERE = (0, 0), (1, 0)
BOARD = Frame((EMPTY,), (Target(0, 0, 3, PointAt(HERE)), Target(3, 0, 3, PointAt(THERE))))


async def passed_on(frame: Frame, sent: str) -> list[str | Action]:
    """Return what the shell passes on of a terminal's input while it shows `frame`; q ends it."""
    found: list[str | Action] = []

    def press(name: str, _last_top: int) -> None:
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
    assert await passed_on(Frame((EMPTY,)), "s\x1b[200~Ann\x1b[201~") == ["s", Insert("Ann"), "q"]


async def test_an_interrupt_signal_is_passed_on_as_its_key() -> None:
    """Ctrl-C arrives as a key, since the terminal is in raw mode; other programs may send the signal."""
    found: list[str] = []

    def press(name: str, _last_top: int) -> None:
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

    def press(_name: str, _last_top: int) -> None:
        raise OSError("no room")

    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        shell = Shell(lambda _width, _height: BOARD, press, lambda _: None)
        pipe.send_text("x")
        with pytest.raises(OSError, match="no room"):
            await shell.run()


async def test_a_closed_terminal_ends_the_program() -> None:
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        shell = Shell(lambda _width, _height: BOARD, lambda _name, _top: None, lambda _: None)
        pipe.close()
        assert not await shell.run()
