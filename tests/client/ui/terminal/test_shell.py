"""What the terminal around a screen hands on, and what it keeps to itself."""

from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from client.ui.draw.frame import Frame, Target
from client.ui.draw.lines import EMPTY
from client.ui.terminal.shell import Shell
from client.ui.update.actions import Action, Hover, Insert, PointAt

HERE, THERE = (0, 0), (1, 0)
BOARD = Frame((EMPTY,), (Target(0, 0, 3, PointAt(HERE)), Target(3, 0, 3, PointAt(THERE))))


async def heard(frame: Frame, sent: str) -> list[str | Action]:
    """Return what is handed on of what is sent, while the screen is `frame`; the end of it is q."""
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


def over(*columns: int) -> str:
    """Return what a terminal sends while the mouse moves along the first line."""
    return "".join(f"\x1b[<35;{column + 1};1M" for column in columns)


async def test_the_mouse_over_the_board_is_told_hex_by_hex() -> None:
    """Not cell by cell, and without a click it chooses nothing."""
    told = await heard(BOARD, over(0, 1, 2, 3, 5, 6, 7, 1))
    assert told == [Hover(HERE), Hover(THERE), Hover(None), Hover(HERE), "q"]


async def test_a_page_that_is_not_seen_hears_no_keys() -> None:
    """But for those that its window tells of: what else was pressed would act on what nobody sees."""
    frame = Frame((EMPTY,), seen=False)
    assert await heard(frame, "\r \x1b[6~s\x1b[200~Ann\x1b[201~") == ["q"]
    assert await heard(Frame((EMPTY,)), "s\x1b[200~Ann\x1b[201~") == ["s", Insert("Ann"), "q"]
