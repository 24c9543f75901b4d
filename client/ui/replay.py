"""A record on the screen, alone or over another session, and its analysis."""

import asyncio
import sys
from dataclasses import replace

from client.records import Analyse, Analysis, Recording
from client.ui import requests
from client.ui.program import Program, Session
from client.ui.requests import Request
from client.ui.screens import replay
from client.ui.state import Notice, Ui
from client.ui.terminal.device import Device
from client.ui.terminal.shell import describe_failure
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

    `analyse` analyses it on request, or immediately if `analysed`. Failures on a `device` other than this
    program's own terminal are raised.
    """
    session = Replaying(recording, stop, eyes, analyse, analysed=analysed)
    try:
        await Program(session, ascii_wanted=ascii_wanted, device=device).run()
    except Exception as error:
        if device is not None:
            raise
        # People are owed one sentence, whatever it is.
        sys.stderr.write(f"palatinus: {describe_failure(error)}\n")
        return 1
    return 0


class Replaying(Session):
    """A record, with the table as it was at the stop that is shown; whatever else is asked for ends it."""

    def __init__(
        self, recording: Recording, stop: int, eyes: Eyes, analyse: Analyse | None, *, analysed: bool
    ) -> None:
        ui = replay.open_record(recording, stop, eyes, can_analyse=analyse is not None)
        super().__init__(ui, replay.seen_in(ui))
        self._recording, self._analyse, self._analysed = recording, analyse, analysed
        self._work: asyncio.Task[None] | None = None

    def start(self, program: Program) -> None:
        super().start(program)
        self._begin = program.begin
        if self._analysed:
            self._judge()

    def show(self, ui: Ui) -> None:
        self.model = replay.seen_in(ui)
        super().show(ui)

    def carry_out(self, request: Request) -> None:
        match request:
            case requests.Analyse():
                self._judge()
            case requests.StopAnalysis():
                self._stop()
                self.show(replay.stopped(self.ui))
            case _:
                self._stop()
                self.end()

    def _judge(self) -> None:
        if self._analyse is not None and self._work is None:
            self._work = self._begin(self._analysing(self._analyse))

    def _stop(self) -> None:
        if self._work is not None:
            self._work.cancel()
            self._work = None

    async def _analysing(self, analyse: Analyse) -> None:
        failure = await analyse(self._recording, self._told)
        self._work = None
        ui = replay.stopped(self.ui)
        self.show(replace(ui, notice=Notice(failure, refusal=True)) if failure else ui)

    def _told(self, analysis: Analysis) -> None:
        self.show(replay.analysed(self.ui, analysis))
