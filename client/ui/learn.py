"""The program of the lessons: a thin shell around a course."""

import sys
from dataclasses import replace

from client.ui.actions import Action
from client.ui.frame import Frame
from client.ui.lessons.course import Course, Parting, Replayed
from client.ui.screens.screen import drawn
from client.ui.terminal.device import own_device
from client.ui.terminal.shell import Shell, describe_failure
from client.ui.texts.glyphs import GlyphSet


async def run(name: str, replayed: Replayed, *, ascii_wanted: bool = False) -> Parting | None:
    """Give the lessons; return how the pupil left them, or None if they failed, which has been reported."""
    try:
        return await _Tutoring(name, replayed, own_device().glyphs(ascii_wanted=ascii_wanted)).run()
    except Exception as error:  # noqa: BLE001 - people are owed one sentence, whatever it is
        sys.stderr.write(f"palatinus: {describe_failure(error)}\n")
        return None


class _Tutoring:
    """A course in a terminal."""

    def __init__(self, name: str, replayed: Replayed, glyphs: GlyphSet) -> None:
        self._course, self._glyphs = Course(name, replayed, glyphs), glyphs
        self._shell = Shell(self._frame, self._press, self._act)

    async def run(self) -> Parting:
        await self._shell.run()
        return self._course.parting or Parting.LEFT

    def _frame(self, width: int, height: int) -> Frame:
        return drawn(self._course.ui, self._course.model, self._glyphs, width, height)

    def _press(self, name: str, last_top: int) -> None:
        self._course.ui = replace(self._course.ui, last_top=last_top)
        self._course.press(name)
        self._go_on()

    def _act(self, action: Action) -> None:
        self._course.act(action)
        self._go_on()

    def _go_on(self) -> None:
        if self._course.parting is None:
            self._shell.redraw()
        else:
            self._shell.quit()
