"""The client's one program: a stack of activities on a screen, the loop that runs them, and a record."""

import asyncio
import sys
import time
from collections.abc import Coroutine
from dataclasses import replace
from typing import Final

from client.records import Analyse, Analysis, Recording
from client.ui import requests
from client.ui.activity import Activity, Services, Stack
from client.ui.frame import Frame, in_ascii
from client.ui.keys import Action
from client.ui.lines import LineShell
from client.ui.requests import Request
from client.ui.screens import replay
from client.ui.screens.dispatch import TICK_SECONDS
from client.ui.screens.screen import drawn
from client.ui.state import Can, Ui
from client.ui.terminal.device import Device, own_device
from client.ui.terminal.shell import Shell, describe_failure
from engine.view import Eyes

_PRESENT_SECONDS: Final = 5.0  # how long after a key somebody is taken to be at the screen


class Program:
    """Shows the activity on top of the stack, and hands it keys and clicks, until the last one is over."""

    def __init__(self, activity: Activity, device: Device | None = None) -> None:
        device = device or own_device()
        self.glyphs = device.glyphs()
        self._stack = Stack([activity])
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()
        self._shell: Shell | LineShell
        if device.lines is not None:
            self._shell = LineShell(lambda: self._stack.top, device.lines, device.remote)
        else:
            self._shell = Shell(self._frame, self._press, self._act, device)
        self._touched = time.monotonic()
        self._last_top = 0
        self._services = Services(self.refresh, self._shell.redraw_later, self.begin, self.open, self.call)

    async def run(self) -> Request:
        """Run until the first activity is over; return what its player asked for then."""
        first = self._stack[0]
        async with self._group:
            self.begin(self._tick())
            first.start(self._services)
            if await self._shell.run():  # else the terminal was closed: its player may come back
                await first.farewell()
            for task in self._tasks:
                task.cancel()  # a request may wait for a connection that is not coming back
        return first.request

    def begin(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def open(self, activity: Activity) -> None:
        self._stack.append(activity)
        activity.start(self._services)
        self.refresh()

    def refresh(self) -> None:
        """Redraw, with the next activity on top if one is over."""
        if self._stack.settle():
            self._shell.redraw()
        else:
            self._shell.quit()

    def call(self, title: str, sentence: str) -> None:
        """Call the player, unless somebody is at the screen; a page above the table says why, too."""
        top = self._stack.top
        if top is not self._stack[0]:
            top.show(top.ui.with_notice(sentence))
        focused = self._shell.focused
        present = time.monotonic() - self._touched < _PRESENT_SECONDS if focused is None else focused
        if not present:
            texts = title, sentence
            self._shell.call(*(map(in_ascii, texts) if self.glyphs.ascii else texts))

    def _frame(self, width: int, height: int) -> Frame:
        top = self._stack.top
        frame = drawn(top.ui, top.model, self.glyphs, width, height)
        self._last_top = frame.last_top
        return frame

    def _press(self, name: str) -> None:
        self._touch().press(name)

    def _act(self, action: Action) -> None:
        self._touch().act(action)

    def _touch(self) -> Activity:
        """Return the activity on top, which somebody uses, with how far it can be scrolled as it is drawn."""
        self._touched = time.monotonic()
        top = self._stack.top
        top.ui = replace(top.ui, last_top=self._last_top)
        return top

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            for activity in self._stack:
                activity.tick()


async def show(choosing: Activity, device: Device | None = None) -> Request | None:
    """Show a record or lessons until the player asks for something else, which is returned.

    Return None after a failure, which has been reported; on a `device` other than this program's own terminal
    it is raised.
    """
    try:
        return await Program(choosing, device).run()
    except Exception as error:
        if device is not None:
            raise
        # People are owed one sentence, whatever it is.
        sys.stderr.write(f"palatinus: {describe_failure(error)}\n")
        return None


class Replaying(Activity):
    """A record, with the table as it was at the stop that is shown; whatever else is asked for ends it.

    `analyse` analyses the game on request, or immediately if `analysed`.
    """

    def __init__(
        self,
        recording: Recording,
        stop: int,
        eyes: Eyes,
        analyse: Analyse | None,
        *,
        analysed: bool = False,
        plays_on: bool = False,
    ) -> None:
        ui = replay.open_record(recording, stop, eyes, can_analyse=analyse is not None)
        ui = replace(ui, can=Can(plays_on=plays_on))
        super().__init__(ui)
        self.model = replay.seen_in(ui)
        self._recording, self._analyse, self._analysed = recording, analyse, analysed
        self._work: asyncio.Task[None] | None = None

    def start(self, program: Services) -> None:
        super().start(program)
        if self._analysed:
            self._judge()

    def show(self, ui: Ui) -> None:
        self.model = replay.seen_in(ui)
        super().show(ui)

    def carry_out(self, request: Request) -> None:
        match request:
            case requests.Errand.ANALYSE:
                self._judge()
            case requests.Errand.STOP_ANALYSIS:
                self._stop()
                self.show(replay.after_analysis(self.ui))
            case _:
                self._stop()
                super().carry_out(request)

    def _judge(self) -> None:
        if self._analyse is not None and self._work is None:
            self.show(replay.begin_analysis(self.ui))
            self._work = self._program.begin(self._analysing(self._analyse))

    def _stop(self) -> None:
        if self._work is not None:
            self._work.cancel()
            self._work = None

    async def _analysing(self, analyse: Analyse) -> None:
        failure = await analyse(self._recording, self._show_analysis)
        self._work = None
        ui = replay.after_analysis(self.ui)
        self.show(ui.with_notice(failure, refusal=True) if failure else ui)

    def _show_analysis(self, analysis: Analysis) -> None:
        self.show(replay.with_analysis(self.ui, analysis))
