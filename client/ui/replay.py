"""The program that shows a record: the same state, updates and drawing, without a server."""

import asyncio
import sys

from client.recording import Recording
from client.ui.draw.frame import Frame
from client.ui.draw.screen import drawn
from client.ui.terminal.shell import Shell, describe_failure, glyphs_here
from client.ui.texts.glyphs import GlyphSet
from client.ui.update import autoplay, requests
from client.ui.update.actions import Action
from client.ui.update.dispatch import Outcome, pressed, updated
from client.ui.update.pages import replay
from client.ui.update.state import Ui
from engine.view import Eyes


async def run(recording: Recording, stop: int, eyes: Eyes, *, ascii_wanted: bool = False) -> int:
    """Show the record from `stop` on until the player quits; return the exit code."""
    try:
        await _Replayer(replay.opened(recording, stop, eyes), glyphs_here(ascii_wanted=ascii_wanted)).run()
    except Exception as error:  # noqa: BLE001 - people are owed one sentence, whatever it is
        sys.stderr.write(f"palatinus: {describe_failure(error)}\n")
        return 1
    return 0


class _Replayer:
    """Holds the UI state, and the table as it was there."""

    def __init__(self, ui: Ui, glyphs: GlyphSet) -> None:
        self._ui, self._glyphs = ui, glyphs
        self._model = replay.seen_in(ui)
        self._shell = Shell(self._frame, self._press, self._act)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            ticking = tasks.create_task(self._tick())
            await self._shell.run()
            ticking.cancel()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(autoplay.TICK_SECONDS)
            if self._ui.ticks_left is not None:
                self._take((autoplay.ticked(self._ui, self._model), None))

    def _frame(self, width: int, height: int) -> Frame:
        return drawn(self._ui, self._model, self._glyphs, width, height)

    def _press(self, name: str) -> None:
        self._take(pressed(self._ui, name, self._model))

    def _act(self, action: Action) -> None:
        self._take(updated(self._ui, action, self._model))

    def _take(self, outcome: Outcome) -> None:
        self._ui, request = outcome
        self._model = replay.seen_in(self._ui)
        if isinstance(request, requests.Quit):
            self._shell.quit()
        else:
            self._shell.redraw()
