"""The client's one program: an interaction with a player on a screen, the loop that runs it, and a record."""

import asyncio
import sys
import time
from collections.abc import Coroutine
from dataclasses import replace
from typing import Final

from client.records import Analyse, Analysis, Recording
from client.ui import requests
from client.ui.frame import Frame, in_ascii
from client.ui.interaction import Interaction, Service, Surroundings
from client.ui.keys import Action
from client.ui.lines import LineShell
from client.ui.requests import Request
from client.ui.screens import replay
from client.ui.screens.dispatch import TICK_SECONDS
from client.ui.screens.screen import changes_with_time, drawn
from client.ui.state import Ui
from client.ui.terminal.device import Device, own_device
from client.ui.terminal.shell import Shell, describe_failure
from engine.pieces import Seat
from engine.view import Eyes

_PRESENT_SECONDS: Final = 5.0  # how long after a key somebody is taken to be at the screen


class Program:
    """Shows an interaction on a screen until it is over, and passes it keys and clicks."""

    def __init__(self, service: Service, device: Device | None = None) -> None:
        device = device or own_device()
        self.glyphs = device.glyphs()
        self._interaction = service.interaction
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()
        self._shell: Shell | LineShell
        if device.lines is not None:
            self._shell = LineShell(self._interaction, device.lines, device.remote)
        else:
            self._shell = Shell(self._frame, self._press, self._act, device)
        self._touched = time.monotonic()
        self._last_top = 0
        self._drawn: Frame | None = None  # of the state as it is
        self._moves: bool | None = False  # whether time changes what is drawn; None if that is not known yet

    async def run(self) -> Request:
        """Run the interaction to its end; return the player's last request."""
        shown = self._interaction
        async with self._group:
            self.begin(self._tick())
            shown.start(
                Surroundings(self.refresh, self._refresh_later, self.begin, self.call, self._shell.call_like)
            )
            await shown.finish(by_player=await self._shell.run())
            for task in self._tasks:
                task.cancel()  # a request may wait for a connection that is not coming back
        return shown.request

    def begin(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def refresh(self) -> None:
        self._drawn = None
        if self._interaction.over:
            self._shell.quit()
        else:
            self._shell.redraw()

    def _refresh_later(self) -> None:
        self._drawn = None
        self._shell.redraw_later()

    def call(self, title: str, sentence: str) -> None:
        """Alert the player, unless they are at the screen."""
        focused = self._shell.focused
        present = time.monotonic() - self._touched < _PRESENT_SECONDS if focused is None else focused
        if not present:
            texts = title, sentence
            self._shell.call(*(map(in_ascii, texts) if self.glyphs.ascii else texts))

    def _frame(self, width: int, height: int) -> Frame:
        shown = self._interaction
        frame = drawn(shown.ui, shown.model, self.glyphs, width, height)
        self._last_top = frame.last_top
        if frame != self._drawn:
            self._drawn, self._moves = frame, None
        elif self._moves is None:  # a tick later: whoever presses keys is not kept waiting for this
            self._moves = changes_with_time(frame, shown.ui, shown.model, self.glyphs, (width, height))
        return frame

    def _press(self, name: str) -> None:
        self._touch().press(name)

    def _act(self, action: Action) -> None:
        self._touch().act(action)

    def _touch(self) -> Interaction:
        """Return the interaction, which somebody uses, with how far the page drawn can be scrolled."""
        self._touched = time.monotonic()
        shown = self._interaction
        shown.ui = replace(shown.ui, last_top=self._last_top)
        return shown

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self._interaction.tick()
            if self._moves is not False:
                self._shell.redraw()


async def shown_alone(service: Service, device: Device | None = None) -> Request:
    """Show a page on a terminal until the player asks for something else, which is returned."""
    return await Program(service, device).run()


async def show(service: Service) -> Request | None:
    """Show a page until the player asks for something else, which is returned; report a failure."""
    try:
        return await shown_alone(service)
    except Exception as error:  # noqa: BLE001
        # People are owed one sentence, whatever it is.
        sys.stderr.write(f"palatinus: {describe_failure(error)}\n")
        return None


class Replaying(Service):
    """A record: its analysis, on request or immediately if `analysed` or known, and the table at its stops.

    Any other request leaves the record. The player's `own` seat is "you" there.
    """

    def __init__(
        self,
        recording: Recording,
        stop: int,
        eyes: Eyes,
        analyse: Analyse | None,
        *,
        own: Seat | None = None,
        analysed: bool = False,
        plays_on: bool = False,
    ) -> None:
        ui = replay.open_record(
            recording, stop, eyes, own=own, can_analyse=analyse is not None, can_play_on=plays_on
        )
        super().__init__(ui, replay.seen_in(ui))
        self._page = ui.page
        self._recording, self._analyse, self._analysed = recording, analyse, analysed
        self._judging: asyncio.Task[None] | None = None

    def start(self, interaction: Interaction) -> None:
        super().start(interaction)
        if self._analysed or (self._analyse is not None and self._analyse.knows(self._recording)):
            self._judge()

    def settled(self, ui: Ui) -> Ui:
        if ui.page is not self._page:  # replaying a record takes a moment
            self._page, self.model = ui.page, replay.seen_in(ui)
        return ui

    def carry_out(self, request: Request) -> None:
        match request:
            case requests.Errand.ANALYSE:
                self._judge()
            case requests.Errand.STOP_ANALYSIS:
                self._stop()
                self.show(replay.after_analysis(self.ui))
            case _:
                super().carry_out(request)

    def _judge(self) -> None:
        if self._analyse is not None and self._judging is None:
            self.show(replay.begin_analysis(self.ui))
            self._judging = self.begin(self._analysing(self._analyse))

    def _stop(self) -> None:
        if self._judging is not None:
            self._judging.cancel()
            self._judging = None

    async def _analysing(self, analyse: Analyse) -> None:
        failure = await analyse(self._recording, self._show_analysis)
        self._judging = None
        ui = replay.after_analysis(self.ui)
        self.show(ui.with_notice(failure, refusal=True) if failure else ui)

    def _show_analysis(self, analysis: Analysis) -> None:
        self.show(replay.with_analysis(self.ui, analysis))
