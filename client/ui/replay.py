"""The program that shows a record: the same state, updates and drawing, without a server."""

import asyncio
import sys
from collections.abc import Coroutine

from client.records.analysis import Analyse
from client.records.recording import Recording
from client.ui import requests
from client.ui.actions import Action
from client.ui.frame import Frame
from client.ui.replaying import Replaying, Workshop
from client.ui.requests import Request
from client.ui.screens import autoplay, replay
from client.ui.state import Ui
from client.ui.terminal.device import Device, own_device
from client.ui.terminal.shell import Shell, describe_failure
from engine.view import Eyes


async def run(
    recording: Recording,
    stop: int,
    eyes: Eyes,
    *,
    ascii_wanted: bool = False,
    analyse: Analyse | None = None,
    analysed: bool = False,
    device: Device | None = None,
) -> int:
    """Show the record from `stop` on until the player quits; return the exit code.

    `analyse` judges it when the player wants that, or, if it is to be `analysed`, at once. What fails on
    another `device` than this program's own terminal is raised.
    """
    ui = replay.opened(recording, stop, eyes, can_analyse=analyse is not None)
    try:
        await _Replayer(ui, device or own_device(), analyse, ascii_wanted=ascii_wanted).run(analysed=analysed)
    except Exception as error:
        if device is not None:
            raise
        # People are owed one sentence, whatever it is.
        sys.stderr.write(f"palatinus: {describe_failure(error)}\n")
        return 1
    return 0


class _Replayer:
    """The program of a record."""

    def __init__(self, ui: Ui, device: Device, analyse: Analyse | None, *, ascii_wanted: bool) -> None:
        self._group = asyncio.TaskGroup()
        self._shell = Shell(self._frame, self._press, self._act, device)
        glyphs = device.glyphs(ascii_wanted=ascii_wanted)
        workshop = Workshop(analyse, self._begin, self._shell.redraw)
        self._replaying = Replaying(ui, glyphs, workshop)

    async def run(self, *, analysed: bool) -> None:
        async with self._group as tasks:
            ticking = tasks.create_task(self._tick())
            if analysed:
                self._replaying.analyse()
            await self._shell.run()
            ticking.cancel()
            self._replaying.end()

    def _begin(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        return self._group.create_task(work)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(autoplay.TICK_SECONDS)
            if self._replaying.runs:
                self._replaying.tick()
                self._shell.redraw()

    def _frame(self, width: int, height: int) -> Frame:
        return self._replaying.frame(width, height)

    def _press(self, name: str, last_top: int) -> None:
        self._take(self._replaying.press(name, last_top))

    def _act(self, action: Action) -> None:
        self._take(self._replaying.act(action))

    def _take(self, request: Request | None) -> None:
        if isinstance(request, requests.Quit):
            self._shell.quit()
        else:
            self._shell.redraw()
