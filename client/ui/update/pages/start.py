"""The start screen: what a key or a typed line makes of it, and where it leads."""

from dataclasses import replace

from msgspec import structs

from client.finding.found import named
from client.language import _
from client.player.calling import Calling, Notices
from client.player.preferences import WaysIn
from client.typed.address import BadAddress, server_url
from client.typed.names import fault_of
from client.ui.update import requests
from client.ui.update.actions import Act, Action, ChooseLine, Pick, Way
from client.ui.update.entry import Asked, Entry
from client.ui.update.requests import Request
from client.ui.update.state import Notice, Search, Start, StartLine, Ui
from engine.pieces import People
from protocol.limits import TITLE_LENGTH
from protocol.settings import Title


def acted(ui: Ui, start: Start, action: Action) -> tuple[Ui, Request | None]:
    """Return the UI state after a key or a click, and where the player goes, if anywhere."""
    lines, table = start.lines, ui.new_table
    at = lines.index(start.chosen)
    match action:
        case Way():
            there = min(max(at + (1 if action is Way.DOWN else -1), 0), len(lines) - 1)
            return _at_line(ui, start, lines[there]), None
        case ChooseLine(number) if number != at:
            return _at_line(ui, start, lines[number]), None
        case Act.CONFIRM | ChooseLine():
            return _chosen(ui, start)
        case Pick(number):
            return replace(
                _at_line(ui, start, StartLine.PLAY), new_table=structs.replace(table, players=number)
            ), None
        case Act.LAYOUT:
            other = structs.replace(table, random_layout=not table.random_layout)
            return replace(_at_line(ui, start, StartLine.PLAY), new_table=other), None
        case Act.PEOPLE:
            every = (None, *People)
            people = every[(every.index(table.people) + 1) % len(every)]
            chosen = structs.replace(table, people=people)
            return replace(_at_line(ui, start, StartLine.PLAY), new_table=chosen), None
        case Act.BRAIN:
            level = (start.level + 1) % len(start.levels)
            return _at_line(ui, replace(start, level=level), StartLine.PLAY), None
        case Act.PACE:
            return _at_line(ui, replace(start, human_pace=not start.human_pace), StartLine.PLAY), None
        case Act.WAYS_IN:
            every_way = tuple(WaysIn)
            ways_in = every_way[(every_way.index(start.ways_in) + 1) % len(every_way)]
            return _at_line(ui, replace(start, ways_in=ways_in), StartLine.HOST), None
        case Act.BELL | Act.WINDOW_TITLE | Act.NOTICES:
            return replace(ui, page=replace(start, calling=_called(start.calling, action))), None
        case Act.NAME:
            return replace(ui, entry=Entry(asks=Asked.NAME).filled(ui.name)), None
        case _:
            return ui, None


def _called(calling: Calling, action: Act) -> Calling:
    """Return how the player is called after a key that changes it."""
    if action is Act.BELL:
        return replace(calling, bell=not calling.bell)
    if action is Act.WINDOW_TITLE:
        return replace(calling, title=not calling.title)
    every = tuple(Notices)
    return replace(calling, notices=every[(every.index(calling.notices) + 1) % len(every)])


def _at_line(ui: Ui, start: Start, chosen: StartLine | str) -> Ui:
    return replace(ui, page=replace(start, chosen=chosen))


def _chosen(ui: Ui, start: Start) -> tuple[Ui, Request | None]:
    match start.chosen:
        case StartLine.CONTINUE:
            return ui, requests.Continue()
        case StartLine.LEARN:
            return ui, requests.Learn()
        case StartLine.PLAY:
            level = start.levels[start.level]
            table = ui.new_table
            return ui, requests.PlayBots(table.players, level, table.random_layout, table.people)
        case StartLine.HOST:
            return ui, requests.Host()
        case StartLine.HISTORY:
            return ui, requests.LookBack()
        case StartLine.JOIN:
            return ui, requests.Search()
        case server:
            return ui, requests.GoTo(server)


def typed(ui: Ui, asked: Asked, text: str) -> tuple[Ui, Request | None]:
    """Take in what was asked for: a name, a table's title, or the address of a server to go to.

    A server that was found also goes by its name.
    """
    if asked is Asked.TITLE:
        if len(text) > TITLE_LENGTH:
            too_long = _("The name is too long: at most {most} characters.").format(most=TITLE_LENGTH)
            return replace(ui, notice=Notice(too_long, refusal=True)), None
        return ui, requests.Set(Title(text))
    if asked is Asked.NAME:
        if (fault := fault_of(text)) is not None:
            return replace(ui, notice=Notice(fault, refusal=True)), None
        if isinstance(ui.page, Start):
            return replace(ui, name=text), None
        return replace(ui, name=text, retry=None), requests.Rename(text, ui.retry)
    if isinstance(ui.page, Search) and (server := named(ui.page.found, text)) is not None:
        return ui, requests.GoTo(server.url)
    try:
        return ui, requests.GoTo(server_url(text))
    except BadAddress as error:
        return replace(ui, notice=Notice(f"{error}.", refusal=True)), None
