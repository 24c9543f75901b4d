"""The program of a page without a server: it runs until the player chooses what to do."""

from collections.abc import Callable
from dataclasses import replace

from client.tables.table import TableModel
from client.ui import requests
from client.ui.actions import Action
from client.ui.frame import Frame
from client.ui.requests import Request
from client.ui.screens.dispatch import pressed, updated
from client.ui.screens.screen import drawn
from client.ui.state import Outcome, Ui
from client.ui.terminal.device import Device, own_device
from client.ui.terminal.shell import Shell


async def run(ui: Ui, *, ascii_wanted: bool = False, device: Device | None = None) -> tuple[Ui, Request]:
    """Show such a page; return its last state, and the request that ended it."""
    return await PageProgram(ui, ascii_wanted=ascii_wanted, device=device).run()


class PageProgram:
    """The page in a terminal, this program's own unless another one is given."""

    def __init__(self, ui: Ui, *, ascii_wanted: bool, device: Device | None = None) -> None:
        device = device or own_device()
        self._ui, self._glyphs = ui, device.glyphs(ascii_wanted=ascii_wanted)
        self._model = TableModel()
        self._request: Request = requests.Quit()
        self._shell = Shell(self._frame, self._press, self._act, device)

    async def run(self) -> tuple[Ui, Request]:
        """Show the page; return its last state, and the request that ended it."""
        await self._shell.run()
        return replace(self._ui, notice=None), self._request

    def change(self, changed: Callable[[Ui], Ui]) -> None:
        """Show what `changed` makes of the page."""
        self._ui = changed(self._ui)
        self._shell.redraw()

    def _frame(self, width: int, height: int) -> Frame:
        return drawn(self._ui, self._model, self._glyphs, width, height)

    def _press(self, name: str, last_top: int) -> None:
        self._take(pressed(replace(self._ui, last_top=last_top), name, self._model))

    def _act(self, action: Action) -> None:
        self._take(updated(self._ui, action, self._model))

    def _take(self, outcome: Outcome) -> None:
        self._ui, request = outcome
        if request is None:
            self._shell.redraw()
        else:
            self._request = request
            self._shell.quit()
