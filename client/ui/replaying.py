"""A record on the screen, for any program that shows one, and its analysis."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace

from client.records.analysis import Analyse, Analysis
from client.records.recording import Recording
from client.ui import requests
from client.ui.actions import Action
from client.ui.frame import Frame
from client.ui.requests import Request
from client.ui.screens import autoplay, replay
from client.ui.screens.dispatch import pressed, updated
from client.ui.screens.screen import drawn
from client.ui.state import Notice, Outcome, Ui
from client.ui.texts.glyphs import GlyphSet


@dataclass(frozen=True, slots=True)
class Workshop:
    """What a record is analysed with: `begin` starts a task, `redraw` shows what it has found."""

    analyse: Analyse | None
    begin: Callable[[Coroutine[None, None, None]], asyncio.Task[None]]
    redraw: Callable[[], None]


class Replaying:
    """Its UI state, and the table as it was there."""

    def __init__(self, ui: Ui, glyphs: GlyphSet, workshop: Workshop) -> None:
        self._ui, self._glyphs, self._workshop = ui, glyphs, workshop
        self._model = replay.seen_in(ui)
        self._work: asyncio.Task[None] | None = None

    @property
    def runs(self) -> bool:
        """Return whether it goes on by itself."""
        return self._ui.ticks_left is not None

    def frame(self, width: int, height: int) -> Frame:
        return drawn(self._ui, self._model, self._glyphs, width, height)

    def tick(self) -> None:
        self._take((autoplay.ticked(self._ui, self._model), None))

    def press(self, name: str, last_top: int) -> Request | None:
        """Take a key; return what it asks of the program."""
        return self._take(pressed(replace(self._ui, last_top=last_top), name, self._model))

    def act(self, action: Action) -> Request | None:
        """Take a click; return what it asks of the program."""
        return self._take(updated(self._ui, action, self._model))

    def end(self) -> None:
        """End the analysis, if there is one."""
        if self._work is not None:
            self._work.cancel()
            self._work = None

    def _take(self, outcome: Outcome) -> Request | None:
        self._ui, request = outcome
        self._model = replay.seen_in(self._ui)
        match request:
            case requests.Analyse():
                self.analyse()
                return None
            case requests.StopAnalysis():
                self.end()
                self._ui = replay.stopped(self._ui)
                return None
            case _:
                return request

    def analyse(self) -> None:
        """Begin to analyse the game."""
        recording = replay.recording_in(self._ui)
        if self._workshop.analyse is not None and recording is not None and self._work is None:
            self._work = self._workshop.begin(self._judge(recording, self._workshop.analyse))

    async def _judge(self, recording: Recording, analyse: Analyse) -> None:
        failure = await analyse(recording, self._told)
        self._work = None
        self._ui = replay.stopped(self._ui)
        if failure:
            self._ui = replace(self._ui, notice=Notice(failure, refusal=True))
        self._workshop.redraw()

    def _told(self, analysis: Analysis) -> None:
        self._ui = replay.analysed(self._ui, analysis)
        self._workshop.redraw()
