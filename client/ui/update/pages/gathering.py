"""What keys and clicks do at a table whose game has not begun."""

from dataclasses import replace

from client.language import _
from client.ui.update import requests
from client.ui.update.actions import Act, Action
from client.ui.update.requests import Request
from client.ui.update.state import Notice, Ui


def acted(ui: Ui, action: Action) -> tuple[Ui, Request | None]:
    """Return the UI state after a key or a click, and what is asked of the server."""
    match action:
        case Act.START:
            return ui, requests.Start()
        case Act.LEAVE:
            return ui, requests.Leave()
        case Act.SEAT_BOT if ui.hosting.bots:
            return ui, requests.SeatBot()
        case Act.SEAT_BOT:
            return replace(
                ui, notice=Notice(_("To add a bot, run the command above in another terminal."))
            ), None
        case _:
            return ui, None
