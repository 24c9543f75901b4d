"""The program that shows a record: the same state, updates and drawing, without a server."""

import asyncio
import sys

from client.records.recording import Recording
from client.ui.replaying import Replaying
from client.ui.terminal.device import own_device
from client.ui.terminal.shell import Shell, describe_failure
from client.ui.texts.glyphs import GlyphSet
from client.ui.update import autoplay, requests
from client.ui.update.actions import Action
from client.ui.update.pages import replay
from client.ui.update.requests import Request
from client.ui.update.state import Ui
from engine.view import Eyes


async def run(recording: Recording, stop: int, eyes: Eyes, *, ascii_wanted: bool = False) -> int:
    """Show the record from `stop` on until the player quits; return the exit code."""
    try:
        await _Replayer(
            replay.opened(recording, stop, eyes), own_device().glyphs(ascii_wanted=ascii_wanted)
        ).run()
    except Exception as error:  # noqa: BLE001 - people are owed one sentence, whatever it is
        sys.stderr.write(f"palatinus: {describe_failure(error)}\n")
        return 1
    return 0


class _Replayer:
    """The program of a record."""

    def __init__(self, ui: Ui, glyphs: GlyphSet) -> None:
        self._replaying = Replaying(ui, glyphs)
        self._shell = Shell(self._replaying.frame, self._press, self._act)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            ticking = tasks.create_task(self._tick())
            await self._shell.run()
            ticking.cancel()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(autoplay.TICK_SECONDS)
            if self._replaying.runs:
                self._replaying.tick()
                self._shell.redraw()

    def _press(self, name: str) -> None:
        self._take(self._replaying.press(name))

    def _act(self, action: Action) -> None:
        self._take(self._replaying.act(action))

    def _take(self, request: Request | None) -> None:
        if isinstance(request, requests.Quit):
            self._shell.quit()
        else:
            self._shell.redraw()
