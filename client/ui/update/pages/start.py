"""The start screen: what a key or a typed line makes of it, and where it leads."""

from dataclasses import replace
from typing import Final

from msgspec import structs

from client.address import BadAddress, server_url
from client.names import fault_of
from client.ui.update import requests
from client.ui.update.actions import Act, Action, ChooseLine, Pick, Way
from client.ui.update.entry import Asked, Entry
from client.ui.update.requests import Request
from client.ui.update.state import Notice, Start, Ui

LEARN: Final = 0  # the lines, from the top
PLAY: Final = 1
HOST: Final = 2
JOIN: Final = 3
_SERVERS: Final = 4  # the first of the servers joined before


def acted(ui: Ui, start: Start, action: Action) -> tuple[Ui, Request | None]:
    """Return the UI state after a key or a click, and where the player goes, if anywhere."""
    last = _SERVERS + len(start.servers) - 1
    table = ui.new_table
    match action:
        case Way():
            chosen = start.chosen + (1 if action is Way.DOWN else -1)
            return _at_line(ui, start, min(max(chosen, 0), last)), None
        case ChooseLine(number) if number != start.chosen:
            return _at_line(ui, start, number), None
        case Act.CONFIRM | ChooseLine():
            return _chosen(ui, start)
        case Pick(number):
            return replace(_at_line(ui, start, PLAY), new_table=structs.replace(table, players=number)), None
        case Act.LAYOUT:
            other = structs.replace(table, random_layout=not table.random_layout)
            return replace(_at_line(ui, start, PLAY), new_table=other), None
        case Act.BRAIN:
            brain = (start.brain + 1) % len(start.brains)
            return _at_line(ui, replace(start, brain=brain), PLAY), None
        case Act.NAME:
            return replace(ui, entry=Entry(asks=Asked.NAME).filled(ui.name)), None
        case _:
            return ui, None


def _at_line(ui: Ui, start: Start, number: int) -> Ui:
    return replace(ui, page=replace(start, chosen=number))


def _chosen(ui: Ui, start: Start) -> tuple[Ui, Request | None]:
    match start.chosen:
        case 0:
            return ui, requests.Learn()
        case 1:
            brain = start.brains[start.brain].name
            return ui, requests.PlayBots(ui.new_table.players, brain, ui.new_table.random_layout)
        case 2:
            return ui, requests.Host()
        case 3:
            return replace(ui, entry=Entry(asks=Asked.ADDRESS)), None
        case line:
            return ui, requests.GoTo(start.servers[line - _SERVERS])


def typed(ui: Ui, asked: Asked, text: str) -> tuple[Ui, Request | None]:
    """Take in what was asked for: a name, or the address of a server to go to."""
    if asked is Asked.NAME:
        if (fault := fault_of(text)) is not None:
            return replace(ui, notice=Notice(fault, refusal=True)), None
        return replace(ui, name=text), None
    try:
        return ui, requests.GoTo(server_url(text))
    except BadAddress as error:
        return replace(ui, notice=Notice(f"{error}.", refusal=True)), None
