"""What keys and clicks do at a table whose game has not begun."""

from dataclasses import replace

from client.language import _
from client.levels import usual_level
from client.tables.table import TableModel
from client.ui.update import requests
from client.ui.update.actions import Act, Action
from client.ui.update.requests import Request
from client.ui.update.state import MenuPage, Notice, Quitting, TableMenu, Ui, closed_for_good
from client.ui.update.table.menu import free_seats, line_of_own_people


def acted(ui: Ui, action: Action, model: TableModel) -> tuple[Ui, Request | None]:
    """Return the UI state after a key or a click, and what is asked of the server."""
    match action:
        case Act.START:
            return ui, requests.Start()
        case Act.READY:
            return _said_ready(ui, model)
        case Act.PEOPLE:
            return _choosing_people(ui, model), None
        case Act.LEAVE if model.seat is not None and not closed_for_good(ui):  # the seat would be lost
            return replace(ui, overlay=Quitting(requests.Leave())), None
        case Act.LEAVE:
            return ui, requests.Leave()
        case Act.SEAT_BOT:
            return _seat_bot(ui, model)
        case _:
            return ui, None


def _said_ready(ui: Ui, model: TableModel) -> tuple[Ui, Request | None]:
    """Ask to be ready, or not any more."""
    if model.state is None or model.seat is None:
        return replace(
            ui, notice=Notice(_("You are watching: only the players say that they are ready."))
        ), None
    return ui, requests.SayReady(not model.state.seats[model.seat].ready)


def _choosing_people(ui: Ui, model: TableModel) -> Ui:
    """Open the page of the menu with the peoples, at the one that this player has."""
    if model.state is None or model.seat is None:
        return replace(ui, notice=Notice(_("You are watching: only the players choose their peoples.")))
    return replace(ui, overlay=TableMenu(MenuPage.PEOPLE, line_of_own_people(model.state, model.seat)))


def _seat_bot(ui: Ui, model: TableModel) -> tuple[Ui, Request | None]:
    """Seat a bot; if the server has several levels, ask for one."""
    state, levels = model.state, ui.hosting.levels
    if state is None:
        return ui, None
    if not levels:
        text = _("To add a bot, run the command above in another terminal.")
    elif model.seat != state.host:
        text = _("The host of the table seats bots.")
    elif not free_seats(state):
        text = _("No seat is free. The table's menu removes players and bots.")
    elif len(levels) == 1:
        return ui, requests.SeatBot(levels[0])
    else:
        return replace(ui, overlay=TableMenu(MenuPage.BOT, levels.index(usual_level(levels)))), None
    return replace(ui, notice=Notice(text)), None
