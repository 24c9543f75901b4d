"""The program of the start screen: a thin shell around its state, until it is known where to go."""

from dataclasses import replace

from client.table import TableModel
from client.ui import requests
from client.ui.frame import Frame
from client.ui.keys import Action
from client.ui.look import Look
from client.ui.requests import Request
from client.ui.screen import drawn
from client.ui.shell import Shell, look_here
from client.ui.state import Ui
from client.ui.update import Outcome, pressed, updated


async def run(ui: Ui, *, ascii_wanted: bool = False) -> tuple[Ui, Request]:
    """Show the start screen; return how it was left, and for what: to quit if for nothing else."""
    starting = _Starting(ui, look_here(ascii_wanted=ascii_wanted))
    return await starting.run()


class _Starting:
    """The start screen in a terminal."""

    def __init__(self, ui: Ui, look: Look) -> None:
        self._ui, self._look = ui, look
        self._model = TableModel()
        self._request: Request = requests.Quit()
        self._shell = Shell(self._frame, self._press, self._act)

    async def run(self) -> tuple[Ui, Request]:
        await self._shell.run()
        return replace(self._ui, notice=None), self._request

    def _frame(self, width: int, height: int) -> Frame:
        return drawn(self._ui, self._model, self._look, width, height)

    def _press(self, name: str) -> None:
        self._take(pressed(self._ui, name, self._model))

    def _act(self, action: Action) -> None:
        self._take(updated(self._ui, action, self._model))

    def _take(self, outcome: Outcome) -> None:
        self._ui, request = outcome
        if request is None:
            self._shell.redraw()
        else:
            self._request = request
            self._shell.quit()
