"""What is found on the network and what keys do there: choosing a server or a table, or typing an address."""

from dataclasses import replace

from client.finding.found import Found, SeatAnswer
from client.language import _
from client.player.seats import KeptSeat
from client.ui.update import requests
from client.ui.update.actions import Act, Action, ChooseLine, Way
from client.ui.update.entry import Asked, Entry
from client.ui.update.requests import Request
from client.ui.update.state import Notice, Search, Spot, Ui


def found(ui: Ui, now: Found) -> Ui:
    """Return the UI state with what is found now; what was chosen stays chosen as far as it is there."""
    if not isinstance(ui.page, Search):
        return ui
    page = replace(ui.page, found=now)
    return replace(ui, page=replace(page, chosen=_still_chosen(page)))


def seat_stands(ui: Ui, seat: KeptSeat, answer: SeatAnswer) -> Ui:
    """Return the UI state with how the game stands at the table of a seat."""
    if not isinstance(ui.page, Search):
        return ui
    return replace(ui, page=replace(ui.page, answers={**ui.page.answers, seat: answer}))


def _still_chosen(page: Search) -> Spot | None:
    chosen, there = page.chosen, [spot for spot in page.lines if spot is not None]
    at_table = chosen is not None and chosen[1] and chosen in there
    if not page.moved and not at_table:
        return next((spot for spot in there if spot[1]), there[0] if there else None)
    if chosen is None or chosen in there:
        return chosen
    server = (chosen[0], "")
    return server if server in there else None


def acted(ui: Ui, page: Search, action: Action) -> tuple[Ui, Request | None]:
    """Return the UI state after a key or a click, and where the player goes, if anywhere."""
    lines = page.lines
    at = lines.index(page.chosen)
    match action:
        case Way():
            there = min(max(at + (1 if action is Way.DOWN else -1), 0), len(lines) - 1)
            return _at_line(ui, page, lines[there]), None
        case ChooseLine(number) if number != at and number < len(lines):
            return _at_line(ui, page, lines[number]), None
        case Act.ADDRESS:
            return _asking(_at_line(ui, page, None)), None
        case Act.CONFIRM | ChooseLine() if page.chosen is None:
            return _asking(ui), None
        case Act.CONFIRM | ChooseLine() if page.chosen is not None:
            url, table = page.chosen
            return ui, requests.GoTo(url, table or None)
        case Act.WATCH if page.chosen is not None and page.chosen[1]:
            url, table = page.chosen
            return ui, requests.GoTo(url, table, watch=True)
        case Act.WATCH:
            return replace(ui, notice=Notice(_("Use the arrow keys to choose a table to watch."))), None
        case Act.LEAVE:
            return ui, requests.GoHome()
        case _:
            return ui, None


def _at_line(ui: Ui, page: Search, spot: Spot | None) -> Ui:
    return replace(ui, page=replace(page, chosen=spot, moved=True))


def _asking(ui: Ui) -> Ui:
    return replace(ui, entry=Entry(asks=Asked.ADDRESS))
